#include "transfer/difference.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <set>

#include "table/history_upkeep.h"
#include "table/settled_changes.h"
#include "transfer/test_place.h"

namespace stator::transfer {
namespace {

using Items = std::map<std::string, std::string>;
using MomentPtr = std::shared_ptr<const table::LoggedMoment>;
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

void AddIndexes(table::test::World& world) {
  ASSERT_TRUE(world
                  .Alter([](table::TableDescriptor* d) {
                    table::IndexDescriptor& index = d->indexes.emplace_back();
                    index.name = "by_v";
                    index.kind = table::IndexDescriptor::Kind::kGlobal;
                    index.key = {{{"v", model::Type::kS}}, {}};
                    index.projection = table::IndexDescriptor::Projection::kAll;
                    index.state = table::IndexDescriptor::State::kCreating;
                    d->attribute_definitions.push_back({"v", model::Type::kS});
                    return OkStatus();
                  })
                  .ok());
  world.WaitForBuilds();
}

Items ScanPast(Place& place, const MomentPtr& moment, bool reverse, std::string begin = "",
               std::string end = "") {
  table::test::World& world = place.world();
  if (begin.empty()) begin = table::FirstKeyOfHash(0);
  if (end.empty()) end = table::EndOfItemKeys();
  Items items;
  std::string last;
  kv::Range range{place.table()->descriptor.tablet(), begin, end, reverse};
  const Status read = world.store->ScanTablet(
      range, kv::Tier::kAny,
      [&](std::string_view key, model::ItemView item) {
        EXPECT_TRUE(last.empty() || (reverse ? key < last : key > last)) << "out of order";
        last = key;
        if (item.exists()) items.emplace(key, item.encoded());
        return true;
      },
      moment.get());
  EXPECT_TRUE(read.ok()) << read.error().message();
  return items;
}

class DifferenceTest : public testing::TestWithParam<bool> {
 protected:
  Place place_{GetParam()};
  table::test::World& world() { return place_.world(); }
  int64_t now() { return world().clock.NowMicros(); }
  MomentPtr Open(int64_t moment) {
    return table::LoggedMoment::Open(*world().store, place_.table(), moment).value();
  }
  std::string KeyOf(int number) {
    const std::string item = Place::ItemOf(number);
    return table::EncodeItemKey(place_.table()->key_schema(), model::ItemView(item));
  }
};
INSTANTIATE_TEST_SUITE_P(Engines, DifferenceTest, testing::Bool());

TEST_P(DifferenceTest, ItemWithManyRecordsOfADayIsPassedBySeeks) {
  TurnOn(world());
  world().clock.AdvanceMicros(kSecond);
  std::map<int64_t, Items> states;
  for (int round = 0; round < 40; ++round) {
    // Item 3 changes each time, its neighbours seldom; some images are large.
    place_.Put(3, round % 5 == 0 ? std::string(20'000, 'y') : std::to_string(round));
    if (round % 10 == 0) place_.Put(4 + round / 10, std::to_string(round));
    if (round % 15 == 7) place_.Delete(3);
    states[now()] = place_.Items();
    world().clock.AdvanceMicros(kSecond);
  }
  for (const auto& [time, state] : states) {
    EXPECT_EQ(ScanPast(place_, Open(time), false), state);
    EXPECT_EQ(ScanPast(place_, Open(time), true), state);
    for (int number : {3, 4, 5, 9}) {
      const std::string key = KeyOf(number);
      const auto at = state.find(key);
      EXPECT_EQ(Open(time)->ItemAt(key).value(), at == state.end() ? "" : at->second);
    }
  }
}

// Both read a day in stretches: a seek for every item and day would count as some MB here.
TEST_P(DifferenceTest, ReverseReadsCostAboutAsMuchAsForwardOnes) {
  TurnOn(world());
  for (int i = 0; i < 100; ++i) place_.Put(i, "at the moment");
  world().clock.AdvanceMicros(kSecond);
  const int64_t moment = now();
  const Items expected = place_.Items();
  for (int day = 0; day < 5; ++day) {
    world().clock.AdvanceMicros(history::kDayMicros);
    for (int i = 0; i < 100; ++i) place_.Put(i, fmt::format("day {}", day));
  }
  const MomentPtr forward = Open(moment), reverse = Open(moment);
  EXPECT_EQ(ScanPast(place_, forward, false), expected);
  EXPECT_EQ(ScanPast(place_, reverse, true), expected);
  EXPECT_GT(forward->read_bytes(), 0u);
  EXPECT_LT(reverse->read_bytes(), 2 * forward->read_bytes());
  EXPECT_LT(reverse->read_bytes(), 1u << 20);
}

TEST_P(DifferenceTest, MomentIsRefusedOnceItsDayMayHaveBeenTrimmed) {
  TurnOn(world(), 2);
  place_.Put(1, "a");
  world().clock.AdvanceMicros(kSecond);
  const MomentPtr moment = Open(now());
  EXPECT_TRUE(moment->ItemAt(KeyOf(1)).ok());
  world().clock.AdvanceMicros(3 * history::kDayMicros);
  const auto over = moment->ItemAt(KeyOf(1));
  ASSERT_FALSE(over.ok());
  EXPECT_EQ(over.error().message(), table::PastIsOver().message());
  ASSERT_TRUE(world()
                  .Alter([](table::TableDescriptor* d) {
                    d->change_log.reset();
                    return OkStatus();
                  })
                  .ok());
  EXPECT_FALSE(moment->ItemAt(KeyOf(1)).ok());
  EXPECT_FALSE(table::LoggedMoment::Open(*world().store, place_.table(), now()).ok());
}

TEST_P(DifferenceTest, PagesOfADayFullOfOtherChangesEndAndGoOn) {
  TurnOn(world());
  world().clock.AdvanceMicros(kSecond);
  const int64_t from = now();
  world().clock.AdvanceMicros(kSecond);
  for (int i = 0; i < 30; ++i) place_.Put(i, "in");
  const int64_t to = now();
  world().clock.AdvanceMicros(kSecond);
  // They are not in the window, and have to be passed.
  for (int i = 30; i < 400; ++i) place_.Put(i, "later");
  PageLimits limits;
  limits.read_bytes = 2000;
  std::set<std::string> found;
  std::string begin;
  int pages = 0;
  for (;;) {
    const DifferencePage page =
        ReadDifference(*world().store, *place_.table(), *Open(from), *Open(to), begin, limits)
            .value();
    ++pages;
    for (const ItemChange& change : page.changes) {
      EXPECT_TRUE(found.insert(change.key).second);
      EXPECT_EQ(change.before, "");
      EXPECT_EQ(change.micros, to);
    }
    if (!page.next) break;
    ASSERT_GT(*page.next, begin);
    begin = *page.next;
  }
  EXPECT_EQ(found.size(), 30u);
  EXPECT_GT(pages, 20);
}

TEST_P(DifferenceTest, ForgottenItemNeverWas) {
  TurnOn(world());
  world().clock.AdvanceMicros(kSecond);
  place_.Put(1, "secret");
  place_.Put(2, "other");
  world().clock.AdvanceMicros(history::kDayMicros);
  place_.Put(1, "secret again");
  const int64_t moment = now();
  world().clock.AdvanceMicros(kSecond);
  const std::string key = KeyOf(1);
  const auto refused = ForgetItem(*world().store, place_.table(), key);
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kValidation);
  EXPECT_NE(Open(moment)->ItemAt(key).value(), "");
  place_.Delete(1);
  EXPECT_NE(Open(moment)->ItemAt(key).value(), "");
  EXPECT_EQ(ForgetItem(*world().store, place_.table(), key).value(), 3);
  // It is put again in the same microsecond: that is a change of its own.
  place_.Put(1, "new");
  EXPECT_EQ(Open(moment)->ItemAt(key).value(), "");
  EXPECT_EQ(Open(moment)->ItemAt(KeyOf(2)).value(), Place::ItemOf(2, "other"));
  world().clock.AdvanceMicros(kSecond);
  EXPECT_EQ(Open(now())->ItemAt(key).value(), Place::ItemOf(1, "new"));
  EXPECT_EQ(ScanPast(place_, Open(moment), false).size(), 1u);
  place_.Delete(1);
  if (GetParam()) world().Restart();
  EXPECT_EQ(ForgetItem(*world().store, place_.table(), key).value(), 2);
  EXPECT_EQ(ForgetItem(*world().store, place_.table(), key).value(), 0);
  EXPECT_EQ(Open(moment)->ItemAt(key).value(), "");
}

TEST_P(DifferenceTest, UndoLeavesWhatChangedLaterAlone) {
  TurnOn(world());
  world().clock.AdvanceMicros(kSecond);
  for (int i = 0; i < 5; ++i) place_.Put(i, "good");
  const int64_t from = now();
  world().clock.AdvanceMicros(kSecond);
  place_.Put(0, "bad");
  place_.Delete(1);
  place_.Put(2, "bad");
  place_.Put(9, "bad");
  place_.Put(3, "bad");
  place_.Put(3, "good");
  const int64_t to = now();
  world().clock.AdvanceMicros(kSecond);
  place_.Put(2, "mended");
  const Items before = place_.Items();
  using Outcome = Undone::Outcome;
  const std::map<std::string, Outcome> expected{{KeyOf(0), Outcome::kPut},
                                                {KeyOf(1), Outcome::kPut},
                                                {KeyOf(2), Outcome::kConflict},
                                                {KeyOf(9), Outcome::kDelete}};
  for (const bool apply : {false, true}) {
    const UndoPage page =
        UndoChanges(*world().store, place_.table(), *Open(from), *Open(to), "", {}, apply).value();
    EXPECT_EQ(page.next, std::nullopt);
    std::map<std::string, Outcome> outcomes;
    for (const Undone& item : page.items) outcomes[item.key] = item.outcome;
    EXPECT_EQ(outcomes, expected);
    if (!apply) {
      EXPECT_EQ(place_.Items(), before);
    }
  }
  Items after = before;
  after[KeyOf(0)] = Place::ItemOf(0, "good");
  after[KeyOf(1)] = Place::ItemOf(1, "good");
  after.erase(KeyOf(9));
  EXPECT_EQ(place_.Items(), after);
  // Once more does no harm.
  const UndoPage again =
      UndoChanges(*world().store, place_.table(), *Open(from), *Open(to), "", {}, true).value();
  for (const Undone& item : again.items) {
    EXPECT_EQ(item.outcome, item.key == KeyOf(2) ? Outcome::kConflict : Outcome::kAlready);
  }
  EXPECT_EQ(place_.Items(), after);
}

TEST_P(DifferenceTest, PagesEndByTheSizeOfImagesAndWhenTheirClientHasGone) {
  TurnOn(world());
  const int64_t from = now();
  for (int version = 0; version < 6; ++version) {
    world().clock.AdvanceMicros(kSecond);
    for (int i = 0; i < 6; ++i) place_.Put(i, "version " + std::to_string(version));
  }
  const int64_t to = now();
  const auto read = [&](const PageLimits& limits) {
    const auto first = Open(from), last = Open(to);
    return std::pair(
        ReadDifference(*world().store, *place_.table(), *first, *last, "", limits),
        ReadVersions(*world().store, *place_.table(), KeyOf(1), *first, *last, "", limits));
  };
  PageLimits limits;
  const auto all = read(limits);
  EXPECT_EQ(all.first.value().changes.size(), 6u);
  EXPECT_EQ(all.second.value().changes.size(), 6u);
  // One image of each change alone fills a third of the page.
  limits.size_of_image = [](std::string_view) { return int64_t{200'000}; };
  const auto few = read(limits);
  EXPECT_EQ(few.first.value().changes.size(), 3u);
  EXPECT_EQ(few.second.value().changes.size(), 3u);
  EXPECT_TRUE(few.first->next.has_value());
  EXPECT_TRUE(few.second->next.has_value());
  int asked = 0;
  limits.is_left = [&asked] { return ++asked > 2; };
  const Result<DifferencePage> left =
      ReadDifference(*world().store, *place_.table(), *Open(from), *Open(to), "", limits);
  ASSERT_FALSE(left.ok());
  EXPECT_EQ(left.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(asked, 3);
  asked = 0;
  const Result<DifferencePage> versions =
      ReadVersions(*world().store, *place_.table(), KeyOf(1), *Open(from), *Open(to), "", limits);
  ASSERT_FALSE(versions.ok());
  EXPECT_EQ(versions.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(asked, 3);
}

TEST_P(DifferenceTest, OneWaitForWritesSettlesAllMomentsBeforeIt) {
  TurnOn(world());
  table::SettledChanges settled(*world().store);
  world().clock.AdvanceMicros(kSecond);
  const uint32_t log = place_.table()->descriptor.change_log->tablet_id;
  const auto await = [&](const std::string& name, int64_t micros) {
    return table::Await<Status>(
        [&](auto done) { settled.Await(name, log, micros, std::move(done)); });
  };
  EXPECT_TRUE(await("tab", now() - 10).ok());
  // Nothing is awaited any more: the name is not looked at.
  EXPECT_TRUE(await("none", now() - 1).ok());
  world().clock.AdvanceMicros(kSecond);
  EXPECT_FALSE(await("none", now() - 1).ok());
  EXPECT_TRUE(await("tab", now() - 1).ok());
}

// Random changes of a few items, on a clock that mostly moves on, with restarts.
class RandomPast {
 public:
  RandomPast(uint64_t seed, bool rocks) : seed_(seed), random_(seed), place_(rocks), rocks_(rocks) {
    for (int i = 0; i < 10; ++i) place_.Put(i, "before");
    if (seed % 2 == 0) AddIndexes(world());
    TurnOn(world());
    since_ = place_.table()->descriptor.change_log->since_micros;
    states_[since_] = place_.Items();
    time_ = since_;
  }

  void Run(int events) {
    for (int i = 0; i < events && !testing::Test::HasFailure(); ++i) {
      ++event_;
      const uint64_t what = random_.Below(100);
      if (what < 60) {
        Write();
      } else if (what < 75) {
        MoveClock();
      } else if (what < 88) {
        VerifyReads(RandomMoment());
      } else if (what < 94) {
        VerifyDifference(RandomMoment(), RandomMoment());
      } else if (what < 97) {
        VerifyVersions(RandomMoment(), RandomMoment());
      } else if (what < 99) {
        VerifyUndo(RandomMoment(), RandomMoment());
      } else if (rocks_) {
        world().Restart();
      }
    }
    for (int i = 0; i < 20; ++i) VerifyReads(RandomMoment());
    VerifyReads(since_);
    VerifyDifference(since_, time_);
  }
  int verified() const { return verified_; }
  int undone() const { return undone_; }
  int conflicts() const { return conflicts_; }

 private:
  struct Change {
    int64_t micros;
    std::string key, before, after;
  };

  table::test::World& world() { return place_.world(); }
  std::string Where() const {
    return fmt::format("seed {}, event {}, rocks {}", seed_, event_, rocks_);
  }
  int64_t Now() { return std::max(time_, world().clock.NowMicros()); }

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
    Note();
  }

  // Takes what the table is now into the model.
  void Note() {
    Items items = place_.Items();
    const Items& before = states_.rbegin()->second;
    if (items == before) return;  // what changes nothing takes no time
    // Reads move the clock of changes on too, so the log itself says what time it was.
    const int64_t mark =
        history::ReadMark(*world().engine, *place_.table()->descriptor.change_log).value();
    ASSERT_GE(mark, time_) << Where();
    time_ = mark;
    std::set<std::string> keys;
    for (const auto& [key, item] : items) keys.insert(key);
    for (const auto& [key, item] : before) keys.insert(key);
    for (const std::string& key : keys) {
      const std::string was = In(before, key), is = In(items, key);
      if (was != is) changes_.push_back({time_, key, was, is});
    }
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

  int64_t Earliest() {
    return place_.table()->descriptor.change_log->EarliestAt(world().clock.NowMicros());
  }
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
  static std::string In(const Items& items, const std::string& key) {
    const auto at = items.find(key);
    return at == items.end() ? std::string() : at->second;
  }
  MomentPtr Open(int64_t moment) {
    return table::LoggedMoment::Open(*world().store, place_.table(), moment).value();
  }
  std::string RandomKey() {
    const std::string item = Place::ItemOf(static_cast<int>(random_.Below(26)));
    return table::EncodeItemKey(place_.table()->key_schema(), model::ItemView(item));
  }
  PageLimits RandomLimits() {
    PageLimits limits;
    limits.changes = 1 + random_.Below(30);
    if (random_.Below(2) == 0) limits.image_bytes = random_.Below(5000);
    if (random_.Below(2) == 0) limits.read_bytes = random_.Below(5000);
    return limits;
  }

  void VerifyReads(int64_t moment) {
    ++verified_;
    moment = std::max(moment, Earliest());
    const Items& expected = At(moment);
    for (const bool reverse : {false, true}) {
      EXPECT_TRUE(ScanPast(place_, Open(moment), reverse) == expected)
          << Where() << ", moment " << moment << ", reverse " << reverse;
    }
    std::string begin = RandomKey(), end = RandomKey();
    if (end < begin) std::swap(begin, end);
    Items part(expected.lower_bound(begin), expected.lower_bound(end));
    const bool reverse = random_.Below(2) == 0;
    if (begin < end) {
      EXPECT_TRUE(ScanPast(place_, Open(moment), reverse, begin, end) == part)
          << Where() << ", moment " << moment << ", part, reverse " << reverse;
    }
    for (int i = 0; i < 5; ++i) {
      const std::string key = RandomKey();
      EXPECT_EQ(Open(moment)->ItemAt(key).value(), In(expected, key)) << Where();
    }
  }

  void VerifyDifference(int64_t from, int64_t to) {
    if (from > to) std::swap(from, to);
    ++verified_;
    std::map<std::string, ItemChange> expected;
    for (const Change& change : changes_) {
      if (change.micros <= from || change.micros > to) continue;
      ItemChange& entry = expected.try_emplace(change.key).first->second;
      entry = {change.key, In(At(from), change.key), In(At(to), change.key), change.micros};
    }
    std::erase_if(expected, [](const auto& e) { return e.second.before == e.second.after; });
    const PageLimits limits = RandomLimits();
    std::string begin;
    auto next = expected.begin();
    for (int pages = 0; pages < 1000; ++pages) {
      const auto page =
          ReadDifference(*world().store, *place_.table(), *Open(from), *Open(to), begin, limits);
      ASSERT_TRUE(page.ok()) << page.error().message() << ", " << Where();
      ASSERT_LE(page->changes.size(), limits.changes);
      for (const ItemChange& change : page->changes) {
        ASSERT_NE(next, expected.end()) << Where();
        EXPECT_EQ(change.key, next->second.key) << Where();
        EXPECT_EQ(change.before, next->second.before) << Where();
        EXPECT_EQ(change.after, next->second.after) << Where();
        EXPECT_EQ(change.micros, next->second.micros) << Where();
        ++next;
      }
      if (!page->next) {
        EXPECT_EQ(next, expected.end()) << Where() << ", from " << from << " to " << to;
        return;
      }
      ASSERT_GT(*page->next, begin) << Where();
      begin = *page->next;
    }
    FAIL() << "no end, " << Where();
  }

  void VerifyVersions(int64_t from, int64_t to) {
    if (from > to) std::swap(from, to);
    ++verified_;
    const std::string key = RandomKey();
    std::vector<Change> expected;
    for (const Change& change : changes_) {
      if (change.key == key && change.micros > from && change.micros <= to)
        expected.push_back(change);
    }
    std::string begin;
    size_t next = 0;
    for (int pages = 0; pages < 1000; ++pages) {
      PageLimits limits;
      limits.changes = 1 + random_.Below(5);
      const auto page =
          ReadVersions(*world().store, *place_.table(), key, *Open(from), *Open(to), begin, limits);
      ASSERT_TRUE(page.ok()) << page.error().message() << ", " << Where();
      for (const ItemChange& change : page->changes) {
        ASSERT_LT(next, expected.size()) << Where();
        EXPECT_EQ(change.micros, expected[next].micros) << Where();
        EXPECT_EQ(change.before, expected[next].before) << Where();
        EXPECT_EQ(change.after, expected[next].after) << Where();
        ++next;
      }
      if (!page->next) break;
      begin = *page->next;
    }
    EXPECT_EQ(next, expected.size()) << Where();
  }

  void VerifyUndo(int64_t from, int64_t to) {
    if (from > to) std::swap(from, to);
    ++verified_;
    const Items now = states_.rbegin()->second;
    Items expected = now;
    std::map<std::string, Undone::Outcome> outcomes;
    for (const Change& change : changes_) {
      if (change.micros <= from || change.micros > to) continue;
      const std::string before = In(At(from), change.key), after = In(At(to), change.key);
      if (before == after) continue;
      using Outcome = Undone::Outcome;
      const std::string is = In(now, change.key);
      Outcome& outcome = outcomes[change.key];
      outcome = is == before     ? Outcome::kAlready
                : is != after    ? Outcome::kConflict
                : before.empty() ? Outcome::kDelete
                                 : Outcome::kPut;
      if (outcome == Outcome::kPut) expected[change.key] = before;
      if (outcome == Outcome::kDelete) expected.erase(change.key);
    }
    for (const bool apply : {false, true}) {
      // The writes of the undo must be after the window.
      if (apply && Now() <= to) world().clock.AdvanceMicros(Now() + 1 - world().clock.NowMicros());
      std::map<std::string, Undone::Outcome> told;
      std::string begin;
      for (int pages = 0; pages < 1000; ++pages) {
        const auto page = UndoChanges(*world().store, place_.table(), *Open(from), *Open(to), begin,
                                      RandomLimits(), apply);
        ASSERT_TRUE(page.ok()) << page.error().message() << ", " << Where();
        for (const Undone& item : page->items) {
          EXPECT_TRUE(told.emplace(item.key, item.outcome).second) << Where();
          EXPECT_EQ(item.error, "") << Where();
        }
        if (!page->next) break;
        begin = *page->next;
        // A kill in between: the position is enough to go on.
        if (apply && rocks_ && random_.Below(10) == 0) world().Restart();
      }
      EXPECT_EQ(told, outcomes) << Where() << ", apply " << apply;
      EXPECT_TRUE(place_.Items() == (apply ? expected : now)) << Where();
    }
    for (const auto& [key, outcome] : outcomes) {
      undone_ += outcome == Undone::Outcome::kPut || outcome == Undone::Outcome::kDelete;
      conflicts_ += outcome == Undone::Outcome::kConflict;
    }
    // Each write of the undo is a change at the present time.
    Note();
  }

  const uint64_t seed_;
  SeededRandom random_;
  Place place_;
  const bool rocks_;
  int64_t since_ = 0;
  int64_t time_ = 0;                 // of the latest change
  std::map<int64_t, Items> states_;  // by the time of the change that made each
  std::vector<Change> changes_;
  int event_ = 0;
  int verified_ = 0;
  int undone_ = 0;
  int conflicts_ = 0;
};

TEST_P(DifferenceTest, EveryMomentIsReadAsItWas) {
  const char* from = std::getenv("STATOR_SIM_SEED");
  const char* count = std::getenv("STATOR_SIM_RUNS");
  const uint64_t first = from == nullptr ? 1 : std::strtoull(from, nullptr, 10);
  // On a disk each write waits for it.
  const uint64_t by_default = GetParam() ? 2 : 12;
  const uint64_t runs = count == nullptr ? by_default : std::strtoull(count, nullptr, 10);
  int verified = 0, undone = 0, conflicts = 0;
  for (uint64_t seed = first; seed < first + runs && !HasFailure(); ++seed) {
    RandomPast past(seed, GetParam());
    past.Run(600);
    verified += past.verified();
    undone += past.undone();
    conflicts += past.conflicts();
  }
  if (from != nullptr || count != nullptr) return;
  EXPECT_GT(verified, static_cast<int>(60 * runs));
  EXPECT_GT(undone, static_cast<int>(2 * runs));
  EXPECT_GT(conflicts, static_cast<int>(2 * runs));
}

}  // namespace
}  // namespace stator::transfer
