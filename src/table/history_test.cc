// Reads of a moment of the past give the state that was durable then: items and index entries,
// points and ranges, both directions, page by page, whatever was written, refused or is under way.
#include "table/history.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "base/random.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "kv_rocks/rocks_engine.h"
#include "kv_rocks/temporary_directory.h"
#include "table/item_value.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "table/test_await.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using model::ItemView;
using State = std::map<std::string, std::string>;  // encoded items by key

constexpr int64_t kSecond = 1'000'000;

TableDescriptor Describe() {
  const model::KeyAttribute pk = {"pk", model::Type::kS};
  const model::KeyAttribute sk = {"sk", model::Type::kN};
  const model::KeyAttribute a = {"a", model::Type::kS};
  TableDescriptor d;
  d.name = "tab";
  d.table_id = "id";
  d.key_schema = {pk, sk};
  d.attribute_definitions = {pk, sk, a};
  IndexDescriptor local;
  local.name = "local";
  local.kind = IndexDescriptor::Kind::kLocal;
  local.key = {{pk}, {a}};
  local.projection = IndexDescriptor::Projection::kKeysOnly;
  IndexDescriptor global;
  global.name = "global";
  global.key = {{a}, {sk}};
  d.indexes = {local, global};
  return d;
}

struct World {
  explicit World(std::unique_ptr<kv::Engine> an_engine, const Clock& clock)
      : engine(std::move(an_engine)), store(Store::Open(*engine, clock, workers).value()) {
    table = Await<Result<TablePtr>>([&](auto done) {
              store->Create(Describe(), std::move(done));
            }).value();
  }
  ~World() {
    workers.Stop();
    store.reset();
  }

  std::string KeyOf(const std::string& item) const {
    return EncodeItemKey(table->key_schema(), ItemView(item));
  }
  // Puts items, or deletes what has their keys, in one batch.
  Status Write(const std::vector<std::pair<std::string, Change::Kind>>& changes) {
    std::vector<WriteTarget> targets;
    for (const auto& [item, kind] : changes) targets.push_back({table, KeyOf(item)});
    return Await<Status>([&](auto done) {
      store->Write(
          std::move(targets),
          [changes](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
            std::vector<Change> out;
            for (const auto& [item, kind] : changes)
              out.push_back({kind, kind == Change::kPut ? item : ""});
            return out;
          },
          std::move(done));
    });
  }
  kv::Tablet global() const { return table->descriptor.TabletOf(table->descriptor.indexes[1]); }

  // What a scan of [begin, end) visits, read in steps of `step` items.
  State Scan(kv::Tablet tablet, std::string begin, std::string end, bool reverse, size_t step,
             const History::Moment* past) {
    State found;
    while (begin < end) {
      size_t visited = 0;
      std::string last;
      EXPECT_TRUE(store
                      ->ScanTablet(
                          {tablet, begin, end, reverse}, kv::Tier::kAny,
                          [&](std::string_view key, ItemView item) {
                            EXPECT_TRUE(key >= begin && key < end);
                            EXPECT_TRUE(last.empty() || (reverse ? key < last : key > last))
                                << "out of order";
                            EXPECT_TRUE(found.emplace(key, item.encoded()).second)
                                << "visited twice";
                            last = key;
                            return ++visited < step;
                          },
                          past)
                      .ok());
      if (visited < step) break;
      (reverse ? end : begin) = reverse ? last : last + '\0';
    }
    return found;
  }
  // Items and entries of local indexes, all kinds together; counters are no items.
  std::vector<State> Everything(bool reverse = false, size_t step = 1000,
                                const History::Moment* past = nullptr) {
    std::vector<State> all;
    for (const char kind : {kItemKind, kLocalEntryKind}) {
      all.push_back(Scan(table->descriptor.tablet(), FirstKeyOfHash(0, kind), EndOfKind(kind),
                         reverse, step, past));
    }
    all.push_back(Scan(global(), FirstKeyOfHash(0), EndOfItemKeys(), reverse, step, past));
    return all;
  }

  std::unique_ptr<kv::Engine> engine;
  WorkerPool workers{2, 1000};
  std::unique_ptr<Store> store;
  TablePtr table;
};

std::string RandomItem(SeededRandom& random) {
  std::string text =
      "{pk: 'p" + std::to_string(random.Below(3)) + "', sk: " + std::to_string(random.Below(6));
  if (random.Below(3) != 0) text += ", a: 'a" + std::to_string(random.Below(3)) + "'";
  return Item(text + ", x: " + std::to_string(random.Below(1000)) + "}");
}

TEST(History, EveryMomentIsTheStateOfThatMoment) {
  for (const uint64_t seed : {1, 2, 3, 4}) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    SeededRandom random(seed);
    ManualClock clock;
    auto faulty = std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(),
                                                    kv::FaultOptions{.seed = seed});
    kv::FaultEngine& faults = *faulty;
    World world(std::move(faulty), clock);
    world.store->history().Keep({{"*", 10 * kSecond}});
    std::array<double, kv::kFaults> probabilities = {};
    probabilities[static_cast<size_t>(kv::Fault::kUnavailable)] = 0.1;
    faults.SetProbabilities(probabilities);

    std::map<int64_t, std::vector<State>> states;  // by the time from which they held
    states[0] = world.Everything();
    for (int round = 0; round < 300; ++round) {
      std::vector<std::pair<std::string, Change::Kind>> changes;
      std::set<std::string> keys;
      for (uint64_t left = 1 + random.Below(3); left > 0; --left) {
        std::string item = RandomItem(random);
        if (!keys.insert(world.KeyOf(item)).second) continue;
        changes.emplace_back(std::move(item),
                             random.Below(3) == 0 ? Change::kDelete : Change::kPut);
      }
      const Status written = world.Write(changes);
      EXPECT_TRUE(written.ok() || written.error().code() == ErrorCode::kUnavailable);
      states[clock.NowMicros()] = world.Everything();
      clock.AdvanceMicros(static_cast<int64_t>(random.Below(3) * kSecond / 2));

      const int64_t age = static_cast<int64_t>(random.Below(10 * kSecond));
      const auto past = world.store->history().MomentAgo(age);
      auto expected = states.upper_bound(clock.NowMicros() - age);
      --expected;
      const bool reverse = random.Below(2) == 0;
      ASSERT_EQ(world.Everything(reverse, 1 + random.Below(5), past.get()), expected->second)
          << "round " << round;
      // Points, and ranges that end anywhere.
      const std::string item = RandomItem(random);
      const std::string key = world.KeyOf(item);
      std::string got;
      const bool found =
          world.store->Get(*world.table, key, kv::Tier::kAny, &got, past.get()).value();
      const State& items = expected->second[0];
      ASSERT_EQ(found, items.contains(key));
      if (found) {
        ASSERT_EQ(got, items.at(key));
      }
      const std::string end = world.KeyOf(RandomItem(random));
      State part;
      if (key < end) part = State(items.lower_bound(key), items.lower_bound(end));
      ASSERT_EQ(world.Scan(world.table->descriptor.tablet(), key, end, reverse, 2, past.get()),
                part);
    }
    clock.AdvanceMicros(20 * kSecond);
    world.store->history().MomentAgo(0);
    EXPECT_EQ(world.store->history().size(), 0u) << "what is older than the largest age goes";
  }
}

TEST(History, NothingIsKeptThatNobodyAskedFor) {
  ManualClock clock;
  World world(std::make_unique<kv::MemoryEngine>(), clock);
  const std::string item = Item("{pk: 'p', sk: 1, a: 'a'}");
  ASSERT_TRUE(world.Write({{item, Change::kPut}}).ok());
  EXPECT_EQ(world.store->history().size(), 0u);
  world.store->history().Keep({{"other", kSecond}});
  ASSERT_TRUE(world.Write({{item, Change::kDelete}}).ok());
  EXPECT_EQ(world.store->history().size(), 0u);
  world.store->history().Keep({{"tab", kSecond}});
  ASSERT_TRUE(world.Write({{item, Change::kPut}}).ok());
  EXPECT_EQ(world.store->history().size(), 3u) << "the item and two entries";
  world.store->history().Keep({});
  clock.AdvanceMicros(1);
  world.store->history().Keep({});
  EXPECT_EQ(world.store->history().size(), 0u);
}

TEST(History, AMomentKeepsWhatItNeeds) {
  ManualClock clock;
  World world(std::make_unique<kv::MemoryEngine>(), clock);
  world.store->history().Keep({{"tab", kSecond}});
  const std::string item = Item("{pk: 'p', sk: 1}");
  clock.AdvanceMicros(1);
  auto before = world.store->history().MomentAgo(1);
  ASSERT_TRUE(world.Write({{item, Change::kPut}}).ok());
  clock.AdvanceMicros(100 * kSecond);
  ASSERT_TRUE(world.Write({{Item("{pk: 'q', sk: 1}"), Change::kPut}}).ok());
  EXPECT_TRUE(world.Everything(false, 1, before.get())[0].empty())
      << "a page may take longer than the age";
  before.reset();
  EXPECT_EQ(world.Everything(false, 1, world.store->history().MomentAgo(1).get())[0].size(), 1u);
  EXPECT_EQ(world.store->history().size(), 1u);
}

TEST(History, WhenFullReadsGetFresher) {
  ManualClock clock;
  History history(clock, 4000);
  history.Keep({{"*", 1000 * kSecond}});
  const kv::Tablet tablet = {kv::Space::kItems, 7};
  kv::MemoryEngine engine;
  for (int i = 0; i < 100; ++i) {
    clock.AdvanceMicros(kSecond);
    kv::Batch batch;
    batch.puts.push_back(
        {tablet, "key" + std::to_string(100 + i), EncodeItemValue(Item("{n: 1}"))});
    const auto recording = history.Record({{tablet, batch.puts[0].key, nullptr}});
    engine.Apply(std::move(batch),
                 [&](Result<uint64_t> stamp) { history.Settle(recording, *stamp); });
  }
  EXPECT_GT(history.size(), 5u);
  EXPECT_LT(history.size(), 30u);
  size_t seen = 0;
  const auto past = history.MomentAgo(1000 * kSecond);
  ASSERT_TRUE(past->Scan(engine, {tablet, "", ""}, kv::Tier::kAny,
                         [&](std::string_view, ItemView) { return ++seen > 0; })
                  .ok());
  EXPECT_EQ(seen, 100 - history.size()) << "one state: that of the oldest moment that is left";
}

// Changes of one key that wait for the disk together, one refused in the middle.
TEST(History, RefusedChangesLeaveNoTrace) {
  ManualClock clock;
  History history(clock);
  history.Keep({{"*", 1000 * kSecond}});
  const kv::Tablet tablet = {kv::Space::kItems, 7};
  const auto old = std::make_shared<const std::string>(Item("{n: 1}"));
  const auto never = std::make_shared<const std::string>(Item("{n: 2}"));
  kv::MemoryEngine engine;
  const auto first = history.Record({{tablet, "k", old}});
  const auto second = history.Record({{tablet, "k", never}});
  std::string item;
  clock.AdvanceMicros(kSecond);
  history.Settle(first, std::nullopt);
  ASSERT_TRUE(history.MomentAgo(0)->Get(engine, tablet, "k", kv::Tier::kAny, &item).value());
  EXPECT_EQ(item, *old) << "the image that was never durable is nowhere";
  history.Settle(second, std::nullopt);
  EXPECT_EQ(history.size(), 0u);
}

// Transfers keep the sum of all accounts, so every moment has that sum, however its scan is cut and
// whoever writes meanwhile.
TEST(History, MomentsAreWholeWhileWritersRun) {
  for (const bool rocks : {false, true}) {
    SCOPED_TRACE(rocks ? "RocksDB" : "memory");
    kv_rocks::TemporaryDirectory directory;
    SystemClock clock;
    std::unique_ptr<kv::Engine> engine = std::make_unique<kv::MemoryEngine>();
    if (rocks)
      engine = kv_rocks::OpenRocks(
                   {.path = directory.store(), .memory_budget_bytes = 16 << 20, .sync = false})
                   .value();
    World world(std::move(engine), clock);
    constexpr int kAccounts = 12;
    const auto account = [](int i, int64_t n) {
      return Item("{pk: 'p', sk: " + std::to_string(i) + ", a: 'all', n: " + std::to_string(n) +
                  "}");
    };
    for (int i = 0; i < kAccounts; ++i)
      ASSERT_TRUE(world.Write({{account(i, 100), Change::kPut}}).ok());
    world.store->history().Keep({{"tab", kSecond}});

    std::atomic<bool> stop = false;
    std::vector<std::thread> writers;
    for (uint64_t w = 0; w < 2; ++w) {
      writers.emplace_back([&, w] {
        SeededRandom random(w + 1);
        while (!stop) {
          const int from = static_cast<int>(random.Below(kAccounts));
          const int to = (from + 1 + static_cast<int>(random.Below(kAccounts - 1))) % kAccounts;
          std::vector<WriteTarget> targets = {{world.table, world.KeyOf(account(from, 0))},
                                              {world.table, world.KeyOf(account(to, 0))}};
          const Status moved = Await<Status>([&](auto done) {
            world.store->Write(
                std::move(targets),
                [&](const std::vector<ItemView>& old) -> Result<std::vector<Change>> {
                  int64_t n[2] = {0, 0};
                  for (int i = 0; i < 2; ++i) old[i].Find("n").number().ToInt64(&n[i]);
                  return std::vector<Change>{{Change::kPut, account(from, n[0] - 1)},
                                             {Change::kPut, account(to, n[1] + 1)}};
                },
                std::move(done));
          });
          EXPECT_TRUE(moved.ok());
        }
      });
    }
    SeededRandom random(9);
    for (int round = 0; round < 300; ++round) {
      const auto past =
          world.store->history().MomentAgo(1000 + static_cast<int64_t>(random.Below(20'000)));
      const std::vector<State> states =
          world.Everything(random.Below(2) == 0, 1 + random.Below(4), past.get());
      for (const size_t which : {size_t{0}, size_t{2}}) {  // the table and the global index
        int64_t sum = 0;
        for (const auto& [key, item] : states[which]) {
          int64_t n = 0;
          ItemView(item).Find("n").number().ToInt64(&n);
          sum += n;
        }
        EXPECT_EQ(sum, kAccounts * 100) << "round " << round << ", " << which;
        EXPECT_EQ(states[which].size(), static_cast<size_t>(kAccounts));
      }
    }
    stop = true;
    for (std::thread& writer : writers) writer.join();
  }
}

}  // namespace
}  // namespace stator::table
