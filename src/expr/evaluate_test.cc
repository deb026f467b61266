#include <gtest/gtest.h>

#include <random>

#include "expr/condition.h"
#include "expr/item_paths.h"
#include "expr/test_request.h"

namespace stator::expr {
namespace {

constexpr std::string_view kItem =
    "{pk: 'key', s: 'hello', n: 5, neg: -1.50, b: x'abc', b3: x'abd', ay: true, nay: false, nu: "
    "null, ss: <'x', 'y', 'z'>, ns: <1, 2, 30>,"
    " bs: <x'ab', x'cd'>, l: ['x', 1, ['x'], {a: 'x'}, null], l2: ['x', 1, ['x'], {a: 'x'}, null],"
    " m: {a: 'x', deep: {l: [10, 20, {z: 'end'}]}}, m2: {deep: {l: [10, 20, {z: 'end'}]}, a: 'x'},"
    " blank: '', el: [], em: {}, uni: '\xc3\xa9\xf0\x9f\x98\x80', one: 1, two: 2, low: 'a', cap: "
    "'B', a.b: 'dotted',"
    " t: 'BOOL', ss2: <'z', 'y', 'x'>, high: '\xef\xbf\xbf'}";

bool Holds(std::string_view text, std::string_view item = kItem) {
  const Result<Condition> condition = notation::ParseWithStock(text);
  if (!condition.ok()) {
    ADD_FAILURE() << text << ": " << condition.error().message();
    return false;
  }
  const std::string encoded = notation::Item(item);
  return Evaluate(*condition, model::ItemView(encoded));
}

TEST(EvaluateTest, Holds) {
  for (const char* text : {
           // = and <>
           // clang-format off
           "n = n2 OR one = :n", "one = :n", "s <> :s", "n <> s", "gone <> :s", "gone <> gone2",
           "l = l2", "m = m2", "ss = ss2", ":s = :s", "l <> m", "nu = l[4]", "ay <> nay",
           "m.deep.l[1] > :n", "m.a = l[0]", "#dot <> m.a", "l[1] = one", "l[3].a = m.a",
           // clang-format on
           // order
           // clang-format off
           "n > :n", "n >= :m", "neg < :n", "one < two", "cap < low", "s > cap", ":n < two",
           "b > :b", "n > neg", "blank < s", "uni < high OR uni > high", "one <= :n", "one >= :n",
           // clang-format on
           // BETWEEN
           "one BETWEEN :n AND :m",
           "two BETWEEN :n AND :m",
           "low BETWEEN cap AND s",
           ":n BETWEEN neg AND n",
           "b BETWEEN :b AND b2 OR b BETWEEN :c AND b3",
           // IN
           "one IN (:s, :n)",
           "ss IN (:n, ss2)",
           "m IN (m2)",
           "l[0] IN (:s)",
           // NOT
           "NOT one = two",
           "NOT gone = :s",
           "NOT gone > :s",
           "NOT attribute_exists(gone)",
           "NOT NOT one = :n",
           "NOT gone IN (:s)",
           "NOT gone BETWEEN :n AND :m",
           // functions
           // clang-format off
           "attribute_exists(s)", "attribute_exists(m.deep.l[2].z)", "attribute_exists(nu)",
           "attribute_exists(#dot)", "attribute_not_exists(m.b)", "attribute_not_exists(l[9])",
           "attribute_not_exists(s.x)", "attribute_not_exists(m[0])", "attribute_not_exists(l.a)",
           "attribute_not_exists(s[0])", "attribute_type(s, :S)", "attribute_type(ay, :BOOL)",
           "attribute_type(:t, :S)", "begins_with(:s, low2) OR begins_with(s, blank)",
           "begins_with(b, :b)", "begins_with(:s, :s)", "contains(s, blank)", "contains(b, :b)",
           "contains(ss, :s)", "contains(ns, :n)", "contains(bs, :b)", "contains(l, :s)",
           "contains(l, :l)", "contains(l, :map)", "contains(l, :null)", "contains(l, :n)",
           "contains(ns, one)", "contains(:ss, low)",
           // clang-format on
           "contains(l, size(uno)) OR contains(l, size(low))",
           // size
           // clang-format off
           "size(low) = :n", "size(uni) = size(ss)", "size(b) > :m", "size(ss) > :m",
           "size(ns) > :m", "size(bs) = :m", "size(l) = n", "size(m) = :m", "size(el) < :n",
           "size(em) < :n", "size(blank) < :n", "size(n) <> :n", "NOT size(n) = :n",
           "size(m) BETWEEN :n AND :m", "size(low) IN (:m, :n)", "one = size(low)",
           // clang-format on
           // AND and OR
           "one = :n AND two = :m",
           "one = :m OR two = :m",
           "one = :m OR two = :n OR one = :n",
           "(one = :m OR two = :m) AND one = :n",
           "one = :m AND one = :m OR one = :n",
       }) {
    EXPECT_TRUE(Holds(text)) << text;
  }
}

TEST(EvaluateTest, DoesNotHold) {
  for (const char* text : {
           // clang-format off
           "one = :m", "gone = gone2", "gone = :s", "one = :s", "s = low", "l = m", "one <> :n",
           "l <> l2", "gone < :s", "gone >= :s", "s > :n", "ay > nay", "ss > ss2", "l < l2",
           "n < s", "b > s", "b < s", "one BETWEEN :m AND :m", "s BETWEEN :n AND :m",
           "gone BETWEEN :n AND :m", "one BETWEEN s AND two", "one BETWEEN neg AND gone",
           "two BETWEEN n AND one", "ay BETWEEN nay AND ay2", "gone IN (:s, gone2)",
           "one IN (:s, :m)", "NOT gone <> :s", "NOT one = :n", "attribute_exists(m.b)",
           "attribute_not_exists(nu)", "attribute_type(gone, :S)", "attribute_type(n, :S)",
           "attribute_type(nay2, :BOOL)", "begins_with(s, low)", "begins_with(n, :s)",
           "begins_with(gone, :s)", "begins_with(b, s)", "begins_with(:b, s)",
           "begins_with(ss, :s)", "contains(s, :n)", "contains(s, b)", "contains(ss, :n)",
           "contains(ns, :s)", "contains(bs, :s)", "contains(m, :s)", "contains(n, :n)",
           "contains(gone, :s)", "contains(s, gone)", "contains(l, gone)", "contains(ss, :ss)",
           "contains(nu, :null)", "contains(ay, :bool)", "contains(el, :s)", "size(n) = :n",
           "size(ay) = :n", "size(nu) < :n", "size(gone) = :n", "size(gone) > :n", "size(s) = :s",
           "size(n) IN (:n)", "size(s) < :s", "one = :n AND two = :n", "one = :m OR two = :n",
           // clang-format on
       }) {
    EXPECT_FALSE(Holds(text)) << text;
  }
}

TEST(EvaluateTest, OnAMissingItemEveryPathIsMissing) {
  EXPECT_TRUE(Holds("attribute_not_exists(pk)", ""));
  EXPECT_FALSE(Holds("attribute_exists(pk)", ""));
  EXPECT_FALSE(Holds("pk = :s", ""));
  EXPECT_TRUE(Holds("pk <> :s", ""));
  EXPECT_TRUE(Holds("NOT pk = :s", ""));
  EXPECT_TRUE(Holds(":n < :m", ""));
}

TEST(EvaluateTest, TheAbsentConditionHolds) {
  EXPECT_TRUE(Evaluate(Condition(), model::ItemView()));
  EXPECT_TRUE(TopLevelAttributes(Condition()).empty());
}

TEST(EvaluateTest, ExactNumbers) {
  // Beyond what a double can tell apart.
  EXPECT_TRUE(Holds("v < :big", "{v: 99999999999999999999999999999999999998}"));
  EXPECT_TRUE(Holds("v = :big", "{v: 9.9999999999999999999999999999999999999e37}"));
  EXPECT_TRUE(Holds("v <> w AND v < w", "{v: 0.1, w: 0.10000000000000000000000000000000000001}"));
}

TEST(EvaluateTest, TopLevelAttributesOnceInOrder) {
  const Result<Condition> condition = notation::ParseWithStock(
      "c.d = :s AND (NOT contains(#a, b[1]) OR size(c) > :n) AND #dot = z");
  ASSERT_TRUE(condition.ok());
  EXPECT_EQ(TopLevelAttributes(*condition), (std::vector<std::string>{"c", "a", "b", "a.b", "z"}));
}

// The compiled form owns what it needs.
TEST(EvaluateTest, OutlivesTheRequest) {
  Condition copy;
  {
    auto text = std::make_unique<std::string>("begins_with(#a, :s)");
    Substitutions subs = notation::StockFor(*text);
    copy = ParseCondition(*text, Role::kFilter, &subs).value();
  }
  const std::string item = notation::Item("{a: 'xyz'}");
  EXPECT_TRUE(Evaluate(copy, model::ItemView(item)));
}

TEST(EvaluateTest, DeeplyNestedButAllowed) {
  std::string text = "a = :s";
  for (int i = 0; i < 149; ++i) text = "(NOT " + text + ")";
  EXPECT_EQ(Holds(text, "{a: 'x'}"), false);
  std::string ladder = "a = :s";
  for (int i = 0; i < 100; ++i) ladder = "b = :s OR (" + ladder + ")";
  EXPECT_TRUE(Holds(ladder, "{a: 'x'}"));
}

std::string StringValue(std::string_view text) {
  std::string encoded;
  model::AppendString(&encoded, text);
  return encoded;
}

std::string ItemOf(const std::vector<std::pair<std::string, std::string>>& sorted) {
  std::string entries;
  for (const auto& [name, value] : sorted) {
    model::AppendName(&entries, name);
    entries.append(value);
  }
  std::string item;
  model::AppendItem(&item, sorted.size(), entries);
  return item;
}

Condition ParseWith(const std::string& text,
                    std::vector<std::pair<std::string, std::string>> values) {
  Substitutions subs;
  EXPECT_TRUE(subs.SetValues(std::move(values)).ok());
  Result<Condition> condition = ParseCondition(text, Role::kCondition, &subs);
  if (!condition.ok()) {
    ADD_FAILURE() << condition.error().message();
    return Condition();
  }
  return *std::move(condition);
}

// The costliest condition that fits into 4 KB and 300 operators, on the costliest item: it takes
// 0.3 s, and 129 s for a third of the operators if one search costs the product of both sizes.
TEST(EvaluateTest, CostliestConditionStaysWithinItsBound) {
  const std::string item = ItemOf({{"x", StringValue(std::string(400'000, 'a'))}});
  std::string text = "contains(x,:v)";
  for (int i = 0; i < 149; ++i) text += " OR contains(x,:v)";
  const Condition condition =
      ParseWith(text, {{":v", StringValue(std::string(200'000, 'a') + "b")}});
  uint64_t steps = 0;
  EXPECT_FALSE(Evaluate(condition, model::ItemView(item), &steps));
  EXPECT_GT(steps, 150u * 400'000);
  EXPECT_LE(steps, MostSteps(condition, item.size()));
  // One stored copy of the value, though 150 operands name it.
  EXPECT_LT(condition.tree()->tree.text.size(), 210'000u);
}

TEST(EvaluateTest, ContainsFindsPartsOfEverySize) {
  std::mt19937 random(7);
  std::string whole;
  for (int i = 0; i < 5000; ++i) whole.push_back("ab"[random() % 2]);
  const std::string item = ItemOf({{"x", StringValue(whole)}});
  for (const size_t size : {0u, 1u, 2u, 3u, 17u, 200u, 255u, 256u, 257u, 1000u, 4999u, 5000u}) {
    std::string part = whole.substr(random() % (whole.size() - size + 1), size);
    EXPECT_TRUE(
        Evaluate(ParseWith("contains(x,:v)", {{":v", StringValue(part)}}), model::ItemView(item)))
        << size;
    part += "c";
    EXPECT_FALSE(
        Evaluate(ParseWith("contains(x,:v)", {{":v", StringValue(part)}}), model::ItemView(item)))
        << size;
  }
}

TEST(EvaluateTest, PathsOfLargeItemsAreFoundAsInSmallOnes) {
  // 40 names of each first letter, with lists and maps in them.
  std::string notation = "{";
  for (char letter = 'a'; letter <= 'z'; ++letter) {
    for (int i = 10; i < 50; ++i) {
      notation += std::string(1, letter) + std::to_string(i) + ": ";
      notation += i % 3 == 0   ? "[1, {k: 'v', m: [2, 3]}, null]"
                  : i % 3 == 1 ? "{l: [0, 'x']}"
                               : "7";
      notation += ", ";
    }
  }
  const std::string item = notation::Item(notation + "zz: 1}");
  ASSERT_GT(item.size(), 4096u);
  std::mt19937 random(11);
  std::string text = "attribute_exists(n)";
  const char* const tails[] = {"",      "[1].k", "[1].m[1]", "[2]",  "[3]",
                               ".l[1]", ".l[2]", ".k",       "[0].k"};
  for (int i = 0; i < 100; ++i) {
    text += std::string(" OR attribute_exists(") + static_cast<char>('a' + random() % 26) +
            std::to_string(10 + random() % 41) + tails[random() % std::size(tails)] + ")";
  }
  Substitutions subs;
  const Condition condition = ParseCondition(text, Role::kCondition, &subs).value();
  const Tree& tree = condition.tree()->tree;
  ItemPaths paths(tree, model::ItemView(item));
  int found = 0;
  for (const Node& node : tree.nodes) {
    if (node.op != Op::kPath) continue;
    const model::ValueView want = Lookup(tree, node, model::ItemView(item));
    const model::ValueView got = paths.Find(node);
    ASSERT_EQ(want.empty(), got.empty()) << DescribePath(tree, node);
    if (want.empty()) continue;
    ++found;
    EXPECT_EQ(want.encoded().data(), got.encoded().data()) << DescribePath(tree, node);
  }
  EXPECT_GT(found, 8);
  EXPECT_LE(paths.steps(), ItemPaths::MostSteps(tree, item.size()));
}

TEST(EvaluateTest, TopLevelAttributesKeepTheirOrder) {
  std::string text = "a0.b = a0";
  std::vector<std::string> want = {"a0"};
  for (int i = 1; i < 100; ++i) {
    const std::string name = "a" + std::to_string(i * 37 % 50);
    text += " OR " + name + ".b = " + name;
    if (std::find(want.begin(), want.end(), name) == want.end()) want.push_back(name);
  }
  Substitutions subs;
  EXPECT_EQ(TopLevelAttributes(ParseCondition(text, Role::kCondition, &subs).value()), want);
}

}  // namespace
}  // namespace stator::expr
