#include "transfer/past_table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <set>

#include "table/history_upkeep.h"
#include "transfer/restores.h"
#include "transfer/test_place.h"

namespace stator::transfer {
namespace {

using Items = std::map<std::string, std::string>;
constexpr int64_t kSecond = 1'000'000;

void TurnOn(table::test::World& world, int64_t days = history::kMostPeriodDays) {
  ASSERT_TRUE(table::RequireChangeLogs(*world.store).ok());
  ASSERT_TRUE(world
                  .Alter([days](table::TableDescriptor* d) {
                    if (!d->change_log) d->change_log.emplace();
                    d->change_log->period_days = days;
                    return OkStatus();
                  })
                  .ok());
}

Result<std::unique_ptr<PastTable>> PinQuietly(table::Store& store, int64_t moment) {
  std::unique_ptr<PastTable> past;
  const Status pinned = table::Await<Status>([&](auto done) {
    store.WhileQuiet(
        "tab",
        [&](const table::TablePtr& table) -> Status {
          ASSIGN_OR_RETURN(past, PastTable::Pin(store, *table, moment));
          return OkStatus();
        },
        std::move(done));
  });
  if (!pinned.ok()) return pinned.error();
  return past;
}

Items Read(PastTable& past) {
  Items items;
  std::string last;
  const Status read = past.Read([&](std::string_view key, std::string_view item) {
    EXPECT_LT(last, key) << "out of order";
    last = key;
    items.emplace(key, item);
    return OkStatus();
  });
  EXPECT_TRUE(read.ok()) << read.error().message();
  return items;
}

class PastTableTest : public testing::TestWithParam<bool> {
 protected:
  Place place_{GetParam()};
  table::test::World& world() { return place_.world(); }
  int64_t now() { return world().clock.NowMicros(); }
};
INSTANTIATE_TEST_SUITE_P(Engines, PastTableTest, testing::Bool());

TEST_P(PastTableTest, TableWithoutALogHasNoPast) {
  EXPECT_FALSE(PastTable::Pin(*world().store, *place_.table(), now()).ok());
  place_.Put(1);
  TurnOn(world());
  place_.Put(1, "a");
  EXPECT_TRUE(PastTable::Pin(*world().store, *place_.table(), now()).ok());
  const kv::Tablet log = place_.table()->descriptor.change_log->tablet();
  EXPECT_GT(world().engine->ApproximateBytes(log), 0u);
  ASSERT_TRUE(world()
                  .Alter([](table::TableDescriptor* d) {
                    d->change_log.reset();
                    return OkStatus();
                  })
                  .ok());
  EXPECT_FALSE(PastTable::Pin(*world().store, *place_.table(), now()).ok());
  int left = 0;
  EXPECT_TRUE(world()
                  .engine
                  ->Scan({log, "", ""}, kv::Tier::kAny,
                         [&](std::string_view, std::string_view) { return ++left > 0; })
                  .ok());
  EXPECT_EQ(left, 0) << "the log of a table that has none any more";
}

TEST_P(PastTableTest, ChangesAfterTheMomentAreUndone) {
  for (int i = 0; i < 10; ++i) place_.Put(i, "first");
  TurnOn(world());
  const Items before = place_.Items();
  const int64_t moment = place_.table()->descriptor.change_log->since_micros;
  world().clock.AdvanceMicros(1);
  place_.Put(3, "second");
  place_.Put(3, "third");
  place_.Delete(4);
  place_.Delete(5);
  place_.Put(5, "again");
  place_.Put(20, "new");
  place_.Put(21, "new");
  place_.Delete(21);
  EXPECT_EQ(Read(**PinQuietly(*world().store, moment)), before);
  EXPECT_EQ(Read(**PinQuietly(*world().store, now())), place_.Items());
}

TEST_P(PastTableTest, PinnedPastStaysWhileTheTableAndItsLogGo) {
  for (int i = 0; i < 50; ++i) place_.Put(i, "first");
  TurnOn(world());
  world().clock.AdvanceMicros(5);
  const Items before = place_.Items();
  const int64_t moment = now();
  world().clock.AdvanceMicros(5);
  for (int i = 0; i < 50; i += 2) place_.Put(i, "second");
  auto past = PinQuietly(*world().store, moment);
  ASSERT_TRUE(past.ok());
  for (int i = 0; i < 50; ++i) place_.Delete(i);
  const Result<table::TablePtr> dropped = table::Await<Result<table::TablePtr>>([&](auto done) {
    world().store->Drop(
        "tab", [](const table::TableDescriptor&) { return OkStatus(); }, std::move(done));
  });
  ASSERT_TRUE(dropped.ok());
  EXPECT_EQ(Read(**past), before);
}

TEST_P(PastTableTest, DaysBeforeThePeriodAreTrimmed) {
  TurnOn(world(), 2);
  const table::TablePtr first = place_.table();
  const auto records = [&] {
    int count = 0;
    EXPECT_TRUE(world()
                    .engine
                    ->Scan({first->descriptor.change_log->tablet(), history::FirstKeyOfDay(0),
                            history::FirstKeyOfDay(1 << 24)},
                           kv::Tier::kAny,
                           [&](std::string_view, std::string_view) { return ++count > 0; })
                    .ok());
    return count;
  };
  for (int day = 0; day < 6; ++day) {
    place_.Put(1, std::to_string(day));
    world().clock.AdvanceMicros(history::kDayMicros);
    ASSERT_TRUE(table::MaintainChangeLogs(*world().store).ok());
  }
  // There are those of the last two days, and of a day that has begun before them.
  EXPECT_GE(records(), 2);
  EXPECT_LE(records(), 3);
  const history::ChangeLog log = *place_.table()->descriptor.change_log;
  EXPECT_EQ(log.first_day, history::DayOf(now() - 2 * history::kDayMicros));
  EXPECT_EQ(log.since_micros, now() - 2 * history::kDayMicros);
  // A table that is being restored keeps what it needs.
  table::TableDescriptor target = DefinitionOf(place_.table()->descriptor);
  target.name = "target";
  target.restore.emplace();
  target.restore->table_name = "tab";
  target.restore->table_id = place_.table()->descriptor.table_id;
  target.restore->moment_micros = log.since_micros;
  ASSERT_TRUE(world().Create(std::move(target)).ok());
  world().clock.AdvanceMicros(4 * history::kDayMicros);
  ASSERT_TRUE(table::MaintainChangeLogs(*world().store).ok());
  EXPECT_EQ(place_.table()->descriptor.change_log->first_day, log.first_day);
}

// Random changes of a few items, on a clock that mostly moves on, with restarts.
class History {
 public:
  History(uint64_t seed, bool rocks) : seed_(seed), random_(seed), place_(rocks), rocks_(rocks) {
    for (int i = 0; i < 10; ++i) Put(i, "before");
    TurnOn(world());
    Begin();
  }

  void Run(int events) {
    for (int i = 0; i < events && !testing::Test::HasFailure(); ++i) {
      ++event_;
      const uint64_t what = random_.Below(100);
      if (what < 70) {
        Write();
      } else if (what < 90) {
        MoveClock();
      } else if (what < 96) {
        Verify(RandomMoment());
      } else if (what < 98) {
        Restart();
      } else if (what < 99) {
        Restore(RandomMoment());
      } else if (random_.Below(4) == 0) {
        TurnOff();
      }
    }
    for (int i = 0; i < 20; ++i) Verify(RandomMoment());
    Verify(since_);
    Verify(time_);
  }
  int verified() const { return verified_; }
  int restored() const { return restored_; }

 private:
  table::test::World& world() { return place_.world(); }
  std::string Where() const {
    return fmt::format("seed {}, event {}, rocks {}", seed_, event_, rocks_);
  }
  int64_t Now() const { return std::max(time_, place_now()); }
  int64_t place_now() const { return const_cast<Place&>(place_).world().clock.NowMicros(); }

  void Begin() {
    since_ = place_.table()->descriptor.change_log->since_micros;
    states_.clear();
    states_[since_] = place_.Items();
    time_ = since_ + 1;
  }
  void Put(int number, std::string_view text) { place_.Put(number, text); }

  // One to five items at once, some of them put, deleted or expired, some left alone.
  void Write() {
    std::set<int> numbers;
    for (uint64_t count = 1 + random_.Below(5) * random_.Below(2); count > 0; --count)
      numbers.insert(static_cast<int>(random_.Below(25)));
    std::vector<table::WriteTarget> targets;
    std::vector<table::Change> changes;
    for (const int number : numbers) {
      const std::string text =
          random_.Below(8) == 0 ? std::string(3000, 'x') : std::to_string(random_.Below(4));
      std::string item = Place::ItemOf(number, text);
      targets.push_back({place_.table(), table::EncodeItemKey(place_.table()->key_schema(),
                                                              model::ItemView(item))});
      table::Change& change = changes.emplace_back();
      const uint64_t what = random_.Below(10);
      change.kind = what < 6   ? table::Change::kPut
                    : what < 8 ? table::Change::kDelete
                    : what < 9 ? table::Change::kExpire
                               : table::Change::kNone;
      if (change.kind == table::Change::kPut) change.item = std::move(item);
    }
    const Status written = table::Await<Status>([&](auto done) {
      world().store->Write(
          std::move(targets),
          [&changes](const std::vector<model::ItemView>&) -> Result<std::vector<table::Change>> {
            return changes;
          },
          std::move(done));
    });
    EXPECT_TRUE(written.ok()) << Where();
    Items items = place_.Items();
    if (items == states_.rbegin()->second) return;  // what changes nothing takes no time
    time_ = Now();
    states_[time_] = std::move(items);
  }

  void MoveClock() {
    static constexpr int64_t kSteps[] = {1, 999, kSecond, 3600 * kSecond, history::kDayMicros};
    int64_t step = kSteps[random_.Below(std::size(kSteps))];
    if (random_.Below(6) == 0) step = -step;  // set back
    world().clock.AdvanceMicros(step);
    if (random_.Below(3) == 0) {
      EXPECT_TRUE(table::MaintainChangeLogs(*world().store).ok());
    }
  }

  int64_t Earliest() { return place_.table()->descriptor.change_log->EarliestAt(place_now()); }
  int64_t RandomMoment() {
    // Around a change as often as anywhere.
    int64_t moment = since_;
    if (random_.Below(2) == 0) {
      auto at = states_.begin();
      std::advance(at, static_cast<long>(random_.Below(states_.size())));
      moment = at->first - static_cast<int64_t>(random_.Below(2));
    } else {
      moment += static_cast<int64_t>(random_.Below(static_cast<uint64_t>(time_ - since_ + 1)));
    }
    return std::max(moment, Earliest());
  }
  const Items& At(int64_t moment) const { return std::prev(states_.upper_bound(moment))->second; }

  void Verify(int64_t moment) {
    moment = std::max(moment, Earliest());
    time_ = Now();  // later changes are not earlier than this pin
    auto past = PinQuietly(*world().store, moment);
    ASSERT_TRUE(past.ok()) << Where();
    if (moment < time_ && random_.Below(2) == 0) Write();  // what is pinned stays
    EXPECT_TRUE(Read(**past) == At(moment)) << Where() << ", moment " << moment;
    ++verified_;
  }

  void Restart() {
    if (rocks_) world().Restart();
  }

  void TurnOff() {
    ASSERT_TRUE(world()
                    .Alter([](table::TableDescriptor* d) {
                      d->change_log.reset();
                      return OkStatus();
                    })
                    .ok());
    for (int i = 0; i < 3; ++i) Put(static_cast<int>(random_.Below(25)), "unseen");
    TurnOn(world(), 1 + static_cast<int64_t>(random_.Below(35)));
    Begin();
  }

  // A restore that an earlier process has begun: it has written some items already.
  void Restore(int64_t moment) {
    table::TableDescriptor d = DefinitionOf(place_.table()->descriptor);
    d.name = "target";
    d.table_id = "22345678-1234-4234-8234-123456789012";
    d.restore.emplace();
    d.restore->table_name = "tab";
    d.restore->table_id = place_.table()->descriptor.table_id;
    d.restore->moment_micros = moment;
    ASSERT_TRUE(world().Create(std::move(d)).ok());
    Restart();
    std::vector<std::string> told;
    const std::unique_ptr<Backups> backups = place_.Open(MakeMemoryFolders(), &told);
    Restores restores(*world().store, *backups);
    restores.Start();
    time_ = Now();
    if (moment < time_ && random_.Below(2) == 0) Write();
    while (restores.running() > 0) std::this_thread::sleep_for(std::chrono::microseconds(100));
    restores.Stop();
    const table::TablePtr target = world().store->Find("target");
    ASSERT_NE(target, nullptr) << Where() << ": " << (told.empty() ? "" : told.back());
    EXPECT_EQ(target->descriptor.restore, std::nullopt) << Where();
    EXPECT_TRUE(world().ScanAll(target->descriptor.tablet(), table::kItemKind) == At(moment))
        << Where() << ", restored at " << moment;
    const Result<table::TablePtr> dropped = table::Await<Result<table::TablePtr>>([&](auto done) {
      world().store->Drop(
          "target", [](const table::TableDescriptor&) { return OkStatus(); }, std::move(done));
    });
    ASSERT_TRUE(dropped.ok());
    ++restored_;
  }

  const uint64_t seed_;
  SeededRandom random_;
  Place place_;
  const bool rocks_;
  int64_t since_ = 0;
  int64_t time_ = 0;                 // of the latest change
  std::map<int64_t, Items> states_;  // by the time of the change that made each
  int event_ = 0;
  int verified_ = 0;
  int restored_ = 0;
};

TEST_P(PastTableTest, EveryMomentIsAsItWas) {
  const char* from = std::getenv("STATOR_SIM_SEED");
  const char* count = std::getenv("STATOR_SIM_RUNS");
  const uint64_t first = from == nullptr ? 1 : std::strtoull(from, nullptr, 10);
  // On a disk each write waits for it.
  const uint64_t by_default = GetParam() ? 2 : 12;
  const uint64_t runs = count == nullptr ? by_default : std::strtoull(count, nullptr, 10);
  int verified = 0, restored = 0;
  for (uint64_t seed = first; seed < first + runs && !HasFailure(); ++seed) {
    History history(seed, GetParam());
    history.Run(600);
    verified += history.verified();
    restored += history.restored();
  }
  if (from != nullptr || count != nullptr) return;
  EXPECT_GT(verified, static_cast<int>(30 * runs));
  EXPECT_GT(restored, static_cast<int>(runs));
}

// Transfers between accounts by several threads, while the table is read as of many moments: the
// sum is the same in each.
TEST_P(PastTableTest, TransactionIsInAMomentWholeOrNotAtAll) {
  constexpr int kAccounts = 20;
  constexpr int kEach = 100;
  const auto item = [](int number, int balance) {
    return expr::notation::Item(
        fmt::format("{{pk:'p{}' sk:{} balance:{}}}", number % 7, number, balance));
  };
  for (int i = 0; i < kAccounts; ++i) ASSERT_TRUE(world().Write(item(i, kEach), false).ok());
  TurnOn(world());
  const int64_t since = place_.table()->descriptor.change_log->since_micros;
  std::atomic<bool> stop = false;
  std::atomic<int> moved = 0;
  std::vector<std::thread> threads;
  for (uint64_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      SeededRandom random(t + 1);
      while (!stop) {
        const int from = static_cast<int>(random.Below(kAccounts));
        const int to = static_cast<int>(
            (static_cast<uint64_t>(from) + 1 + random.Below(kAccounts - 1)) % kAccounts);
        std::vector<table::WriteTarget> targets;
        for (const int number : {from, to}) {
          const std::string any = item(number, 0);
          targets.push_back({place_.table(), table::EncodeItemKey(place_.table()->key_schema(),
                                                                  model::ItemView(any))});
        }
        const Status written = table::Await<Status>([&](auto done) {
          world().store->Write(
              std::move(targets),
              [&](const std::vector<model::ItemView>& old) -> Result<std::vector<table::Change>> {
                int64_t a = 0, b = 0;
                old[0].Find("balance").number().ToInt64(&a);
                old[1].Find("balance").number().ToInt64(&b);
                std::vector<table::Change> changes(2);
                changes[0] = {table::Change::kPut, item(from, static_cast<int>(a - 1))};
                changes[1] = {table::Change::kPut, item(to, static_cast<int>(b + 1))};
                return changes;
              },
              std::move(done));
        });
        EXPECT_TRUE(written.ok());
        ++moved;
      }
    });
  }
  SeededRandom random(9);
  for (int round = 0; round < 60 || moved < 100; ++round) {
    world().clock.AdvanceMicros(static_cast<int64_t>(1 + random.Below(3)));
    const int64_t moment =
        since + static_cast<int64_t>(random.Below(static_cast<uint64_t>(now() - since + 1)));
    auto past = PinQuietly(*world().store, moment);
    ASSERT_TRUE(past.ok());
    int64_t sum = 0;
    for (const auto& [key, bytes] : Read(**past)) {
      int64_t balance = 0;
      model::ItemView(bytes).Find("balance").number().ToInt64(&balance);
      sum += balance;
    }
    EXPECT_EQ(sum, kAccounts * kEach) << "round " << round;
  }
  stop = true;
  for (std::thread& thread : threads) thread.join();
  EXPECT_GT(moved, 60);
}

}  // namespace
}  // namespace stator::transfer
