#include "transfer/past_changes.h"

#include <gtest/gtest.h>

#include <vector>

#include "history/change_log.h"
#include "table/history_upkeep.h"
#include "transfer/test_place.h"

namespace stator::transfer {
namespace {

using Items = std::map<std::string, std::string>;

class PastChangesTest : public testing::TestWithParam<bool> {
 protected:
  PastChangesTest() {
    EXPECT_TRUE(table::RequireChangeLogs(*world().store).ok());
    EXPECT_TRUE(world()
                    .Alter([](table::TableDescriptor* d) {
                      d->change_log.emplace();
                      return OkStatus();
                    })
                    .ok());
  }
  table::test::World& world() { return place_.world(); }
  int64_t now() { return world().clock.NowMicros(); }

  Place place_{GetParam()};
};
INSTANTIATE_TEST_SUITE_P(Engines, PastChangesTest, testing::Bool());

// Random changes over three days: each window has the difference of the two states.
TEST_P(PastChangesTest, AreTheDifferenceOfTwoMoments) {
  SeededRandom random(28);
  struct Moment {
    int64_t micros;
    Items items;
  };
  std::vector<Moment> moments = {{now(), place_.Items()}};
  std::map<std::string, std::vector<int64_t>> changed;
  for (int step = 0; step < 300; ++step) {
    world().clock.AdvanceMicros(1 + static_cast<int64_t>(random.Next() % 1'600'000'000));
    const int number = static_cast<int>(random.Next() % 25);
    const Items before = place_.Items();
    if (random.Next() % 3 == 0) {
      place_.Delete(number);
    } else {
      place_.Put(number, std::to_string(random.Next() % 4));
    }
    const Items after = place_.Items();
    if (before != after) {
      const std::string item = Place::ItemOf(number);
      changed[table::EncodeItemKey(place_.table()->key_schema(), model::ItemView(item))].push_back(
          now());
    }
    moments.push_back({now(), after});
  }
  for (int round = 0; round < 60; ++round) {
    const Moment& from = moments[random.Next() % moments.size()];
    const Moment& to = moments[random.Next() % moments.size()];
    if (from.micros > to.micros) continue;
    Items wanted_before;
    Items wanted_after;
    for (const auto& [key, times] : changed) {
      if (std::none_of(times.begin(), times.end(),
                       [&](int64_t at) { return at > from.micros && at <= to.micros; }))
        continue;
      if (from.items.count(key) != 0) wanted_before[key] = from.items.at(key);
      if (to.items.count(key) != 0) wanted_after[key] = to.items.at(key);
    }
    Items before;
    Items after;
    std::string last;
    const Status read = ReadPastChanges(
        *world().store, *place_.table(), from.micros, to.micros, [&](const PastChange& change) {
          EXPECT_LT(last, change.key);
          last = change.key;
          const std::vector<int64_t>& times = changed[last];
          const auto next = std::upper_bound(times.begin(), times.end(), to.micros);
          EXPECT_EQ(*(next - 1), change.last_micros);
          if (!change.before.empty()) before[last] = change.before;
          if (!change.after.empty()) after[last] = change.after;
          return OkStatus();
        });
    ASSERT_TRUE(read.ok()) << read.error().message();
    EXPECT_EQ(before, wanted_before);
    EXPECT_EQ(after, wanted_after);
  }
}

// More records than a stretch holds, of one item and of many.
TEST_P(PastChangesTest, ComeInStretches) {
  const int64_t from = now();
  for (int i = 0; i < 200; ++i) {
    world().clock.AdvanceMicros(1);
    place_.Put(1, std::string(20'000, 'a'));
    place_.Put(i % 50 + 2, std::string(20'000, static_cast<char>('a' + i % 7)));
  }
  int found = 0;
  const Status read =
      ReadPastChanges(*world().store, *place_.table(), from, now(), [&](const PastChange& change) {
        EXPECT_TRUE(change.before.empty());
        EXPECT_GT(change.after.size(), 20'000u);
        ++found;
        return OkStatus();
      });
  ASSERT_TRUE(read.ok()) << read.error().message();
  EXPECT_EQ(found, 51);
}

}  // namespace
}  // namespace stator::transfer
