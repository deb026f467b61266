#include "base/lru_list.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace stator {
namespace {

struct Entry {
  std::string name;
};
using List = LruList<Entry>;

std::vector<std::string> Names(List& list) {
  std::vector<std::string> names;
  for (const List::Charged& entry : list) names.push_back(entry.name);
  return names;
}

using Expected = std::vector<std::string>;

TEST(LruList, OldestIsTheEntryWhoseLastUseIsLongestAgo) {
  List list;
  const List::Handle a = list.Add({"a"}, 1);
  list.Add({"b"}, 1);
  list.Add({"c"}, 1);
  EXPECT_EQ(list.oldest()->name, "a");
  list.Use(a);
  EXPECT_EQ(Names(list), (Expected{"a", "c", "b"}));
  EXPECT_EQ(list.oldest()->name, "b");
  list.Use(a);
  EXPECT_EQ(Names(list), (Expected{"a", "c", "b"}));
}

TEST(LruList, ChargeIsTheSumOfTheEntries) {
  List list;
  EXPECT_EQ(list.charge(), 0u);
  const List::Handle a = list.Add({"a"}, 10);
  const List::Handle b = list.Add({"b"}, 5);
  EXPECT_EQ(list.charge(), 15u);
  list.SetCharge(a, 3);
  EXPECT_EQ(list.charge(), 8u);
  list.SetCharge(b, 50);
  EXPECT_EQ(list.charge(), 53u);
  EXPECT_EQ(Names(list), (Expected{"b", "a"}));
  list.Remove(b);
  EXPECT_EQ(list.charge(), 3u);
  list.Remove(a);
  EXPECT_EQ(list.charge(), 0u);
  EXPECT_TRUE(list.empty());
}

TEST(LruList, MoveToKeepsTheEntryWhereItIs) {
  List from, to;
  const List::Handle a = from.Add({"a"}, 10);
  from.Add({"b"}, 5);
  to.Add({"c"}, 1);
  const std::string* const name = &a->name;
  from.MoveTo(to, a);
  EXPECT_EQ(Names(from), (Expected{"b"}));
  EXPECT_EQ(Names(to), (Expected{"a", "c"}));
  EXPECT_EQ(from.charge(), 5u);
  EXPECT_EQ(to.charge(), 11u);
  EXPECT_EQ(&a->name, name);
  to.SetCharge(a, 2);
  EXPECT_EQ(to.charge(), 3u);
}

// Beside a plain vector, oldest first.
TEST(LruList, AgreesWithAVector) {
  SeededRandom random(7);
  List list;
  std::unordered_map<std::string, List::Handle> index;
  std::vector<std::pair<std::string, uint64_t>> model;
  for (int step = 0; step < 20'000; ++step) {
    const std::string name = std::to_string(random.Next() % 50);
    const uint64_t charge = random.Next() % 100;
    const auto at = std::find_if(model.begin(), model.end(),
                                 [&](const auto& entry) { return entry.first == name; });
    ASSERT_EQ(at != model.end(), index.contains(name));
    if (at == model.end()) {
      index[name] = list.Add({name}, charge);
      model.emplace_back(name, charge);
    } else if (const uint64_t action = random.Next() % 4; action == 0) {
      list.Remove(index[name]);
      index.erase(name);
      model.erase(at);
    } else if (action == 1) {
      list.SetCharge(index[name], charge);
      at->second = charge;
    } else {
      list.Use(index[name]);
      std::rotate(at, at + 1, model.end());
    }
    uint64_t sum = 0;
    for (const auto& entry : model) sum += entry.second;
    ASSERT_EQ(list.charge(), sum);
    ASSERT_EQ(list.empty(), model.empty());
    if (!model.empty()) {
      ASSERT_EQ(list.oldest()->name, model.front().first);
    }
  }
}

}  // namespace
}  // namespace stator
