#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "model/node.h"
#include "model/number.h"
#include "model/value.h"

namespace stator::model {
namespace {

std::string Canonical(std::string_view text) {
  const Result<Number> number = Number::Parse(text);
  return number.ok() ? number->ToString() : "error: " + number.error().message();
}

TEST(NumberTest, CanonicalForm) {
  const std::pair<const char*, const char*> cases[] = {
      {"0", "0"},
      {"-0", "0"},
      {"0.000", "0"},
      {".5", "0.5"},
      {"5.", "5"},
      {"+5", "5"},
      {"1.5E2", "150"},
      {"1e3", "1000"},
      {"001.100", "1.1"},
      {"-1.50e-3", "-0.0015"},
      {"12345678901234567890123456789012345678", "12345678901234567890123456789012345678"},
  };
  for (const auto& [in, want] : cases) {
    EXPECT_EQ(Canonical(in), want) << in;
  }
  EXPECT_EQ(Canonical("1e-130"), "0." + std::string(129, '0') + "1");
  EXPECT_EQ(Canonical("1e125"), "1" + std::string(125, '0'));
  EXPECT_EQ(Canonical("1" + std::string(100, '0')), "1" + std::string(100, '0'));
  EXPECT_EQ(Canonical("9.9999999999999999999999999999999999999E+125"),
            "99999999999999999999999999999999999999" + std::string(88, '0'));
  EXPECT_EQ(Canonical("10000000000000000000"), "10000000000000000000");
  EXPECT_EQ(Canonical("100000000000000000010"), "100000000000000000010");
}

TEST(NumberTest, Refusals) {
  for (const char* bad : {"", "abc", "1 ", " 1", "1e", "1e+", "--1", "1.2.3", ".", "NaN",
                          "Infinity", "0x10", "1_0"}) {
    EXPECT_NE(Canonical(bad).find("cannot be converted to a numeric value"), std::string::npos)
        << bad;
  }
  EXPECT_EQ(Canonical(""), "error: The parameter cannot be converted to a numeric value");
  EXPECT_EQ(Canonical("x"), "error: The parameter cannot be converted to a numeric value: x");
  for (const char* big : {"1e126", "10e125", "0e126", "1e999999999999999999999"}) {
    EXPECT_NE(Canonical(big).find("Number overflow"), std::string::npos) << big;
  }
  EXPECT_EQ(Canonical("0.0e126"), "0");
  for (const char* small : {"1e-131", "0.1e-130", "-1e-999999999999"}) {
    EXPECT_NE(Canonical(small).find("Number underflow"), std::string::npos) << small;
  }
  EXPECT_NE(
      Canonical("123456789012345678901234567890123456789").find("more than 38 significant digits"),
      std::string::npos);
  EXPECT_NE(Canonical("1" + std::string(37, '0') + "1.5").find("more than 38"), std::string::npos);
}

TEST(NumberTest, Arithmetic) {
  const auto add = [](const char* a, const char* b) {
    const Result<Number> sum = Number::Add(*Number::Parse(a), *Number::Parse(b));
    return sum.ok() ? sum->ToString() : std::string("error");
  };
  EXPECT_EQ(add("0.1", "0.2"), "0.3");
  EXPECT_EQ(add("1e37", "1"), "10000000000000000000000000000000000001");
  EXPECT_EQ(add("1e38", "-1"), "99999999999999999999999999999999999999");
  EXPECT_EQ(add("1e38", "1"), "error");
  EXPECT_EQ(add("1e50", "1"), "error");
  EXPECT_EQ(add("9e125", "9e125"), "error");
  EXPECT_EQ(add("5", "-5"), "0");
  EXPECT_EQ(add("99999999999999999999999999999999999999", "1"), "1" + std::string(38, '0'));
  EXPECT_EQ(Number::Subtract(*Number::Parse("3"), *Number::Parse("10"))->ToString(), "-7");
}

TEST(NumberTest, SizeFollowsTheReference) {
  const std::pair<const char*, size_t> cases[] = {{"0", 1},         {"42", 2},    {"-42", 3},
                                                  {"0.0000001", 2}, {"1E125", 2}, {"100.5", 4},
                                                  {"1.05", 3},      {"1000", 2}};
  for (const auto& [text, size] : cases) EXPECT_EQ(Number::Parse(text)->SizeBytes(), size) << text;
}

TEST(NumberTest, SortableOrdersAsTheNumbersDo) {
  std::mt19937_64 random(7);
  std::vector<Number> numbers = {Number()};
  for (int i = 0; i < 2000; ++i) {
    std::string text = random() % 2 ? "-" : "";
    const int digits = 1 + static_cast<int>(random() % (i % 2 ? 38 : 3));
    for (int d = 0; d < digits; ++d) text.push_back(static_cast<char>('0' + random() % 10));
    text += "e" + std::to_string(static_cast<int>(random() % 200) - 120 - digits / 2);
    const Result<Number> number = Number::Parse(text);
    if (number.ok()) numbers.push_back(*number);
  }
  std::vector<std::pair<std::string, Number>> keyed;
  for (const Number& number : numbers) {
    std::string key;
    number.AppendSortable(&key);
    std::string_view in = key;
    const Result<Number> back = Number::ReadSortable(&in);
    ASSERT_TRUE(back.ok());
    EXPECT_EQ(*back, number);
    EXPECT_TRUE(in.empty());
    EXPECT_EQ(Number::FromCanonical(number.ToString()), number);
    keyed.emplace_back(key, number);
  }
  std::sort(keyed.begin(), keyed.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  for (size_t i = 1; i < keyed.size(); ++i) EXPECT_TRUE(keyed[i - 1].second <= keyed[i].second);
}

TEST(ValueTest, RoundTripAndFind) {
  std::string entries;
  AppendName(&entries, "a");
  AppendNumber(&entries, Number::FromInt(-7));
  AppendName(&entries, "b");
  std::string list;
  AppendString(&list, "x\"y");
  AppendBool(&list, true);
  AppendList(&entries, 2, list);
  AppendName(&entries, "c");
  AppendSet(&entries, Type::kNS, {"10", "9", "-1"});
  std::string item;
  AppendItem(&item, 3, entries);
  const ItemView view(item);
  ASSERT_TRUE(CheckItem(item).ok());
  EXPECT_EQ(view.Find("a").number().ToString(), "-7");
  EXPECT_EQ(view.Find("b").list().At(0).text(), "x\"y");
  EXPECT_FALSE(view.Find("b").list().At(0).plain());
  EXPECT_TRUE(view.Find("b").list().At(1).boolean());
  EXPECT_TRUE(view.Find("b").list().At(2).empty());
  EXPECT_TRUE(view.Find("bb").empty());
  std::vector<std::string> members;
  for (std::string_view member : view.Find("c").set()) members.emplace_back(member);
  EXPECT_EQ(members, (std::vector<std::string>{"-1", "9", "10"}));
  // a: 1 + 3; b: 1 + 3 + (1 + 3) + (1 + 1); c: 1 + 2 + 2 + 3
  EXPECT_EQ(view.size_bytes(), 4u + 10u + 8u);
  EXPECT_EQ(Node::FromMap(view.attributes()).EncodeItem(), item);
}

TEST(ValueTest, EditingCopiesTheRestThrough) {
  std::string inner;
  AppendName(&inner, "k");
  AppendString(&inner, "v");
  std::string entries;
  AppendName(&entries, "m");
  AppendMap(&entries, 1, inner);
  AppendName(&entries, "z");
  AppendNull(&entries);
  std::string item;
  AppendItem(&item, 2, entries);
  Node root = Node::FromMap(ItemView(item).attributes());
  ASSERT_TRUE(root.map()["m"].OpenMap());
  EXPECT_FALSE(root.map()["z"].OpenMap());
  std::string text;
  AppendString(&text, "w");
  root.map()["m"].map()["l"] = Node::FromOwned(text);
  const std::string edited = root.EncodeItem();
  ASSERT_TRUE(CheckItem(edited).ok());
  EXPECT_EQ(ItemView(edited).Find("m").map().Find("k").text(), "v");
  EXPECT_EQ(ItemView(edited).Find("m").map().Find("l").text(), "w");
  EXPECT_EQ(ItemView(edited).Find("z").type(), Type::kNull);
}

TEST(ValueTest, CheckItemRefusesDamage) {
  std::string entries;
  AppendName(&entries, "abc");
  AppendString(&entries, "some text that is long enough");
  std::string item;
  AppendItem(&item, 1, entries);
  ASSERT_TRUE(CheckItem(item).ok());
  for (size_t cut = 1; cut < item.size(); ++cut)
    EXPECT_FALSE(CheckItem(item.substr(0, cut)).ok()) << cut;
  EXPECT_FALSE(CheckItem(item + "x").ok());
}

TEST(ValueTest, JsonPlain) {
  EXPECT_TRUE(IsJsonPlain("hello world, this is ünïcode !#[]"));
  for (const char* bad : {"\"", "aaaaaaaaaaaa\\", "abc\ndefghijklmnop", "0123456\x1f"})
    EXPECT_FALSE(IsJsonPlain(bad)) << bad;
  EXPECT_FALSE(IsJsonPlain(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace stator::model
