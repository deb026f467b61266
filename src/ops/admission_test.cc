// Meters and the catalog.
#include "ops/admission.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "ops/test_world.h"
#include "table/partition_split.h"
#include "table/test_await.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using throughput::Access;
using throughput::Billing;
using throughput::Rates;
using throughput::SplitReason;
using throughput::Throttling;

constexpr int64_t kSecond = 1'000'000;
constexpr uint64_t kHalf = uint64_t{1} << 63;

struct AdmissionWorld : TestWorld {
  // Key pk, a global index by-g, and perhaps a stream.
  void CreateIndexed(const std::string& name, ProvisionedThroughput units,
                     ProvisionedThroughput index_units, bool stream = false) {
    CreateTableRequest request = IndexedTable(name, units, "by-g", "g", index_units);
    if (stream) request.stream_specification = {true, StreamViewType::kKeysOnly};
    ASSERT_TRUE(Call(CreateTable, std::move(request)).ok());
  }
  void SetUnits(const std::string& name, int64_t read, int64_t write) {
    UpdateTableRequest request;
    request.table_name = name;
    request.provisioned_throughput = ProvisionedThroughput{read, write};
    ASSERT_TRUE(Call(UpdateTable, std::move(request)).ok());
  }
  throughput::Resource& Model(const std::string& name) {
    return store->Find(name)->meters.table->resource();
  }
  // A second passes.
  void Tick() {
    clock.AdvanceMicros(kSecond);
    env.admission.Advance();
  }
  size_t StoredPartitions(const std::string& name) {
    return store->Find(name)->descriptor.partitions.size();
  }
};

TEST(Admission, EveryTableAndGlobalIndexHasAMeterOfItsOwn) {
  AdmissionWorld world;
  world.CreateIndexed("t", {3000, 1000}, {10, 5});
  world.Create("u");
  const auto resources = world.env.admission.Resources();
  ASSERT_EQ(resources.size(), 3u);
  EXPECT_EQ(resources[0].meter->resource().name(), "t");
  EXPECT_EQ(resources[0].meter->resource().partition_count(), 2u);
  EXPECT_EQ(resources[1].index->name, "by-g");
  EXPECT_TRUE(resources[1].meter->resource().is_index());
  EXPECT_EQ(resources[1].meter->resource().provisioned(), (Rates{10, 5}));
  EXPECT_EQ(resources[2].meter->resource().name(), "u");
  EXPECT_EQ(world.env.admission.ResourcesOf("t").size(), 2u);
  EXPECT_TRUE(world.env.admission.ResourcesOf("absent").empty());
}

TEST(Admission, KeysThatAreRememberedAreBoundedTogether) {
  AdmissionWorld world;
  constexpr size_t kMost = 128 << 10;
  constexpr int kTables = 24, kWrites = 60;
  world.env.admission.LimitKeyBytes(kMost);
  const auto name_of = [](int i) { return "t" + std::to_string(i); };
  const auto write = [&](int i, int k) {
    const std::string key = fmt::format("{:0>100}", k);
    throughput::Draw draw{.access = Access::kWrite, .halves = 2, .point = {}};
    draw.point.hash = static_cast<uint64_t>(k) << 50;
    draw.point.sort = key;
    draw.point.partition = key;
    throughput::Resource& model = world.Model(name_of(i));
    model.Charge(world.clock.NowMicros(), draw);
    model.AddBytes(draw.point, 100, 1);
  };
  const auto hottest = [&](int i) {
    return world.Model(name_of(i)).Hottest(throughput::HeavyHitters::Of::kItems, 1).size();
  };
  size_t most = 0, all = 0;
  for (int i = 0; i < kTables; ++i) {
    world.Create(name_of(i), ScalarAttributeType::kS);
    for (int k = 0; k < kWrites; ++k) write(i, k);
    all += world.Model(name_of(i)).KeyBytes();
    world.Tick();
    most = std::max(most, world.env.admission.KeyBytes());
  }
  EXPECT_GT(all, 2 * kMost) << "the test must do more";
  EXPECT_LE(most, kMost);
  EXPECT_GT(most, kMost / 2);
  // Those that were used last are remembered, and so is what is used from now on.
  EXPECT_EQ(hottest(kTables - 1), 1u);
  EXPECT_EQ(hottest(0), 0u);
  EXPECT_EQ(world.Model(name_of(0)).KeyBytes(), 0u);
  write(0, 1);
  world.Tick();
  EXPECT_EQ(hottest(0), 1u);
  EXPECT_LE(world.env.admission.KeyBytes(), kMost);
}

TEST(Admission, MetersFollowUpdateTable) {
  AdmissionWorld world;
  world.CreateIndexed("t", {1000, 500}, {10, 5});
  const auto meter = world.store->Find("t")->meters.table;
  const auto index_meter = world.store->Find("t")->meters.indexes[0];
  EXPECT_EQ(meter->resource().partition_count(), 1u);
  world.SetUnits("t", 5000, 2000);
  EXPECT_EQ(world.store->Find("t")->meters.table, meter);
  EXPECT_EQ(world.store->Find("t")->meters.indexes[0], index_meter);
  EXPECT_EQ(meter->resource().provisioned(), (Rates{5000, 2000}));
  EXPECT_EQ(meter->resource().partition_count(), 4u);
  EXPECT_EQ(index_meter->resource().provisioned(), (Rates{10, 5}));
  // The catalog hears of it with the next tick, and then there is nothing more to tell it.
  EXPECT_EQ(world.StoredPartitions("t"), 1u);
  world.Tick();
  EXPECT_EQ(world.store->Find("t")->descriptor.partitions, meter->resource().HashMap());
  const table::TablePtr settled = world.store->Find("t");
  world.Tick();
  EXPECT_EQ(world.store->Find("t"), settled);
  // Lowering never merges.
  world.SetUnits("t", 100, 100);
  world.Tick();
  EXPECT_EQ(meter->resource().partition_count(), 4u);
  EXPECT_EQ(world.StoredPartitions("t"), 4u);

  UpdateTableRequest request;
  request.table_name = "t";
  request.billing_mode = BillingMode::kPayPerRequest;
  ASSERT_TRUE(world.Call(UpdateTable, request).ok());
  EXPECT_EQ(meter->resource().billing(), Billing::kOnDemand);
  EXPECT_EQ(index_meter->resource().billing(), Billing::kOnDemand);
  EXPECT_EQ(index_meter->resource().partition_count(), 4u);
  world.Tick();
  EXPECT_EQ(world.store->Find("t")->descriptor.indexes[0].partitions.size(), 4u);
  request = {};
  request.table_name = "t";
  request.on_demand_throughput = OnDemandThroughput{100, 50};
  ASSERT_TRUE(world.Call(UpdateTable, request).ok());
  EXPECT_LE(meter->resource().Tokens(world.clock.NowMicros(), Access::kWrite), 50);
  request = {};
  request.table_name = "t";
  request.warm_throughput = WarmThroughput{24000, 8000};
  ASSERT_TRUE(world.Call(UpdateTable, request).ok());
  EXPECT_EQ(meter->resource().warm(), (Rates{24000, 8000}));
  EXPECT_EQ(meter->resource().partition_count(), 8u);
}

TEST(Admission, MetersOfIndexesComeAndGo) {
  AdmissionWorld world;
  world.CreateIndexed("t", {10, 10}, {10, 5});
  const auto kept = world.store->Find("t")->meters.indexes[0];
  UpdateTableRequest request;
  request.table_name = "t";
  request.attribute_definitions = {{"pk", ScalarAttributeType::kS},
                                   {"g", ScalarAttributeType::kS},
                                   {"h", ScalarAttributeType::kS}};
  GlobalSecondaryIndex create;
  create.index_name = "by-h";
  create.key_schema = {{"h", KeyType::kHash}};
  create.projection.projection_type = ProjectionType::kAll;
  create.provisioned_throughput = ProvisionedThroughput{7, 7};
  GlobalSecondaryIndexUpdate update;
  update.create = create;
  request.global_secondary_index_updates = {update};
  ASSERT_TRUE(world.Call(UpdateTable, request).ok());
  table::TablePtr table = world.store->Find("t");
  ASSERT_EQ(table->meters.indexes.size(), 2u);
  EXPECT_EQ(table->meters.indexes[0], kept);
  EXPECT_EQ(table->meters.indexes[1]->resource().provisioned(), (Rates{7, 7}));
  while (world.store->BuildsIndexes()) std::this_thread::yield();

  request = {};
  request.table_name = "t";
  update = {};
  update.delete_index = DeleteIndexAction{"by-g"};
  request.global_secondary_index_updates = {update};
  const auto other = world.store->Find("t")->meters.indexes[1];
  ASSERT_TRUE(world.Call(UpdateTable, request).ok());
  while (world.store->BuildsIndexes()) std::this_thread::yield();
  table = world.store->Find("t");
  ASSERT_EQ(table->meters.indexes.size(), 1u);
  EXPECT_EQ(table->meters.indexes[0], other);
}

TEST(Admission, ATableOfTheSameNameStartsAnew) {
  AdmissionWorld world;
  world.Create("t");
  const auto first = world.store->Find("t")->meters.table;
  DeleteTableRequest drop;
  drop.table_name = "t";
  ASSERT_TRUE(world.Call(DeleteTable, drop).ok());
  EXPECT_TRUE(world.env.admission.Resources().empty());
  world.Create("t");
  EXPECT_NE(world.store->Find("t")->meters.table, first);
}

TEST(Admission, ASplitThatIsAskedForReachesTheModelOnce) {
  AdmissionWorld world;
  world.Create("t");
  const auto split = [&](uint64_t hash) {
    return table::Await<Result<table::TablePtr>>(
        [&](auto done) { table::SplitPartition(*world.store, "t", hash, std::move(done)); });
  };
  ASSERT_TRUE(split(kHalf / 2).ok());
  EXPECT_EQ(world.Model("t").partition_count(), 3u);
  const auto splits = world.store->Find("t")->meters.table->splits();
  ASSERT_EQ(splits.size(), 1u);
  EXPECT_EQ(splits[0].reason, SplitReason::kAsked);
  EXPECT_EQ(splits[0].bound.hash, kHalf / 2);
  const table::TablePtr settled = world.store->Find("t");
  world.Tick();
  world.Tick();
  EXPECT_EQ(world.store->Find("t"), settled);
  EXPECT_EQ(world.Model("t").partition_count(), 3u);
}

TEST(Admission, ASplitForHeatReachesTheCatalogAndTheStream) {
  AdmissionWorld world;
  world.CreateIndexed("t", {1, 2000}, {1, 1}, /*stream=*/true);
  throughput::Resource& model = world.Model("t");
  ASSERT_EQ(model.partition_count(), 3u);
  // Keys all over the first partition, with all that it can do.
  const uint64_t step = UINT64_MAX / 3 / 20;
  for (int second = 0; second < 360; ++second) {
    for (uint64_t i = 0; i < 200; ++i) {
      model.Charge(
          world.clock.NowMicros(),
          {.access = Access::kWrite, .halves = 10, .point = {i % 20 * step + step / 2, "", "k"}});
    }
    world.Tick();
  }
  EXPECT_EQ(model.partition_count(), 4u);
  const table::TablePtr table = world.store->Find("t");
  EXPECT_EQ(table->descriptor.partitions, model.HashMap());
  ASSERT_FALSE(table->meters.table->splits().empty());
  EXPECT_EQ(table->meters.table->splits().back().reason, SplitReason::kHeat);
  size_t open = 0;
  size_t closed = 0;
  const auto stream = world.store->FindStream("t", table->descriptor.stream_label);
  for (const stream::Shard& shard : stream->shards) (shard.open() ? open : closed) += 1;
  EXPECT_EQ(open, 4u);
  EXPECT_EQ(closed, 1u);
}

TEST(Admission, BytesOfItemsAndEntriesGrowTheirPartitions) {
  AdmissionWorld world;
  world.CreateIndexed("t", {1, 1}, {1, 1});
  ASSERT_TRUE(world.Put("t", Item("{pk: 'a', g: 'x', d: '0123456789'}")).ok());
  const auto bytes = [&](const throughput::Meter& meter) {
    return meter.resource().Partitions()[0].bytes;
  };
  const auto items = [&](const throughput::Meter& meter) {
    return meter.resource().Partitions()[0].items;
  };
  const table::TablePtr table = world.store->Find("t");
  const int64_t size = 3 + 2 + 11;
  EXPECT_EQ(bytes(*table->meters.table), size);
  EXPECT_EQ(bytes(*table->meters.indexes[0]), size);
  // Neither an equal item nor one that moves its entry is one more.
  for (const char* g : {"x", "y"}) {
    ASSERT_TRUE(world.Put("t", Item(fmt::format("{{pk: 'a', g: '{}', d: '0123456789'}}", g))).ok());
    EXPECT_EQ(items(*table->meters.table), 1);
    EXPECT_EQ(items(*table->meters.indexes[0]), 1);
    EXPECT_EQ(bytes(*table->meters.indexes[0]), size);
  }
  // Without its index key the item has no entry.
  ASSERT_TRUE(world.Put("t", Item("{pk: 'a'}")).ok());
  EXPECT_EQ(bytes(*table->meters.table), 3);
  EXPECT_EQ(bytes(*table->meters.indexes[0]), 0);
  EXPECT_EQ(items(*table->meters.table), 1);
  EXPECT_EQ(items(*table->meters.indexes[0]), 0);
  DeleteItemRequest request;
  request.table_name = "t";
  request.key.bytes = Item("{pk: 'a'}");
  ASSERT_TRUE(world.Call(DeleteItem, request).ok());
  EXPECT_EQ(bytes(*table->meters.table), 0);
  EXPECT_EQ(items(*table->meters.table), 0);
}

TEST(Admission, AfterARestartPartitionsAndBytesAreWhatTheyWere) {
  AdmissionWorld world;
  world.CreateIndexed("t", {5000, 2000}, {1, 1});
  ASSERT_TRUE(world.Put("t", Item("{pk: 'a', g: 'x'}")).ok());
  world.env.admission.Advance();
  // Another store on the same data.
  const auto again = table::Store::Open(world.engine, world.clock, world.workers).value();
  Admission admission(*again, world.clock);
  admission.Start({});
  const auto resources = admission.ResourcesOf("t");
  ASSERT_EQ(resources.size(), 2u);
  EXPECT_EQ(resources[0].meter->resource().HashMap(), world.Model("t").HashMap());
  int64_t bytes = 0;
  int64_t items = 0;
  for (const auto& partition : resources[0].meter->resource().Partitions()) {
    bytes += partition.bytes;
    items += partition.items;
  }
  EXPECT_EQ(bytes, 5);
  EXPECT_EQ(items, 1);
  EXPECT_EQ(resources[1].meter->resource().Partitions()[0].bytes, 5);
  EXPECT_EQ(resources[1].meter->resource().Partitions()[0].items, 1);
}

TEST(Admission, AFullPartitionSplits) {
  AdmissionWorld world;
  throughput::ModelSettings small;
  small.partition_bytes = 4000;
  const auto store = table::Store::Open(world.engine, world.clock, world.workers).value();
  Environment env{*store, world.clock, world.random, world.workers, {}};
  env.admission.Start({}, small);
  CreateTableRequest create;
  create.table_name = "t";
  create.key_schema = {{"pk", KeyType::kHash}};
  create.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
  create.provisioned_throughput = ProvisionedThroughput{1, 1};
  Context ctx{env, world.loop};
  CreateTable(ctx, std::move(create), [](auto) {});
  for (int i = 0; i < 60; ++i) {
    PutItemRequest put;
    put.table_name = "t";
    put.item.bytes =
        Item("{pk: 'key " + std::to_string(i) + "', d: '" + std::string(100, 'x') + "'}");
    PutItem(ctx, std::move(put), [](auto answer) { EXPECT_TRUE(answer.ok()); });
  }
  world.clock.AdvanceMicros(kSecond);
  env.admission.Advance();
  EXPECT_GE(store->Find("t")->descriptor.partitions.size(), 2u);
  EXPECT_EQ(store->Find("t")->meters.table->splits().front().reason, SplitReason::kSize);
}

TEST(Admission, ModesAreOfTheServerAndOfTables) {
  AdmissionWorld world;
  Admission& admission = world.env.admission;
  const auto mode_of = [&](const char* table) {
    return world.store->Find(table)->meters.table->mode();
  };
  world.CreateIndexed("t", {1, 1}, {1, 1});
  EXPECT_EQ(mode_of("t"), Throttling::kObserve);
  admission.SetMode("t", Throttling::kEnforce);
  admission.SetMode("later", Throttling::kOff);
  world.Create("later");
  world.Create("u");
  EXPECT_EQ(mode_of("t"), Throttling::kEnforce);
  EXPECT_EQ(world.store->Find("t")->meters.indexes[0]->mode(), Throttling::kEnforce);
  EXPECT_EQ(mode_of("later"), Throttling::kOff);
  EXPECT_EQ(mode_of("u"), Throttling::kObserve);
  admission.SetModeOfAll(Throttling::kEnforce);
  admission.SetMode("t", Throttling::kObserve);
  EXPECT_EQ(mode_of("t"), Throttling::kObserve);
  EXPECT_EQ(mode_of("later"), Throttling::kOff);
  EXPECT_EQ(mode_of("u"), Throttling::kEnforce);
  admission.SetMode("t", {});
  EXPECT_EQ(mode_of("t"), Throttling::kEnforce);
  EXPECT_EQ(admission.modes().tables.size(), 1u);
}

// While its second lasts, a refusal knows little of what is asked for.
TEST(Admission, TheLogTellsOfAStormWhenASecondOfItHasEnded) {
  AdmissionWorld world;
  world.CreateIndexed("t", {1, 5}, {1, 5});
  world.env.admission.SetMode("t", Throttling::kEnforce);
  int refused = 0;
  const auto storm = [&] {
    for (int i = 0; i < 50; ++i) {
      PutItemRequest request;
      request.table_name = "t";
      request.item.bytes = Item("{pk: 'hot'}");
      const auto answer = world.Call(PutItem, std::move(request), "PutItem");
      if (answer.ok()) continue;
      ASSERT_EQ(answer.error().code(), ErrorCode::kProvisionedThroughputExceeded);
      ++refused;
    }
  };
  const auto lines_of = [](const std::string& log) {
    std::vector<std::string> lines;
    for (size_t from = log.find("throttled"); from != std::string::npos;
         from = log.find("throttled", from + 1)) {
      lines.push_back(log.substr(from, log.find('\n', from) - from));
    }
    return lines;
  };
  std::vector<double> demands;
  world.env.admission.WatchRefusals([&](const Admission::Refusals& refusals) {
    EXPECT_FALSE(refusals.why.so_far);
    demands.push_back(refusals.why.demand);
  });
  testing::internal::CaptureStderr();
  for (int second = 0; second < 12; ++second) {
    storm();
    world.Tick();
  }
  const std::vector<std::string> lines = lines_of(testing::internal::GetCapturedStderr());
  EXPECT_EQ(refused, 12 * 45);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_NE(lines[0].find("requests=90 "), std::string::npos) << lines[0];
  EXPECT_NE(lines[0].find("Table t: 50 of 5 provisioned write units/s. "), std::string::npos)
      << lines[0];
  // The others are told without another refusal.
  testing::internal::CaptureStderr();
  world.Tick();
  world.Tick();
  const std::vector<std::string> rest = lines_of(testing::internal::GetCapturedStderr());
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_NE(rest[0].find("requests=450 "), std::string::npos) << rest[0];
  EXPECT_EQ(demands, (std::vector<double>{50, 50}));
  // Or at once, when the server stops.
  storm();
  testing::internal::CaptureStderr();
  world.env.admission.TellAllRefusals();
  EXPECT_EQ(lines_of(testing::internal::GetCapturedStderr()).size(), 1u);
  // Or when the table is deleted.
  for (const bool stops : {false, true}) {
    if (stops) world.CreateIndexed("t", {1, 5}, {1, 5});
    world.env.admission.SetMode("t", Throttling::kEnforce);
    storm();
    testing::internal::CaptureStderr();
    world.Tick();
    EXPECT_EQ(lines_of(testing::internal::GetCapturedStderr()).size(), 0u);
    DeleteTableRequest drop;
    drop.table_name = "t";
    ASSERT_TRUE(world.Call(DeleteTable, std::move(drop), "DeleteTable").ok());
    testing::internal::CaptureStderr();
    if (stops) {
      world.env.admission.TellAllRefusals();
    } else {
      world.Tick();
    }
    EXPECT_EQ(lines_of(testing::internal::GetCapturedStderr()).size(), 1u);
  }
}

TEST(Admission, WatchersHearWhatWasUsedSinceTheLastCall) {
  AdmissionWorld world;
  world.Create("t");
  world.Create("idle");
  std::vector<std::string> heard;
  world.env.admission.Watch([&](const Admission::Usage& usage) {
    heard.push_back(fmt::format("{} {} {} {} {}", usage.resource.table->descriptor.name,
                                usage.consumed.write, usage.refused[0].write, usage.let_pass.write,
                                usage.refused_requests[1][0]));
  });
  const auto write = [&](int64_t halves) {
    throughput::Meter& meter = *world.store->Find("t")->meters.table;
    const throughput::Draw draw{.access = Access::kWrite, .halves = halves, .point = {1, "", "k"}};
    const throughput::Verdict verdict = meter.resource().Admit(world.clock.NowMicros(), draw);
    if (verdict.admitted) return;
    meter.CountRefusal(verdict.access, verdict.limit);
    meter.LetPass(Access::kWrite, halves);
  };
  world.Tick();
  EXPECT_TRUE(heard.empty());
  write(4);
  write(2);
  write(2);
  world.Tick();
  world.Tick();
  write(2);
  world.Tick();
  EXPECT_EQ(heard, (std::vector<std::string>{"t 2 2 2 2", "t 1 0 0 0"}));
}

}  // namespace
}  // namespace stator::ops
