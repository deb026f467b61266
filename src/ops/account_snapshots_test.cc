// Snapshots of accounts: whatever happened since, a return brings back every byte and every answer.
#include "ops/account_snapshots.h"

#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <set>
#include <string>
#include <thread>

#include <fmt/format.h>

#include "base/log.h"
#include "model/value.h"
#include "ops/operations.h"
#include "ops/test_as_account.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;

constexpr const char* kKey = "suite";
constexpr size_t kMostBytes = 64 << 20;

struct World : TestWorld {
  explicit World(uint64_t seed, size_t most_bytes = kMostBytes)
      : TestWorld(seed),
        isolated(env, {}),
        snapshots(env, &isolated, {.most_of_account = 3, .most_bytes = most_bytes}) {
    SetLogLevel(LogLevel::kOff);
    isolated.OnDrop([this](const std::string& account) { snapshots.ForgetAll(account); });
  }
  ~World() { SetLogLevel(LogLevel::kInfo); }

  // Runs an operation of the key; empty: of the default account.
  template <typename Response, typename Request>
  Result<Response> As(std::string_view key,
                      void (*operation)(Context&, Request, Callback<Response>), Request request) {
    return RunAs(*this, isolated, key, operation, std::move(request));
  }
  void AwaitIndexes() {
    while (store->BuildsIndexes()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  std::vector<table::TablePtr> TablesOf(std::string_view key) {
    return store->ListOf(key.empty() ? "" : IsolatedAccounts::AccountOfKey(key));
  }

  // Everything of an account as the engine has it, stamps included, and its definitions.
  std::map<std::string, std::string> Dump(std::string_view key) {
    std::map<std::string, std::string> dump;
    const auto scan = [&](const std::string& name, kv::Tablet tablet) {
      EXPECT_TRUE(engine
                      .Scan({tablet, "", ""}, kv::Tier::kAny,
                            [&](std::string_view at, std::string_view value) {
                              dump[name + "/" + std::string(at)] = value;
                              return true;
                            })
                      .ok());
    };
    for (const table::TablePtr& table : TablesOf(key)) {
      const table::TableDescriptor& t = table->descriptor;
      dump["table/" + t.name] = t.Encode();
      scan(t.name, t.tablet());
      for (const table::IndexDescriptor& index : t.indexes)
        if (index.is_global()) scan(t.name + "." + index.name, t.TabletOf(index));
      if (t.expiry) scan(t.name + ".expiry", t.expiry->tablet());
    }
    for (const stream::StreamPtr& stream :
         store->ListStreamsOf(key.empty() ? "" : IsolatedAccounts::AccountOfKey(key))) {
      dump["stream/" + stream->table_name + stream->label] = stream->Encode();
      scan("records of " + stream->table_name + stream->label, stream->tablet());
    }
    return dump;
  }

  // Checks that reads agree: indexes with items, counts with both, meters with counts.
  void CheckReads(std::string_view key) {
    for (const table::TablePtr& table : TablesOf(key)) {
      const std::string name(table::ShownName(table->descriptor.name));
      ScanRequest all;
      all.table_name = name;
      const auto items = As(key, &Scan, all);
      ASSERT_TRUE(items.ok()) << items.error().message();
      size_t with_a = 0;
      for (const model::ItemView item : *items->items) with_a += !item.Find("a").empty();
      EXPECT_EQ(static_cast<int64_t>(items->items->size()), store->Counts(*table)->items);
      for (const table::IndexDescriptor& index : table->descriptor.indexes) {
        ScanRequest entries;
        entries.table_name = name;
        entries.index_name = index.name;
        const auto found = As(key, &Scan, entries);
        ASSERT_TRUE(found.ok()) << found.error().message();
        EXPECT_EQ(found->items->size(), with_a) << index.name;
        EXPECT_EQ(static_cast<int64_t>(with_a), store->IndexCounts(*table, index)->items);
      }
      int64_t metered = 0;
      for (const throughput::PartitionView& partition :
           table->meters.table->resource().Partitions())
        metered += partition.items;
      EXPECT_EQ(metered, items->count) << name;
    }
  }

  IsolatedAccounts isolated;
  AccountSnapshots snapshots;
};

// Random work of one account on three names of tables.
class Work {
 public:
  Work(World& world, std::string key, uint64_t seed)
      : world_(world), key_(std::move(key)), random_(seed) {}

  void Do(int operations) {
    for (int i = 0; i < operations; ++i) Step();
    world_.AwaitIndexes();
  }

 private:
  void Step() {
    const std::string table = fmt::format("t{}", random_.Below(3));
    const uint64_t dice = random_.Below(100);
    if (dice < 6) return Create(table);
    if (dice < 8) {
      DeleteTableRequest request;
      request.table_name = table;
      return Ignore(world_.As(key_, &DeleteTable, std::move(request)));
    }
    if (dice < 12) return ChangeIndex(table);
    if (dice < 14) return SetExpiry(table);
    if (dice < 17) return SetStream(table);
    if (dice < 35) {
      DeleteItemRequest request;
      request.table_name = table;
      request.key.bytes = Item(fmt::format("{{pk: '{}'}}", random_.Below(30)).c_str());
      return Ignore(world_.As(key_, &DeleteItem, std::move(request)));
    }
    if (dice < 45) return Transact(table);
    PutItemRequest request;
    request.table_name = table;
    request.item.bytes = RandomItem();
    Ignore(world_.As(key_, &PutItem, std::move(request)));
  }

  // Many a step has no table, or a name that is taken.
  template <typename T>
  void Ignore(const Result<T>& result) {
    done_ += result.ok();
  }

  std::string RandomItem() {
    const uint64_t pk = random_.Below(30);
    const std::string a =
        random_.Below(2) == 0 ? fmt::format(", a: '{}'", random_.Below(5)) : std::string();
    const std::string at =
        random_.Below(2) == 0 ? fmt::format(", at: {}", 1'000'000 + random_.Below(9)) : "";
    return Item(fmt::format("{{pk: '{}', n: {}{}{}}}", pk, random_.Below(1000), a, at).c_str());
  }

  void Create(const std::string& table) {
    CreateTableRequest request;
    request.table_name = table;
    request.key_schema = {{"pk", KeyType::kHash}};
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    request.billing_mode = BillingMode::kPayPerRequest;
    if (random_.Below(2) == 0)
      request.stream_specification = {true, StreamViewType::kNewAndOldImages};
    if (random_.Below(2) == 0) {
      request.attribute_definitions->push_back({"a", ScalarAttributeType::kS});
      request.global_secondary_indexes = {IndexBy()};
    }
    Ignore(world_.As(key_, &CreateTable, std::move(request)));
  }

  static GlobalSecondaryIndex IndexBy() {
    GlobalSecondaryIndex index;
    index.index_name = "by-a";
    index.key_schema = {{"a", KeyType::kHash}};
    index.projection.projection_type = ProjectionType::kAll;
    return index;
  }

  void ChangeIndex(const std::string& table) {
    UpdateTableRequest request;
    request.table_name = table;
    GlobalSecondaryIndexUpdate update;
    if (random_.Below(2) == 0) {
      request.attribute_definitions = {{"pk", ScalarAttributeType::kS},
                                       {"a", ScalarAttributeType::kS}};
      update.create = IndexBy();
    } else {
      update.delete_index.emplace();
      update.delete_index->index_name = "by-a";
    }
    request.global_secondary_index_updates = {update};
    Ignore(world_.As(key_, &UpdateTable, std::move(request)));
  }

  void SetExpiry(const std::string& table) {
    UpdateTimeToLiveRequest request;
    request.table_name = table;
    request.time_to_live_specification = {random_.Below(2) == 0, "at"};
    Ignore(world_.As(key_, &UpdateTimeToLive, std::move(request)));
  }

  void SetStream(const std::string& table) {
    UpdateTableRequest request;
    request.table_name = table;
    if (random_.Below(2) == 0) {
      request.stream_specification = {true, StreamViewType::kKeysOnly};
    } else {
      request.stream_specification = StreamSpecification{false, std::nullopt};
    }
    Ignore(world_.As(key_, &UpdateTable, std::move(request)));
  }

  void Transact(const std::string& table) {
    TransactWriteItemsRequest request;
    request.transact_items.emplace_back();
    request.transact_items[0].put.emplace();
    request.transact_items[0].put->table_name = table;
    request.transact_items[0].put->item.bytes = RandomItem();
    Ignore(world_.As(key_, &TransactWriteItems, std::move(request)));
  }

  World& world_;
  const std::string key_;
  SeededRandom random_;
  int done_ = 0;
};

class RandomWork : public testing::TestWithParam<const char*> {};

TEST_P(RandomWork, IsTakenBackToTheByte) {
  const std::string key = GetParam();
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, SystemSeed()}) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    World world(seed);
    Work work(world, key, seed);
    Work others(world, key.empty() ? "other" : "", seed + 1);
    SeededRandom random(seed + 2);
    std::map<std::string, std::map<std::string, std::string>> saved;
    size_t keys = 0;
    for (int round = 0; round < 60; ++round) {
      work.Do(static_cast<int>(random.Below(60)));
      others.Do(10);
      const std::string name = fmt::format("s{}", random.Below(3));
      if (saved.contains(name) && random.Below(4) != 0) {
        const auto of_others = world.Dump(key.empty() ? "other" : "");
        const auto returned = world.snapshots.Return(key, name);
        ASSERT_TRUE(returned.ok()) << returned.error().message();
        keys += returned->keys;
        ASSERT_EQ(world.Dump(key), saved[name]) << "round " << round;
        ASSERT_EQ(world.Dump(key.empty() ? "other" : ""), of_others);
        world.CheckReads(key);
        if (testing::Test::HasFatalFailure()) return;
      } else {
        const auto taken = world.snapshots.Take(key, name);
        ASSERT_TRUE(taken.ok()) << taken.error().message();
        saved[name] = world.Dump(key);
      }
    }
    EXPECT_GT(keys, 0u);
  }
}

INSTANTIATE_TEST_SUITE_P(AccountSnapshots, RandomWork, testing::Values("", kKey));

CreateTableRequest Music() {
  CreateTableRequest request;
  request.table_name = "music";
  request.key_schema = {{"pk", KeyType::kHash}};
  request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
  request.billing_mode = BillingMode::kPayPerRequest;
  return request;
}

template <typename T>
ErrorCode CodeOf(const Result<T>& result) {
  EXPECT_FALSE(result.ok());
  return result.ok() ? ErrorCode::kInternal : result.error().code();
}

TEST(AccountSnapshots, ATokenThatWasUsedSinceIsNew) {
  World world(1);
  ASSERT_TRUE(world.As(kKey, &CreateTable, Music()).ok());
  const auto put = [&](const char* token) {
    TransactWriteItemsRequest request;
    request.transact_items.emplace_back();
    request.transact_items[0].put.emplace();
    request.transact_items[0].put->table_name = "music";
    request.transact_items[0].put->item.bytes = Item("{pk: 'a'}");
    request.client_request_token = token;
    ASSERT_TRUE(world.As(kKey, &TransactWriteItems, std::move(request)).ok());
  };
  const auto items = [&] { return world.store->Counts(*world.TablesOf(kKey)[0])->items; };
  put("before");
  DeleteItemRequest erase;
  erase.table_name = "music";
  erase.key.bytes = Item("{pk: 'a'}");
  ASSERT_TRUE(world.As(kKey, &DeleteItem, std::move(erase)).ok());
  ASSERT_TRUE(world.snapshots.Take(kKey, "s").ok());
  put("before");  // is known, and writes nothing
  EXPECT_EQ(items(), 0);
  put("since");
  EXPECT_EQ(items(), 1);
  ASSERT_TRUE(world.snapshots.Return(kKey, "s").ok());
  EXPECT_EQ(items(), 0);
  put("before");
  EXPECT_EQ(items(), 0);
  put("since");
  EXPECT_EQ(items(), 1);
}

TEST(AccountSnapshots, AreBoundedAndGoWithTheirAccount) {
  World world(1);
  EXPECT_EQ(CodeOf(world.snapshots.Return(kKey, "none")), ErrorCode::kResourceNotFound);
  for (const char* name : {"1", "2", "3", "1"}) EXPECT_TRUE(world.snapshots.Take(kKey, name).ok());
  EXPECT_EQ(CodeOf(world.snapshots.Take(kKey, "4")), ErrorCode::kLimitExceeded);
  EXPECT_EQ(CodeOf(world.snapshots.Take(kKey, "")), ErrorCode::kValidation);
  EXPECT_EQ(CodeOf(world.snapshots.Take(kKey, std::string(129, 'n'))), ErrorCode::kValidation);
  EXPECT_TRUE(world.snapshots.Forget(kKey, "2").ok());
  EXPECT_FALSE(world.snapshots.Forget(kKey, "2").ok());
  EXPECT_EQ(world.snapshots.totals().snapshots, 2u);
  ASSERT_TRUE(world.isolated.Drop(IsolatedAccounts::AccountOfKey(kKey)).ok());
  EXPECT_EQ(world.snapshots.totals().snapshots, 0u);
  EXPECT_EQ(CodeOf(world.snapshots.Take(std::string(129, 'x'), "s")), ErrorCode::kValidation);
  const AccountSnapshots alone(world.env, nullptr, {});
  EXPECT_EQ(CodeOf(alone.AccountOf(kKey)), ErrorCode::kValidation);
  EXPECT_TRUE(alone.AccountOf("000000000000").ok());
}

TEST(AccountSnapshots, OneThatKeepsTooMuchIsGivenUp) {
  World world(1, /*most_bytes=*/100'000);
  ASSERT_TRUE(world.As(kKey, &CreateTable, Music()).ok());
  ASSERT_TRUE(world.snapshots.Take(kKey, "s").ok());
  const auto put = [&](int n) {
    PutItemRequest request;
    request.table_name = "music";
    request.item.bytes = Item(fmt::format("{{pk: '{}'}}", n).c_str());
    ASSERT_TRUE(world.As(kKey, &PutItem, std::move(request)).ok());
  };
  for (int i = 0; i < 200; ++i) put(i);
  EXPECT_GT(world.snapshots.totals().bytes, 0u);
  EXPECT_LE(world.snapshots.totals().bytes, 100'000u);
  ASSERT_TRUE(world.snapshots.Return(kKey, "s").ok());
  EXPECT_EQ(world.snapshots.totals().bytes, 0u);
  for (int i = 0; i < 2000; ++i) put(i);
  EXPECT_EQ(world.snapshots.totals().bytes, 0u);
  EXPECT_EQ(CodeOf(world.snapshots.Return(kKey, "s")), ErrorCode::kUnavailable);
  EXPECT_EQ(world.store->Counts(*world.TablesOf(kKey)[0])->items, 2000);
  EXPECT_TRUE(world.snapshots.List(kKey)->at(0).given_up);
  ASSERT_TRUE(world.snapshots.Take(kKey, "s").ok());
  EXPECT_TRUE(world.snapshots.Return(kKey, "s").ok());
}

// A request under way is waited for; when it does not end, nothing has changed.
TEST(AccountSnapshots, RequestsUnderWayEndFirst) {
  World world(1);
  IsolatedAccounts hasty(world.env, {.most_wait_micros = 1'000});
  AccountSnapshots snapshots(world.env, &hasty, {});
  std::optional<IsolatedAccounts::Use> use = hasty.Enter(kKey).value();
  EXPECT_EQ(CodeOf(snapshots.Take(kKey, "s")), ErrorCode::kUnavailable);
  use.reset();
  ASSERT_TRUE(snapshots.Take(kKey, "s").ok());
  use = hasty.Enter(kKey).value();
  EXPECT_EQ(CodeOf(snapshots.Return(kKey, "s")), ErrorCode::kUnavailable);
  use.reset();
  EXPECT_TRUE(snapshots.Return(kKey, "s").ok());
}

}  // namespace
}  // namespace stator::ops
