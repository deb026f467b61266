// Time to live: which items expire, and that exactly those go, whatever else is going on.
#include "table/expiry.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/log.h"
#include "base/random.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "table/expiry_sweeper.h"
#include "table/test_world.h"

namespace stator::table {
namespace {

using expr::notation::Item;
using model::ItemView;
using model::Number;
using test::World;

constexpr int64_t kNow = 1'700'000'000;  // where ManualClock starts
constexpr int64_t kMicros = 1'000'000;

Number N(const std::string& text) { return Number::Parse(text).value(); }

TEST(Expiry, BoundariesAreThoseOfTheService) {
  const int64_t now = kNow * kMicros;
  EXPECT_TRUE(IsExpired(N("1699999999"), now));
  EXPECT_TRUE(IsExpired(N("1699999999.999999"), now));
  EXPECT_FALSE(IsExpired(N("1700000000"), now)) << "exactly now";
  EXPECT_TRUE(IsExpired(N("1700000000"), now + 1));
  EXPECT_FALSE(IsExpired(N("1700000000.000001"), now + 1));
  EXPECT_TRUE(IsExpired(N("17e8"), now + 1));
  EXPECT_TRUE(IsExpired(N("1.6999e9"), now));
  EXPECT_FALSE(IsExpired(N("1e125"), now));
  EXPECT_FALSE(IsExpired(N("-1"), now));
  EXPECT_FALSE(IsExpired(N("0"), now));
  EXPECT_FALSE(IsExpired(N("1e-130"), now));
  const std::string oldest = std::to_string(kNow - kLongestExpiredSeconds);
  EXPECT_TRUE(IsExpired(N(oldest), now)) << "five years ago";
  EXPECT_FALSE(IsExpired(N(oldest), now + 1));
  EXPECT_FALSE(IsExpired(N("1700000000000"), now)) << "milliseconds";
}

TEST(Expiry, OnlyNumbersAtTheTopCount) {
  EXPECT_EQ(ExpiryOf(ItemView(Item("{pk: 'a', t: 17e8}")), "t"), N("1700000000"));
  EXPECT_EQ(ExpiryOf(ItemView(Item("{pk: 'a', t: '1700000000'}")), "t"), std::nullopt);
  EXPECT_EQ(ExpiryOf(ItemView(Item("{pk: 'a', m: {t: 1700000000}}")), "t"), std::nullopt);
  EXPECT_EQ(ExpiryOf(ItemView(Item("{pk: 'a', t: [1700000000]}")), "t"), std::nullopt);
  EXPECT_EQ(ExpiryOf(ItemView(Item("{pk: 'a'}")), "t"), std::nullopt);
  EXPECT_EQ(ExpiryOf(ItemView(), "t"), std::nullopt);
}

TEST(Expiry, EntriesAreInTheOrderOfTheTimes) {
  const std::string item_key = std::string(1, kItemKind) + std::string(16, 'h') + "rest";
  const char* times[] = {"-1e125",     "-1",           "0",    "1e-130", "1", "1699999999.5",
                         "1700000000", "1700000000.1", "1e125"};
  std::string last;
  for (const char* time : times) {
    const std::string key = EncodeExpiryKey(N(time), item_key);
    EXPECT_LT(last, key) << time;
    EXPECT_LE(FirstExpiryKey(N(time)), key);
    const Result<ExpiryEntry> entry = DecodeExpiryKey(key);
    ASSERT_TRUE(entry.ok());
    EXPECT_EQ(entry->time, N(time));
    EXPECT_EQ(entry->item_key, item_key);
    last = key;
  }
  for (const char* bad : {"", "x", "\x03\xa0", "\x02"}) EXPECT_FALSE(DecodeExpiryKey(bad).ok());
}

TEST(Expiry, TheMarkFallsForWhatIsOlder) {
  ExpiryMark mark;
  EXPECT_EQ(mark.Raise(100), INT64_MIN);
  mark.Added(N("1000"));
  EXPECT_EQ(mark.Raise(200), 100);
  mark.Added(N("150.5"));
  EXPECT_LE(mark.Raise(200), 150);
  mark.Added(N("-1e125"));
  EXPECT_EQ(mark.Raise(300), INT64_MIN);
  mark.Added(N("1e125"));
  mark.Lower(250);
  EXPECT_EQ(mark.Raise(300), 250);
  EXPECT_EQ(mark.Raise(200), 300) << "never lowered by a clock that was set back";
}

// A table with time to live, and what its sweeper reports.
struct Sweeping : World {
  explicit Sweeping(bool rocks) : World(rocks) {
    TableDescriptor d;
    d.name = "tab";
    d.table_id = "id";
    d.key_schema.partition = {"pk", model::Type::kS};
    d.attribute_definitions = {d.key_schema.partition};
    EXPECT_TRUE(Create(std::move(d)).ok());
  }
  void Enable(const std::string& attribute = "t") {
    EXPECT_TRUE(Alter([attribute](TableDescriptor* d) {
                  d->expiry.emplace().attribute = attribute;
                  return OkStatus();
                }).ok());
  }
  void Disable() {
    EXPECT_TRUE(Alter([](TableDescriptor* d) {
                  d->expiry->state = IndexDescriptor::State::kDeleting;
                  return OkStatus();
                }).ok());
  }
  void Put(const std::string& text) { EXPECT_TRUE(Write(Item(text), false).ok()) << text; }
  void MakeSweeper() {
    sweeper.emplace(*store, clock, [this](const ExpirySweeper::Report& report) {
      EXPECT_EQ(report.table, "tab");
      deleted += report.deleted;
      backlog = report.backlog_seconds;
    });
  }
  int64_t Sweep() {
    if (!sweeper) MakeSweeper();
    const int64_t before = deleted;
    while (sweeper->Step(64)) {
    }
    return deleted - before;
  }
  std::set<std::string> Keys() {
    std::set<std::string> keys;
    for (const auto& [key, item] : ScanAll(store->Find("tab")->descriptor.tablet(), kItemKind)) {
      keys.emplace(ItemView(item).Find("pk").text());
    }
    return keys;
  }
  std::vector<std::string> EntriesOf(kv::Tablet tablet) {
    std::vector<std::string> entries;
    EXPECT_TRUE(engine
                    ->Scan({tablet, "", "", false}, kv::Tier::kAny,
                           [&](std::string_view key, std::string_view) {
                             entries.emplace_back(key);
                             return true;
                           })
                    .ok());
    return entries;
  }
  // The hidden index holds what a plain look at the items gives.
  void ExpectEntriesMatch() {
    const TablePtr table = store->Find("tab");
    ASSERT_TRUE(table->descriptor.expiry);
    std::set<std::string> expected;
    for (const auto& [key, item] : ScanAll(table->descriptor.tablet(), kItemKind)) {
      const model::ValueView value = ItemView(item).Find(table->descriptor.expiry->attribute);
      if (value.empty() || value.type() != model::Type::kN) continue;
      expected.insert(EncodeExpiryKey(value.number(), key));
    }
    const std::vector<std::string> found = EntriesOf(table->descriptor.expiry->tablet());
    EXPECT_EQ(std::set<std::string>(found.begin(), found.end()), expected);
  }
  void RestartAll() {
    sweeper.reset();
    Restart();
  }

  std::optional<ExpirySweeper> sweeper;
  int64_t deleted = 0;
  double backlog = -1;
};

class Sweeps : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Engines, Sweeps, testing::Bool(), [](const auto& info) {
  return info.param ? std::string("Rocks") : std::string("Memory");
});

TEST_P(Sweeps, DeleteWhatIsExpiredAndNothingElse) {
  Sweeping world(GetParam());
  world.Enable();
  world.Put("{pk: 'past', t: 1699999999}");
  world.Put("{pk: 'exponent', t: 1.6e9}");
  world.Put("{pk: 'fraction', t: 1699999999.5}");
  world.Put("{pk: 'now', t: 1700000000}");
  world.Put("{pk: 'soon', t: 1700000010}");
  world.Put("{pk: 'text', t: '1600000000'}");
  world.Put("{pk: 'list', t: [1600000000]}");
  world.Put("{pk: 'none'}");
  world.Put("{pk: 'huge', t: 1e125}");
  world.Put("{pk: 'negative', t: -1}");
  world.Put("{pk: 'ancient', t: " + std::to_string(kNow - kLongestExpiredSeconds - 1) + "}");
  world.Put("{pk: 'five years', t: " + std::to_string(kNow - kLongestExpiredSeconds) + "}");
  world.ExpectEntriesMatch();
  EXPECT_EQ(world.Sweep(), 4);
  const std::set<std::string> left = {"now",  "soon", "text",     "list",
                                      "none", "huge", "negative", "ancient"};
  EXPECT_EQ(world.Keys(), left);
  EXPECT_EQ(world.store->Counts(*world.store->Find("tab"))->items, 8);
  EXPECT_EQ(world.Sweep(), 0);
  world.clock.AdvanceMicros(1);
  EXPECT_EQ(world.Sweep(), 1);
  world.clock.AdvanceMicros(11 * kMicros);
  EXPECT_EQ(world.Sweep(), 1);
  EXPECT_EQ(world.Keys(),
            (std::set<std::string>{"text", "list", "none", "huge", "negative", "ancient"}));
  world.ExpectEntriesMatch();
}

TEST_P(Sweeps, FindWhatArrivesBehindTheMark) {
  Sweeping world(GetParam());
  world.Enable();
  world.Put("{pk: 'a', t: 1699999999}");
  EXPECT_EQ(world.Sweep(), 1);
  world.Put("{pk: 'b', t: 1600000000}");
  world.Put("{pk: 'c', t: 1800000000}");
  EXPECT_EQ(world.Sweep(), 1);
  world.Put("{pk: 'c', t: 1650000000}");  // an update that moves it into the past
  EXPECT_EQ(world.Sweep(), 1);
  world.Put("{pk: 'd', t: 1650000000}");
  world.Put("{pk: 'd', t: 1800000000}");  // and one that moves it out
  EXPECT_EQ(world.Sweep(), 0);
  EXPECT_EQ(world.Keys(), std::set<std::string>{"d"});
  world.ExpectEntriesMatch();
}

TEST_P(Sweeps, GoStepByStepAndSayWhatIsLeft) {
  Sweeping world(GetParam());
  world.Enable();
  for (int i = 0; i < 150; ++i) {
    world.Put("{pk: 'k" + std::to_string(i) + "', t: " + std::to_string(kNow - 1000 + i) + "}");
  }
  world.MakeSweeper();
  EXPECT_TRUE(world.sweeper->Step(64));
  EXPECT_EQ(world.deleted, 64);
  EXPECT_DOUBLE_EQ(world.backlog, 1000 - 63);
  world.Put("{pk: 'late', t: 1600000000}");  // behind the step under way
  EXPECT_TRUE(world.sweeper->Step(64));
  EXPECT_FALSE(world.sweeper->Step(64));
  EXPECT_EQ(world.deleted, 150);
  EXPECT_EQ(world.backlog, 0);
  EXPECT_EQ(world.Keys(), std::set<std::string>{"late"});
  EXPECT_EQ(world.Sweep(), 1);
}

TEST_P(Sweeps, TheAttributeMayBeAKey) {
  Sweeping world(GetParam());
  TableDescriptor d;
  d.name = "keyed";
  d.table_id = "id";
  d.key_schema = {{"pk", model::Type::kS}, model::KeyAttribute{"t", model::Type::kN}};
  d.attribute_definitions = {d.key_schema.partition, *d.key_schema.sort};
  ASSERT_TRUE(world.Create(std::move(d)).ok());
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                world.store->Alter(
                    "keyed",
                    [](TableDescriptor* descriptor) {
                      descriptor->expiry.emplace().attribute = "t";
                      return OkStatus();
                    },
                    std::move(done));
              }).ok());
  const TablePtr table = world.store->Find("keyed");
  for (int i = -2; i <= 2; ++i) {
    const std::string item = Item("{pk: 'p', t: " + std::to_string(kNow + i) + "}");
    std::vector<WriteTarget> targets;
    targets.push_back({table, EncodeItemKey(table->key_schema(), ItemView(item))});
    ASSERT_TRUE(Await<Status>([&](auto done) {
                  world.store->Write(
                      std::move(targets),
                      [item](const std::vector<ItemView>&) -> Result<std::vector<Change>> {
                        return std::vector<Change>{{Change::kPut, item}};
                      },
                      std::move(done));
                }).ok());
  }
  ExpirySweeper sweeper(*world.store, world.clock, [](const ExpirySweeper::Report& report) {
    EXPECT_EQ(report.table, "keyed");
    EXPECT_EQ(report.deleted, 2);
  });
  EXPECT_FALSE(sweeper.Step(64));
  EXPECT_EQ(world.store->Counts(*table)->items, 3);
}

// With a delay every item goes at a time of its own, equal seeds give equal times, and after the
// whole delay all are gone; an item that is written again in between stays.
TEST_P(Sweeps, ADelayDeletesEachItemAtATimeOfItsOwn) {
  constexpr int64_t kDelay = 3600;
  std::vector<int64_t> deleted[2];
  for (int run = 0; run < 2; ++run) {
    Sweeping world(GetParam());
    world.Enable();
    for (int i = 0; i < 200; ++i)
      world.Put("{pk: 'k" + std::to_string(i) + "', t: " + std::to_string(kNow - 1) + "}");
    world.Put("{pk: 'later', t: " + std::to_string(kNow + 2 * kDelay) + "}");
    int64_t all = 0;
    ExpirySweeper sweeper(*world.store, world.clock,
                          [&](const ExpirySweeper::Report& report) { all += report.deleted; },
                          {.max_seconds = kDelay, .seed = 7});
    for (int minute = 0; minute <= 60; ++minute) {
      while (sweeper.Step(16)) {
      }
      deleted[run].push_back(all);
      world.clock.AdvanceMicros(int64_t{60} * 1'000'000);
    }
    EXPECT_EQ(world.Keys(), std::set<std::string>{"later"});
  }
  EXPECT_EQ(deleted[0], deleted[1]);
  EXPECT_LT(deleted[0].front(), 10) << "not at once";
  EXPECT_NEAR(static_cast<double>(deleted[0][30]), 100, 30) << "half of them after half the time";
  EXPECT_EQ(deleted[0].back(), 200);
}

// Enabled on a full table while writers run, with a restart in between: the index is whole, and
// what is expired goes.
TEST_P(Sweeps, EnabledOnAFullTableWhileWritersRun) {
  Sweeping world(GetParam());
  const auto text = [](SeededRandom& random) {
    const std::string key = "{pk: 'k" + std::to_string(random.Below(400)) + "'";
    switch (random.Below(4)) {
      case 0: return key + "}";
      case 1: return key + ", t: 'no'}";
      default:
        return key + ", t: " + std::to_string(kNow - 50 + static_cast<int64_t>(random.Below(100))) +
               "}";
    }
  };
  SeededRandom seeding(1);
  for (int i = 0; i < 600; ++i) world.Put(text(seeding));
  for (int round = 0; round < 2; ++round) {
    std::atomic<bool> stop = false;
    std::vector<std::thread> writers;
    for (uint64_t writer = 0; writer < 3; ++writer) {
      writers.emplace_back([&, writer] {
        SeededRandom random(writer + 10);
        while (!stop) EXPECT_TRUE(world.Write(Item(text(random)), random.Below(3) == 0).ok());
      });
    }
    if (round == 0) {
      world.Enable();
    } else {
      world.WaitForBuilds();
      world.Sweep();
    }
    stop = true;
    for (std::thread& writer : writers) writer.join();
    world.RestartAll();
  }
  world.WaitForBuilds();
  EXPECT_EQ(world.store->Find("tab")->descriptor.expiry->state, IndexDescriptor::State::kActive);
  world.ExpectEntriesMatch();
  world.Sweep();
  world.ExpectEntriesMatch();
  const TablePtr table = world.store->Find("tab");
  for (const auto& [key, item] : world.ScanAll(table->descriptor.tablet(), kItemKind)) {
    const std::optional<Number> time = ExpiryOf(ItemView(item), "t");
    EXPECT_FALSE(time && IsExpired(*time, world.clock.NowMicros()));
  }
}

// The look at the entries and the delete are two steps. An item that was prolonged in between
// stays: the sweep looks again.
TEST_P(Sweeps, ItemProlongedDuringTheSweepStays) {
  Sweeping world(GetParam());
  world.Enable();
  constexpr int kItems = 64;
  for (int round = 0; round < 3; ++round) {
    for (int i = 0; i < kItems; ++i) world.Put("{pk: 'k" + std::to_string(i) + "', t: 1699999999}");
    std::thread prolonging([&] {
      for (int i = kItems; i-- > 0;) world.Put("{pk: 'k" + std::to_string(i) + "', t: 1800000000}");
    });
    world.Sweep();
    prolonging.join();
    EXPECT_EQ(world.Keys().size(), size_t{kItems})
        << "those that were deleted were put again, the others were never deleted";
    EXPECT_EQ(world.Sweep(), 0);
    world.ExpectEntriesMatch();
  }
}

TEST_P(Sweeps, DisabledAndEnabledAgain) {
  Sweeping world(GetParam());
  world.Enable();
  world.Put("{pk: 'a', t: 1699999999, u: 1800000000}");
  world.Put("{pk: 'b', t: 1800000000, u: 1699999999}");
  const kv::Tablet first = world.store->Find("tab")->descriptor.expiry->tablet();
  EXPECT_EQ(world.EntriesOf(first).size(), 2u);
  world.Disable();
  world.RestartAll();
  world.WaitForBuilds();
  EXPECT_FALSE(world.store->Find("tab")->descriptor.expiry);
  EXPECT_TRUE(world.EntriesOf(first).empty());
  EXPECT_EQ(world.Sweep(), 0);
  world.Put("{pk: 'c', t: 1699999999}");
  world.Enable("u");
  world.WaitForBuilds();
  EXPECT_NE(world.store->Find("tab")->descriptor.expiry->tablet(), first);
  world.ExpectEntriesMatch();
  EXPECT_EQ(world.Sweep(), 1);
  EXPECT_EQ(world.Keys(), (std::set<std::string>{"a", "c"}));
  EXPECT_TRUE(world.EntriesOf(first).empty());
}

TEST_P(Sweeps, ADroppedTableLeavesNoEntries) {
  Sweeping world(GetParam());
  world.Enable();
  world.Put("{pk: 'a', t: 1699999999}");
  const kv::Tablet tablet = world.store->Find("tab")->descriptor.expiry->tablet();
  ASSERT_TRUE(Await<Result<TablePtr>>([&](auto done) {
                world.store->Drop(
                    "tab", [](const TableDescriptor&) { return OkStatus(); }, std::move(done));
              }).ok());
  EXPECT_TRUE(world.EntriesOf(tablet).empty());
  EXPECT_EQ(world.Sweep(), 0);
}

// A store that refuses writes is asked again from the same place.
TEST(SweepsUnderFaults, LoseNothing) {
  SetLogLevel(LogLevel::kOff);
  auto owned = std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(),
                                                 kv::FaultOptions{.delay_done = true});
  kv::FaultEngine& engine = *owned;
  Sweeping world(false);
  world.sweeper.reset();
  world.store.reset();
  world.engine = std::move(owned);
  world.Open();
  TableDescriptor d;
  d.name = "tab";
  d.table_id = "id";
  d.key_schema.partition = {"pk", model::Type::kS};
  d.attribute_definitions = {d.key_schema.partition};
  ASSERT_TRUE(world.Create(std::move(d)).ok());
  world.Enable();
  world.WaitForBuilds();
  for (int i = 0; i < 200; ++i) world.Put("{pk: 'k" + std::to_string(i) + "', t: 1699999999}");
  std::array<double, kv::kFaults> faults = {};
  faults[static_cast<size_t>(kv::Fault::kUnavailable)] = 0.02;
  engine.SetProbabilities(faults);
  for (int i = 0; i < 1000 && !world.Keys().empty(); ++i) world.Sweep();
  engine.SetProbabilities({});
  EXPECT_TRUE(world.Keys().empty());
  world.ExpectEntriesMatch();
  SetLogLevel(LogLevel::kInfo);
}

TEST(ExpiryDescriptors, SurviveEncoding) {
  TableDescriptor d;
  d.name = "tab";
  d.table_id = "id";
  d.key_schema.partition = {"pk", model::Type::kS};
  d.attribute_definitions = {d.key_schema.partition};
  const Result<TableDescriptor> without = TableDescriptor::Decode(d.Encode());
  ASSERT_TRUE(without.ok());
  EXPECT_FALSE(without->expiry);
  EXPECT_FALSE(without->expiry_changed_micros);
  d.expiry = ExpiryIndex{"t", IndexDescriptor::State::kActive, 9};
  d.expiry_changed_micros = 5;
  const Result<TableDescriptor> with = TableDescriptor::Decode(d.Encode());
  ASSERT_TRUE(with.ok());
  EXPECT_EQ(with->expiry->attribute, "t");
  EXPECT_EQ(with->expiry->state, IndexDescriptor::State::kActive);
  EXPECT_EQ(with->expiry->tablet_id, 9u);
  EXPECT_EQ(with->expiry_changed_micros, 5);
  d.expiry->tablet_id = 0;
  EXPECT_FALSE(TableDescriptor::Decode(d.Encode()).ok());
}

}  // namespace
}  // namespace stator::table
