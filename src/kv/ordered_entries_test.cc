#include "kv/ordered_entries.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "base/random.h"

namespace stator::kv {
namespace {

using Model = std::map<std::string, std::string>;
using Found = std::vector<std::pair<std::string, std::string>>;

// Keys that share their first eight bytes with other keys, end within them, or hold zeros, so that
// the first bytes alone often leave a tie.
std::string SomeKey(SeededRandom& random) {
  static const std::string kPieces[] = {"",         std::string(1, '\0'),    "a",       "abcdefg",
                                        "abcdefgh", std::string("abc\0", 4), "\xff\xff"};
  std::string key;
  for (uint64_t i = random.Below(4); i > 0; --i) key += kPieces[random.Below(std::size(kPieces))];
  if (random.Below(2) == 0) key += std::to_string(random.Below(40));
  return key;
}

Found ScanOf(const OrderedEntries& entries, std::string_view begin, std::string_view end,
             bool reverse, size_t most) {
  Found found;
  entries.Scan(begin, end, reverse, [&](std::string_view key, std::string_view value) {
    found.emplace_back(key, value);
    return found.size() < most;
  });
  return found;
}

Found ModelScan(const Model& model, const std::string& begin, const std::string& end, bool reverse,
                size_t most) {
  Found found;
  for (const auto& [key, value] : model) {
    if (key >= begin && (end.empty() || key < end)) found.emplace_back(key, value);
  }
  if (reverse) std::reverse(found.begin(), found.end());
  if (found.size() > most) found.resize(most);
  return found;
}

TEST(OrderedEntries, AgreesWithStdMap) {
  for (const uint64_t seed : {uint64_t{1}, uint64_t{2}, SystemSeed()}) {
    SCOPED_TRACE(seed);
    SeededRandom random(seed);
    OrderedEntries entries;
    Model model;
    size_t largest = 0;
    for (int step = 0; step < 5000; ++step) {
      const std::string key = SomeKey(random);
      switch (random.Below(12)) {
        case 0:
          entries.Erase(key);
          model.erase(key);
          break;
        case 1:
          if (random.Below(10) == 0) {
            const std::string end = SomeKey(random);
            entries.EraseRange(key, end);
            if (end.empty() || key < end)
              model.erase(model.lower_bound(key),
                          end.empty() ? model.end() : model.lower_bound(end));
          }
          break;
        case 2:
        case 3: {
          const std::string end = SomeKey(random);
          const bool reverse = random.Below(2) == 0;
          const size_t most = random.Below(3) == 0 ? SIZE_MAX : 1 + random.Below(10);
          ASSERT_EQ(ScanOf(entries, key, end, reverse, most),
                    ModelScan(model, key, end, reverse, most));
          break;
        }
        default: {
          const std::string value(random.Below(40), static_cast<char>('a' + random.Below(26)));
          entries.Put(key, value);
          model[key] = value;
        }
      }
      const std::string* found = entries.Find(key);
      const auto expected = model.find(key);
      ASSERT_EQ(found != nullptr, expected != model.end());
      if (found != nullptr) {
        ASSERT_EQ(*found, expected->second);
      }
      ASSERT_EQ(entries.size(), model.size());
      largest = std::max(largest, model.size());
    }
    uint64_t bytes = 0;
    for (const auto& [key, value] : model) bytes += key.size() + value.size();
    EXPECT_EQ(entries.bytes(), bytes);
    EXPECT_GT(largest, 50u);  // several nodes of the tree
    EXPECT_EQ(ScanOf(entries, "", "", false, SIZE_MAX), ModelScan(model, "", "", false, SIZE_MAX));
    entries.EraseRange("", "");
    EXPECT_EQ(entries.size(), 0u);
    EXPECT_EQ(entries.bytes(), 0u);
    EXPECT_EQ(entries.Find("a"), nullptr);
  }
}

}  // namespace
}  // namespace stator::kv
