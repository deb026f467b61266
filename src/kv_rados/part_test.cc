#include "kv_rados/part.h"

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace stator::kv_rados {
namespace {

TEST(SeenSizes, AreThoseOfAKeyOfAPart) {
  const auto seen = std::make_shared<SeenSizes>();
  const Part part({kv::Space::kItems, 1}, 0, seen), sibling({kv::Space::kItems, 1}, 1, seen),
      other({kv::Space::kItems, 2}, 0, seen);
  EXPECT_EQ(part.SeenBytes("key", std::nullopt), std::nullopt);
  part.NoteSeen("key", 7, 100);
  EXPECT_EQ(part.SeenBytes("key", 7), 100u);
  EXPECT_EQ(part.SeenBytes("key", std::nullopt), 100u) << "at whatever stamp";
  EXPECT_EQ(part.SeenBytes("key", 8), std::nullopt) << "another value";
  EXPECT_EQ(part.SeenBytes("kez", 7), std::nullopt);
  EXPECT_EQ(sibling.SeenBytes("key", 7), std::nullopt);
  EXPECT_EQ(other.SeenBytes("key", 7), std::nullopt);
  other.NoteSeen("key", 7, 200);
  EXPECT_EQ(part.SeenBytes("key", 7), 100u);
  part.NoteSeen("key", 0, 0);
  EXPECT_EQ(part.SeenBytes("key", std::nullopt), std::nullopt) << "it is gone";
  EXPECT_EQ(part.SeenBytes("key", 7), std::nullopt);
}

// However many parts there are, those of the latest keys are known, and those of keys long ago make
// room.
TEST(SeenSizes, OfManyPartsTheLatestStay) {
  const auto seen = std::make_shared<SeenSizes>();
  constexpr size_t kAll = SeenSizes::kSlots;
  std::vector<std::unique_ptr<Part>> parts;
  for (uint32_t i = 0; i < 1000; ++i)
    parts.push_back(std::make_unique<Part>(kv::Tablet{kv::Space::kItems, i / 10}, i % 10, seen));
  const auto part = [&parts](size_t key) -> const Part& { return *parts[key % parts.size()]; };
  for (size_t key = 0; key < 4 * kAll; ++key)
    part(key).NoteSeen(std::to_string(key / parts.size()), key + 1, key);
  const auto known = [&](size_t from, size_t count) {
    size_t found = 0;
    for (size_t key = from; key < from + count; ++key) {
      const std::optional<size_t> bytes =
          part(key).SeenBytes(std::to_string(key / parts.size()), key + 1);
      if (bytes) {
        EXPECT_EQ(*bytes, key);
      }
      found += bytes ? 1 : 0;
    }
    return found;
  };
  EXPECT_GT(known(4 * kAll - 10'000, 10'000), 9'700u);
  EXPECT_LT(known(0, 10'000), 1'000u) << "e^-4 of them are where no other one came";
}

}  // namespace
}  // namespace stator::kv_rados
