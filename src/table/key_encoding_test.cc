#include "table/key_encoding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/random.h"
#include "expr/test_notation.h"

namespace stator::table {
namespace {

using model::ItemView;
using model::KeySchema;
using model::Type;
using model::ValueView;

constexpr uint64_t kSeed = 20261121;

std::string StringValue(std::string_view text) {
  std::string out;
  model::AppendString(&out, text);
  return out;
}
std::string BinaryValue(std::string_view bytes) {
  std::string out;
  model::AppendBinary(&out, bytes);
  return out;
}
std::string NumberValue(std::string_view text) {
  std::string out;
  model::AppendNumber(&out, model::Number::Parse(text).value());
  return out;
}

// Few distinct bytes, so that prefixes, zeros and 0xff meet often.
std::string AwkwardBytes(Random& random) {
  static constexpr char kBytes[] = {'\x00', '\x01', '\xff', '\xfe', 'a'};
  std::string out;
  for (uint64_t left = random.Below(7); left > 0; --left)
    out.push_back(kBytes[random.Below(sizeof(kBytes))]);
  return out;
}

std::string RandomNumberText(Random& random) {
  std::string text = random.Below(2) == 0 ? "-" : "";
  text += std::to_string(random.Below(3) == 0 ? random.Below(20) : random.Next());
  if (random.Below(2) == 0) text += "." + std::to_string(random.Below(1000));
  if (random.Below(2) == 0) text += "E" + std::to_string(static_cast<int>(random.Below(200)) - 110);
  return text;
}

std::string RandomValue(Random& random, Type type) {
  switch (type) {
    case Type::kN: return NumberValue(RandomNumberText(random));
    case Type::kB: return BinaryValue(AwkwardBytes(random));
    default: return StringValue(AwkwardBytes(random));
  }
}

int Sign(int order) { return order < 0 ? -1 : order > 0 ? 1 : 0; }

class SortOrder : public testing::TestWithParam<Type> {};
INSTANTIATE_TEST_SUITE_P(AllKeyTypes, SortOrder, testing::Values(Type::kS, Type::kN, Type::kB));

TEST_P(SortOrder, OfBytesIsTheOrderOfValuesWithinAPartition) {
  SeededRandom random(kSeed);
  const std::string prefix = EncodePartitionPrefix(ValueView(StringValue("p")));
  for (int i = 0; i < 20000; ++i) {
    const std::string a = RandomValue(random, GetParam());
    const std::string b = RandomValue(random, GetParam());
    std::string key_a = prefix, key_b = prefix;
    AppendSortKey(&key_a, ValueView(a));
    AppendSortKey(&key_b, ValueView(b));
    ASSERT_EQ(Sign(key_a.compare(key_b)), Sign(model::CompareValues(ValueView(a), ValueView(b))))
        << "seed " << kSeed << ", " << expr::notation::Show(ValueView(a)) << " and "
        << expr::notation::Show(ValueView(b));
    ASSERT_TRUE(key_a >= prefix && key_a < PrefixEnd(prefix)) << "seed " << kSeed;
  }
}

TEST_P(SortOrder, KeysOfOtherPartitionsNeverMixIn) {
  SeededRandom random(kSeed + 1);
  for (int i = 0; i < 20000; ++i) {
    const std::string a = RandomValue(random, GetParam());
    const std::string b = RandomValue(random, GetParam());
    const std::string prefix_a = EncodePartitionPrefix(ValueView(a));
    const std::string prefix_b = EncodePartitionPrefix(ValueView(b));
    if (a == b) {
      ASSERT_EQ(prefix_a, prefix_b);
      continue;
    }
    // Whatever sort key follows, no prefix is a prefix of the other.
    ASSERT_FALSE(prefix_a.starts_with(prefix_b)) << "seed " << kSeed;
    ASSERT_FALSE(prefix_b.starts_with(prefix_a)) << "seed " << kSeed;
  }
}

TEST(KeyEncoding, EqualNumbersWrittenDifferentlyAreOneKey) {
  for (const auto& [a, b] : std::vector<std::pair<const char*, const char*>>{
           {"1", "1.000"}, {"0", "-0"}, {"100", "1E2"}, {"0.5", "5e-1"}, {"-12.50", "-12.5"}}) {
    EXPECT_EQ(EncodePartitionPrefix(ValueView(NumberValue(a))),
              EncodePartitionPrefix(ValueView(NumberValue(b))))
        << a;
  }
}

TEST(KeyEncoding, ExtremeNumbersOrder) {
  const char* ascending[] = {
      "-9.9E+125", "-1E10",  "-1",   "-0.1",    "-1E-130",
      "0",         "1E-130", "0.1",  "1",       "1.0000000000000000000000000000000000001",
      "2",         "10",     "1E10", "9.9E+125"};
  std::string last;
  for (const char* text : ascending) {
    std::string key;
    AppendSortKey(&key, ValueView(NumberValue(text)));
    EXPECT_LT(last, key) << text;
    last = key;
  }
}

TEST(KeyEncoding, ComponentsThatConcatenateAlikeAreDifferentItems) {
  const KeySchema schema = {{"p", Type::kB}, model::KeyAttribute{"s", Type::kB}};
  SeededRandom random(kSeed + 2);
  std::map<std::string, std::pair<std::string, std::string>> seen;
  for (int i = 0; i < 20000; ++i) {
    const std::string p = AwkwardBytes(random), s = AwkwardBytes(random);
    std::string entries, item;
    model::AppendName(&entries, "p");
    model::AppendBinary(&entries, p);
    model::AppendName(&entries, "s");
    model::AppendBinary(&entries, s);
    model::AppendItem(&item, 2, entries);
    const auto [it, fresh] =
        seen.emplace(EncodeItemKey(schema, ItemView(item)), std::make_pair(p, s));
    ASSERT_TRUE(fresh || it->second == std::make_pair(p, s)) << "seed " << kSeed << ", " << i;
  }
}

TEST(KeyEncoding, PlaceInTheHashSpace) {
  SeededRandom random(kSeed + 3);
  std::vector<uint64_t> buckets(16);
  for (int i = 0; i < 4000; ++i) {
    const std::string key =
        EncodePartitionPrefix(ValueView(StringValue("user#" + std::to_string(i)))) +
        AwkwardBytes(random);
    const uint64_t hash = HashOfKey(key);
    ++buckets[hash >> 60];
    ASSERT_LE(FirstKeyOfHash(hash), key);
    ASSERT_TRUE(hash == UINT64_MAX || key < FirstKeyOfHash(hash + 1));
    ASSERT_LT(key, EndOfItemKeys());
    ASSERT_GE(key, FirstKeyOfHash(0));
    ASSERT_LT(key, EncodeCounterKey("count"));
  }
  // 250 expected in each; a hash that clusters would starve partitions.
  for (uint64_t count : buckets) {
    EXPECT_GT(count, 150u);
    EXPECT_LT(count, 350u);
  }
  EXPECT_LE(EndOfItemKeys(), EncodeCounterKey(""));
}

TEST(KeyEncoding, PrefixEndIsTheLeastKeyBehindThePrefix) {
  EXPECT_EQ(PrefixEnd(""), "");
  EXPECT_EQ(PrefixEnd("a"), "b");
  EXPECT_EQ(PrefixEnd(std::string_view("a\0", 2)), std::string_view("a\x01", 2));
  EXPECT_EQ(PrefixEnd("a\xff"), "b");
  EXPECT_EQ(PrefixEnd("a\xfe\xff\xff"), "a\xff");
  EXPECT_EQ(PrefixEnd("\xff\xff"), "");
  SeededRandom random(kSeed + 4);
  for (int i = 0; i < 20000; ++i) {
    const std::string prefix = AwkwardBytes(random);
    const std::string end = PrefixEnd(prefix);
    const std::string key =
        random.Below(2) == 0 ? prefix + AwkwardBytes(random) : AwkwardBytes(random);
    const bool inside = key >= prefix && (end.empty() || key < end);
    ASSERT_EQ(inside, key.starts_with(prefix)) << "seed " << kSeed << ", " << i;
  }
}

TEST(KeyEncoding, KeyAttributesAreAValidItemWithTheSameKey) {
  const std::string item = expr::notation::Item("{zebra: 'z', a: 1, b: x'q', n: [1, 2]}");
  const KeySchema schemas[] = {
      {{"zebra", Type::kS}, std::nullopt},
      {{"zebra", Type::kS}, model::KeyAttribute{"a", Type::kN}},  // the sort key's name sorts first
      {{"a", Type::kN}, model::KeyAttribute{"zebra", Type::kS}},
      {{"b", Type::kB}, model::KeyAttribute{"a", Type::kN}},
  };
  for (const KeySchema& schema : schemas) {
    const std::string key = model::KeyAttributesOf(schema, ItemView(item));
    ASSERT_TRUE(model::CheckItem(key).ok());
    EXPECT_EQ(ItemView(key).attributes().size(), schema.sort ? 2u : 1u);
    EXPECT_EQ(EncodeItemKey(schema, ItemView(key)), EncodeItemKey(schema, ItemView(item)));
    EXPECT_EQ(KeyAttributesOf(schema, ItemView(key)), key);
  }
}

TEST(KeyEncoding, ItemKeyIsDecodedToItsAttributes) {
  SeededRandom random(kSeed);
  constexpr Type kTypes[] = {Type::kS, Type::kN, Type::kB};
  for (int i = 0; i < 3000; ++i) {
    KeySchema schema;
    schema.partition = {"k", kTypes[random.Below(3)]};
    if (random.Below(3) != 0) {
      // Before and after the other one in the order of names.
      schema.sort = model::KeyAttribute{random.Below(2) == 0 ? "a" : "z", kTypes[random.Below(3)]};
    }
    std::vector<std::pair<std::string, std::string>> attributes;
    const auto add = [&](const model::KeyAttribute& attribute) {
      std::string value = RandomValue(random, attribute.type);
      // No attribute of a key is empty.
      while (ValueView(value).text().empty()) value = RandomValue(random, attribute.type);
      attributes.emplace_back(attribute.name, std::move(value));
    };
    add(schema.partition);
    if (schema.sort) add(*schema.sort);
    std::sort(attributes.begin(), attributes.end());
    std::string entries, item;
    for (const auto& [name, value] : attributes) {
      model::AppendName(&entries, name);
      entries.append(value);
    }
    model::AppendItem(&item, attributes.size(), entries);
    const std::string key = EncodeItemKey(schema, ItemView(item));
    EXPECT_EQ(DecodeItemKey(schema, key).value(), item);
    // A piece of it is another item's key or none, and never more than its bytes.
    for (size_t size = 0; size < key.size(); ++size)
      (void)DecodeItemKey(schema, std::string_view(key).substr(0, size)).ok();
  }
  EXPECT_FALSE(DecodeItemKey({{"k", Type::kS}, {}}, "").ok());
  EXPECT_FALSE(DecodeItemKey({{"k", Type::kS}, {}}, EncodeCounterKey("count")).ok());
}

}  // namespace
}  // namespace stator::table
