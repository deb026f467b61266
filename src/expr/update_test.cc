#include <gtest/gtest.h>

#include <random>

#include "expr/test_request.h"
#include "expr/update.h"

namespace stator::expr {
namespace {

Result<Update> Parse(std::string_view text) {
  Substitutions subs = notation::StockFor(text);
  return ParseUpdate(text, &subs);
}

// The item after the update as notation, or the error.
std::string Apply(std::string_view text, std::string_view item,
                  std::string_view key = "{pk: 'k'}") {
  const Result<Update> update = Parse(text);
  if (!update.ok()) return update.error().message();
  const std::string old_item = notation::Item(item);
  const std::string key_item = notation::Item(key);
  const Result<Updated> updated =
      ApplyUpdate(*update, model::ItemView(old_item), model::ItemView(key_item));
  if (!updated.ok()) return updated.error().message();
  EXPECT_TRUE(updated->item.empty() || model::CheckItem(updated->item).ok()) << text;
  // Canonical: the same bytes as if the item had been written so.
  const std::string shown = notation::Show(model::ItemView(updated->item));
  EXPECT_EQ(notation::Item(shown), updated->item) << text;
  return shown;
}

const std::string kMissing =
    "The provided expression refers to an attribute that does not exist in the item";
const std::string kWrongType = "An operand in the update expression has an incorrect data type";
const std::string kInvalidPath =
    "The document path provided in the update expression is invalid for update";

struct Case {
  std::string text;
  std::string item;
  std::string want;
};

void Check(const std::vector<Case>& cases) {
  for (const Case& c : cases)
    EXPECT_EQ(Apply(c.text, c.item), c.want) << c.text << " on " << c.item;
}

TEST(UpdateTest, Set) {
  Check({
      {"SET a = :s", "{pk: 1}", "{a: 'x', pk: 1}"},
      {"SET z = :s", "{pk: 1}", "{pk: 1, z: 'x'}"},
      {"SET a = :s", "{a: 5, b: 6}", "{a: 'x', b: 6}"},
      {"SET a = b", "{b: [1]}", "{a: [1], b: [1]}"},
      {"SET a = b, b = a", "{a: 1, b: 2}", "{a: 2, b: 1}"},
      {"SET a = b", "{a: 1}", kMissing},
      {"SET a = b.c.d", "{b: {c: 1}}", kMissing},
      {"SET a = b + :n", "{b: 41}", "{a: 42, b: 41}"},
      {"SET a = (b) - (:m)", "{b: 1.5}", "{a: -0.5, b: 1.5}"},
      {"SET a = (a + :n)", "{a: 1}", "{a: 2}"},
      {"SET a = a+:n", "{a: 99999999999999999999999999999999999999}",
       "{a: 1" + std::string(38, '0') + "}"},
      {"SET a = :n + b", "{b: 's'}", kWrongType},
      {"SET a = b + :n", "{b: <1>}", kWrongType},
      {"SET a = b + :n", "{pk: 1}", kMissing},
      {"SET a = if_not_exists(a, :n)", "{a: 7}", "{a: 7}"},
      {"SET a = if_not_exists(a, :n)", "{pk: 7}", "{a: 1, pk: 7}"},
      {"SET a = if_not_exists(b, c)", "{c: 7}", "{a: 7, c: 7}"},
      {"SET a = if_not_exists(b, c)", "{pk: 7}", kMissing},
      {"SET a = if_not_exists(b.x, if_not_exists(c, :s))", "{b: 1}", "{a: 'x', b: 1}"},
      {"SET a = if_not_exists(a, :n) + :m", "{pk: 1}", "{a: 3, pk: 1}"},
      {"SET a = if_not_exists(a, (:n))", "{pk: 1}", "{a: 1, pk: 1}"},
      {"SET a = list_append(a, :l)", "{a: [1]}", "{a: [1, 'x']}"},
      {"SET a = list_append(:l, a)", "{a: [1]}", "{a: ['x', 1]}"},
      {"SET a = list_append(:l, :l)", "{pk: 1}", "{a: ['x', 'x'], pk: 1}"},
      {"SET a = list_append(if_not_exists(a, :l), :l)", "{pk: 1}", "{a: ['x', 'x'], pk: 1}"},
      {"SET a = list_append(a, :l)", "{a: 's'}", kWrongType},
      {"SET a = list_append(a, :l)", "{pk: 1}", kMissing},
      {"SET a = list_append(:l, if_not_exists(b, :s))", "{pk: 1}", kWrongType},
      {"set #dot = :s", "{pk: 1}", "{a.b: 'x', pk: 1}"},
  });
  EXPECT_TRUE(Apply("ADD a :big", "{a: 0.1}").starts_with("Number overflow"));
}

TEST(UpdateTest, Documents) {
  Check({
      {"SET m.x = :s", "{m: {x: 1, y: 2}}", "{m: {x: 'x', y: 2}}"},
      {"SET m.a = :s, m.z.q = :t", "{m: {x: 1, z: {}}}", "{m: {a: 'x', x: 1, z: {q: 'y'}}}"},
      {"SET m.x = :s", "{pk: 1}", kInvalidPath},
      {"SET m.x.y = :s", "{m: {}}", kInvalidPath},
      {"SET m.x = :s", "{m: [1]}", kInvalidPath},
      {"SET m[0] = :s", "{m: {x: 1}}", kInvalidPath},
      {"SET s.x = :s", "{s: 'str'}", kInvalidPath},
      {"SET ss[0] = :s", "{ss: <1>}", kInvalidPath},
      {"SET l[1] = :s", "{l: [0, 1, 2]}", "{l: [0, 'x', 2]}"},
      {"SET l[9] = :s, l[7] = :t", "{l: [0, 1, 2]}", "{l: [0, 1, 2, 'y', 'x']}"},
      {"SET l[3] = l[0], l[4] = n", "{l: [0, 1, 2], n: 5}", "{l: [0, 1, 2, 0, 5], n: 5}"},
      {"SET l[0].x = :s", "{l: [{x: 1}, 2]}", "{l: [{x: 'x'}, 2]}"},
      {"SET l[7].x = :s", "{l: [0]}", kInvalidPath},
      {"SET l[0] = :s", "{pk: 1}", kInvalidPath},
      {"SET l[0][1] = :s", "{l: [[1, 2]]}", "{l: [[1, 'x']]}"},
      {"SET m.y = m", "{m: {x: 1}}", "{m: {x: 1, y: {x: 1}}}"},
      {"REMOVE l[0] SET l[2] = :s, l[5] = :t", "{l: [0, 1, 2]}", "{l: [1, 'x', 'y']}"},
      {"SET a = l[0] REMOVE l", "{l: [7]}", "{a: 7}"},
      // Missing operands come before invalid targets.
      {"SET m.y = q.z, q.r = :t", "{m: {}}", kMissing},
  });
}

TEST(UpdateTest, Remove) {
  Check({
      {"REMOVE a", "{a: 1, b: 2}", "{b: 2}"},
      {"REMOVE a, c", "{a: 1, b: 2}", "{b: 2}"},
      {"REMOVE l[0], l[2]", "{l: [0, 1, 2]}", "{l: [1]}"},
      {"REMOVE l[9]", "{l: [0]}", "{l: [0]}"},
      {"REMOVE l[0]", "{l: [0]}", "{l: []}"},
      {"REMOVE m.x", "{m: {x: 1}}", "{m: {}}"},
      {"REMOVE m.q", "{m: {x: 1}}", "{m: {x: 1}}"},
      {"REMOVE m.q.r", "{m: {x: 1}}", kInvalidPath},
      {"REMOVE x.y", "{pk: 1}", kInvalidPath},
      {"REMOVE x[0]", "{pk: 1}", kInvalidPath},
      {"REMOVE s.x", "{s: 'str'}", kInvalidPath},
      {"REMOVE m[0]", "{m: {}}", kInvalidPath},
      {"REMOVE l[9].x", "{l: []}", kInvalidPath},
      {"REMOVE l[0].x, l[1]", "{l: [{x: 1, y: 2}, 5, 6]}", "{l: [{y: 2}, 6]}"},
  });
}

TEST(UpdateTest, Add) {
  Check({
      {"ADD n :n", "{n: 5}", "{n: 6}"},
      {"ADD n :n", "{pk: 5}", "{n: 1, pk: 5}"},
      {"ADD n :n", "{n: 's'}", kWrongType},
      {"ADD n :n", "{n: null}", kWrongType},
      {"ADD l :n", "{l: [1]}", kWrongType},
      {"ADD ns :ns", "{ns: <2, 10>}", "{ns: <1, 2, 10>}"},
      {"ADD ss :ss", "{ss: <'c'>}", "{ss: <'a', 'b', 'c'>}"},
      {"ADD bs :bs", "{bs: <x'zz'>}", "{bs: <x'ab', x'zz'>}"},
      {"ADD ss :ss", "{pk: 1}", "{pk: 1, ss: <'a', 'b'>}"},
      {"ADD ss :ns", "{ss: <'c'>}", kWrongType},
      {"ADD n :ns", "{n: 1}", kWrongType},
      {"ADD m.x :n, m.w :n", "{m: {x: 1}}", "{m: {w: 1, x: 2}}"},
      {"ADD l[1] :n, l[9] :m", "{l: [0, 1]}", "{l: [0, 2, 2]}"},
      {"ADD q.r :n", "{pk: 1}", kInvalidPath},
  });
}

TEST(UpdateTest, Delete) {
  Check({
      {"DELETE ss :ss", "{ss: <'a', 'c'>}", "{ss: <'c'>}"},
      {"DELETE ss :ss", "{ss: <'a', 'b'>, z: 1}", "{z: 1}"},
      {"DELETE ss :ss", "{ss: <'q'>}", "{ss: <'q'>}"},
      {"DELETE ns :ns", "{ns: <1, 2, 3>}", "{ns: <3>}"},
      {"DELETE q :ss", "{pk: 1}", "{pk: 1}"},
      {"DELETE ns :ss", "{ns: <1>}", kWrongType},
      {"DELETE n :ns", "{n: 1}", kWrongType},
      {"DELETE m.q :ns", "{m: {}}", "{m: {}}"},
      {"DELETE l[9] :ns", "{l: [0]}", "{l: [0]}"},
      {"DELETE l[0] :ns", "{l: [<1, 2>, 5]}", "{l: [5]}"},
      {"DELETE m.q.r :ns", "{m: {}}", kInvalidPath},
  });
}

TEST(UpdateTest, AllClausesTogether) {
  EXPECT_EQ(Apply("delete d :ss ADD c :n REMOVE b SET a = :s", "{b: 1, c: 1, d: <'a', 'z'>, e: 9}"),
            "{a: 'x', c: 2, d: <'z'>, e: 9}");
}

TEST(UpdateTest, OnAMissingItem) {
  Check({
      {"SET a = :s", "", "{a: 'x', pk: 'k'}"},
      {"SET a = pk", "", "{a: 'k', pk: 'k'}"},
      {"SET a = if_not_exists(pk, :n)", "", "{a: 'k', pk: 'k'}"},
      {"SET a = b", "", kMissing},
      {"SET a.b = :s", "", kInvalidPath},
      {"ADD a :n", "", "{a: 1, pk: 'k'}"},
      {"ADD a.b :n", "", kInvalidPath},
      {"DELETE a :ss", "", "{pk: 'k'}"},
      {"REMOVE a", "", ""},
      {"REMOVE a.b, c[3].d", "", ""},
      {"REMOVE a.b SET c = :s", "", "{c: 'x', pk: 'k'}"},
  });
  const std::string key = notation::Item("{pk: 'k'}");
  const Result<Updated> removed =
      ApplyUpdate(Parse("REMOVE a").value(), model::ItemView(), model::ItemView(key));
  ASSERT_TRUE(removed.ok());
  EXPECT_TRUE(removed->removes_only_on_missing_item);
  const Result<Updated> nothing = ApplyUpdate(Update(), model::ItemView(), model::ItemView(key));
  ASSERT_TRUE(nothing.ok());
  EXPECT_EQ(nothing->item, key);
  EXPECT_FALSE(nothing->removes_only_on_missing_item);
}

TEST(UpdateTest, Nesting) {
  // 32 levels of maps with the item: one more is too much, even an empty one; a scalar is not.
  std::string item = "{}";
  std::string path;
  for (int i = 0; i < 31; ++i) {
    item = "{a: " + item + "}";
    path += path.empty() ? "a" : ".a";
  }
  EXPECT_TRUE(Apply("SET " + path + ".z = :s", item).starts_with("{a: "));
  const std::string too_deep =
      "Nesting Levels have exceeded supported limits: Attributes in the item have nested levels "
      "beyond supported limit";
  EXPECT_EQ(Apply("SET " + path + ".z = :map", item), too_deep);
  EXPECT_EQ(Apply("SET " + path + ".z = e", item.substr(0, item.size() - 1) + ", e: {}}"),
            too_deep);
  EXPECT_TRUE(
      Apply("SET " + path.substr(2) + ".z = e", item.substr(0, item.size() - 1) + ", e: {}}")
          .starts_with("{a: "));
}

TEST(UpdateTest, ParseErrors) {
  const std::string invalid = "Invalid UpdateExpression: ";
  auto syntax = [](std::string_view token, std::string_view near) {
    return "Syntax error; token: \"" + std::string(token) + "\", near: \"" + std::string(near) +
           "\"";
  };
  auto overlap = [](std::string_view one, std::string_view two) {
    return "Two document paths overlap with each other; must remove or rewrite one of these paths; "
           "path one: " +
           std::string(one) + ", path two: " + std::string(two);
  };
  auto add_type = [](std::string_view clause, std::string_view type) {
    return "Incorrect operand type for operator or function; operator: " + std::string(clause) +
           ", operand type: " + std::string(type);
  };
  const std::string type =
      "Incorrect operand type for operator or function; operator or function: ";
  const std::string count =
      "Incorrect number of operands for operator or function; operator or function: ";
  const std::string misused =
      "The function is not allowed to be used this way in an expression; function: list_append";
  const std::string redundant = "The expression has redundant parentheses;";
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "The expression can not be empty;"},
      {std::string(4097, 'S'),
       "Expression size has exceeded the maximum allowed size; expression size: 4097"},
      {"SET", syntax("<EOF>", "SET")},
      {"SET a", syntax("<EOF>", "a")},
      {"SET a =", syntax("<EOF>", "=")},
      {"SET a = :s,", syntax("<EOF>", ",")},
      {"SET a :s", syntax(":s", "a :s")},
      {"SET :s = a", syntax(":s", "SET :s =")},
      {"SET (a) = :s", syntax("(", "SET (a")},
      {"SET a = :n + :m + :n", syntax("+", ":m + :n")},
      {"SET a = (:n + :m) + :n", syntax("+", ") + :n")},
      {"SET a = :n + (:n + :m)", syntax("+", ":n + :m")},
      {"SET a = :n + + :n", syntax("+", "+ + :n")},
      {"SET a = -:n", syntax("-", "= -:n")},
      {"SET a = if_not_exists(b, :n + :m)", syntax("+", ":n + :m")},
      {"SET a = :s = :t", syntax("=", ":s = :t")},
      {"SET a = :s AND b", syntax("AND", ":s AND b")},
      {"SET a = NOT :s", syntax("NOT", "= NOT :s")},
      {"SET a = :l[0]", syntax("[", ":l[0")},
      {"SET a = (:s", syntax("<EOF>", ":s")},
      {"SET a = (:s, b = :t)", syntax(",", ":s, b")},
      {"SET a = :s WHERE b", syntax("WHERE", ":s WHERE b")},
      {"SET a = :s REMOVE", syntax("<EOF>", "REMOVE")},
      {"REMOVE a b", syntax("b", "a b")},
      {"REMOVE a = :s", syntax("=", "a = :s")},
      {"ADD a", syntax("<EOF>", "a")},
      {"ADD a b", syntax("b", "a b")},
      {"ADD a (:n)", syntax("(", "a (:n")},
      {"ADD a :n b :ss", syntax("b", ":n b :ss")},
      {"ADD a if_not_exists(b, :n)", syntax("if_not_exists", "a if_not_exists(")},
      {"FOO a = :s", syntax("FOO", "FOO a")},
      {"SET a = ((:n + :m))", redundant},
      {"SET a = ((:n)) + :m", redundant},
      {"SET a = if_not_exists(b, ((:n)))", redundant},
      {"SET abort = :s", "Attribute name is a reserved keyword; reserved keyword: abort"},
      {"SET a = foo(b)", "Invalid function name; function: foo"},
      {"SET a = size(b)", "The function is not allowed in an update expression; function: size"},
      {"SET a = attribute_exists(b)",
       "The function is not allowed in an update expression; function: attribute_exists"},
      {"SET a = list_append(list_append(:l, :l), :l)", misused},
      {"SET a = list_append(b, list_append(c, :l))", misused},
      {"SET a = if_not_exists(b, list_append(:l, :l))", misused},
      {"SET a = list_append(b, :l) + :n", misused},
      {"SET a = :s SET b = :s",
       "The \"SET\" section can only be used once in an update expression;"},
      {"remove a set b = :s REMOVE c",
       "The \"REMOVE\" section can only be used once in an update expression;"},
      {"ADD a :n ADD b :n", "The \"ADD\" section can only be used once in an update expression;"},
      {"DELETE a :ss DELETE b :ss",
       "The \"DELETE\" section can only be used once in an update expression;"},
      {"SET #x = :s",
       "An expression attribute name used in the document path is not defined; attribute name: #x"},
      {"SET a = :x",
       "An expression attribute value used in expression is not defined; attribute value: :x"},
      {"SET a = :x, b = #x",
       "An expression attribute name used in the document path is not defined; attribute name: #x"},
      {"SET a = :s, a = :t", overlap("[a]", "[a]")},
      {"SET a = :s, a.b = :t", overlap("[a]", "[a, b]")},
      {"SET a.b = :s REMOVE a", overlap("[a, b]", "[a]")},
      {"SET a = :s, #a = :t", overlap("[a]", "[a]")},
      {"SET a[1].b = :s REMOVE a[1].b.c", overlap("[a, [1], b]", "[a, [1], b, c]")},
      {"SET a.b = :s, a[0] = :t",
       "Two document paths conflict with each other; must remove or rewrite one of these paths; "
       "path one: [a, b], path two: "
       "[a, [0]]"},
      {"ADD a :s", add_type("ADD", "STRING")},
      {"ADD a :b", add_type("ADD", "BINARY")},
      {"ADD a :l", add_type("ADD", "LIST")},
      {"ADD a :map", add_type("ADD", "MAP")},
      {"ADD a :bool", add_type("ADD", "BOOLEAN")},
      {"ADD a :null", add_type("ADD", "NULL")},
      {"DELETE a :n", add_type("DELETE", "NUMBER")},
      {"DELETE a :s", add_type("DELETE", "STRING")},
      {"SET a = :s + :n", type + "+, operand type: S"},
      {"SET a = :n - :ss", type + "-, operand type: SS"},
      {"SET a = list_append(:s, :l)", type + "list_append, operand type: S"},
      {"SET a = list_append(:l, :n)", type + "list_append, operand type: N"},
      {"SET a = list_append(:l)", count + "list_append, number of operands: 1"},
      {"SET a = if_not_exists(b)", count + "if_not_exists, number of operands: 1"},
      {"SET a = if_not_exists(b, :s, :s)", count + "if_not_exists, number of operands: 3"},
      {"SET a = if_not_exists(:s, :n)",
       "Operator or function requires a document path; operator or function: if_not_exists"},
      // Of several mistakes.
      {"SET abort = foo(:x)", "Attribute name is a reserved keyword; reserved keyword: abort"},
      {"SET a = foo(:x) SET b = :s", "Invalid function name; function: foo"},
      {"SET a = :x SET b = :s",
       "The \"SET\" section can only be used once in an update expression;"},
      {"ADD a :s, b :x",
       "An expression attribute value used in expression is not defined; attribute value: :x"},
      {"SET a = :s + :n, a = :t", overlap("[a]", "[a]")},
      {"SET a = " + notation::Repeat("if_not_exists(b,", "", 200) + ":s" + std::string(200, ')'),
       ""},
      {"SET a = ((((((((", syntax("<EOF>", "(")},
      {"SET a = " + std::string(2000, '(') + ":s" + std::string(2000, ')'), redundant},
  };
  for (const auto& [text, error] : cases) {
    const Result<Update> update = Parse(text);
    EXPECT_EQ(update.ok() ? "" : update.error().message(), error.empty() ? "" : invalid + error)
        << text.substr(0, 200);
  }
}

TEST(UpdateTest, Facts) {
  const Update mixed =
      Parse("SET a.b = :s, #dot = :t REMOVE c, d[0] ADD e :n DELETE f :ss").value();
  EXPECT_EQ(TargetAttributes(mixed), (std::vector<std::string>{"a", "a.b", "c", "d", "e", "f"}));
  EXPECT_EQ(ValueWritingActions(mixed), 3);
  EXPECT_EQ(ClearingActions(mixed), 3);
  EXPECT_FALSE(OnlyRemoves(mixed));
  EXPECT_TRUE(OnlyRemoves(Parse("REMOVE a, b").value()));
  EXPECT_FALSE(OnlyRemoves(Parse("DELETE a :ss").value()));
  EXPECT_FALSE(OnlyRemoves(Update()));
  EXPECT_EQ(ValueWritingActions(Update()), 0);
  EXPECT_TRUE(TargetAttributes(Update()).empty());
}

TEST(UpdateTest, UpdatedFragments) {
  struct Row {
    std::string text, item, old_fragments, new_fragments;
  };
  const std::vector<Row> rows = {
      {"SET l[1] = :s", "{l: [0, 1, 2]}", "{l: [1]}", "{l: ['x']}"},
      {"SET l[9] = :s", "{l: [0, 1, 2]}", "", ""},
      {"REMOVE l[1]", "{l: [0, 1, 2]}", "{l: [1]}", "{l: [2]}"},
      {"REMOVE l[0], l[2]", "{l: [0, 1, 2]}", "{l: [0, 2]}", "{l: [1]}"},
      {"SET m.x = :s, m.y.z = :t", "{m: {x: 1, y: {z: 2, w: 3}, v: 4}}", "{m: {x: 1, y: {z: 2}}}",
       "{m: {x: 'x', y: {z: 'y'}}}"},
      {"REMOVE m.x", "{m: {x: 1, y: 2}}", "{m: {x: 1}}", ""},
      {"SET q = :s", "{pk: 1}", "", "{q: 'x'}"},
      {"ADD n :n", "{n: 5, z: 1}", "{n: 5}", "{n: 6}"},
      {"DELETE ss :ss", "{ss: <'a', 'b'>}", "{ss: <'a', 'b'>}", ""},
      {"SET a = :s", "", "", "{a: 'x'}"},
      {"REMOVE a", "", "", ""},
  };
  const std::string key = notation::Item("{pk: 'k'}");
  for (const Row& row : rows) {
    const Update update = Parse(row.text).value();
    const std::string old_item = notation::Item(row.item);
    const Result<Updated> updated =
        ApplyUpdate(update, model::ItemView(old_item), model::ItemView(key));
    ASSERT_TRUE(updated.ok()) << row.text;
    EXPECT_EQ(UpdatedFragments(update, model::ItemView(old_item)),
              notation::Item(row.old_fragments))
        << row.text;
    EXPECT_EQ(UpdatedFragments(update, model::ItemView(updated->item)),
              notation::Item(row.new_fragments))
        << row.text;
  }
}

// `text` with :v, on an item without attributes but its key: the new item's size, or the error.
std::string ApplyValue(const std::string& text, const std::string& value,
                       std::string_view item = "{pk: 'k'}") {
  Substitutions subs;
  EXPECT_TRUE(subs.SetValues({{":v", value}}).ok());
  const Result<Update> update = ParseUpdate(text, &subs);
  if (!update.ok()) return update.error().message();
  EXPECT_LT(update->tree()->tree.text.size(), text.size() + value.size() + 1) << "stored once";
  const std::string old_item = notation::Item(item);
  const Result<Updated> updated =
      ApplyUpdate(*update, model::ItemView(old_item), model::ItemView(old_item));
  if (!updated.ok()) return updated.error().message();
  EXPECT_TRUE(model::CheckItem(updated->item).ok());
  return std::to_string(model::ItemView(updated->item).size_bytes());
}

std::string Times(int count, const std::string& section, const std::string& value) {
  std::string text = section + " l0 " + value;
  for (int i = 1; i < count; ++i) text += ", l" + std::to_string(i) + " " + value;
  return text;
}

TEST(UpdateTest, ValuesThatAreTooLargeAreNotCopied) {
  std::string text_value, list, set;
  model::AppendString(&text_value, std::string(2'000'000, 'x'));
  std::string element;
  model::AppendString(&element, std::string(300'000, 'x'));
  model::AppendList(&list, 1, element);
  std::vector<std::string> texts;
  for (int i = 0; i < 150'000; ++i) texts.push_back(std::to_string(100'000 + i));
  model::AppendSet(&set, model::Type::kSS, {texts.begin(), texts.end()});
  const std::string too_large(kUpdatedItemTooLarge);
  EXPECT_EQ(ApplyValue(Times(290, "SET", "= :v"), text_value), too_large);
  EXPECT_EQ(ApplyValue(Times(140, "SET", "= list_append(:v, :v)"), list), too_large);
  EXPECT_EQ(ApplyValue(Times(100, "SET", "= if_not_exists(gone, :v)"), list), too_large);
  EXPECT_EQ(ApplyValue(Times(290, "ADD", ":v"), set), too_large);
  EXPECT_EQ(ApplyValue("ADD s :v", set, "{pk: 'k', s: <'a'>}"), too_large);
  EXPECT_EQ(ApplyValue(Times(2, "SET", "= :v"), list), too_large);
  EXPECT_EQ(ApplyValue("SET a = :v", list), "300008");  // pk, k, a and the list's 4
}

TEST(UpdateTest, OtherErrorsComeBeforeTheSize) {
  std::string value;
  model::AppendString(&value, std::string(500'000, 'x'));
  EXPECT_EQ(ApplyValue("SET a = :v, b = gone", value), kMissing);
  EXPECT_EQ(ApplyValue("SET a = :v, pk.b = :v", value), kInvalidPath);
  EXPECT_EQ(ApplyValue("SET a = :v, b = pk + pk", value), kWrongType);
}

TEST(UpdateTest, SetsThatSeveralActionsNameAreTakenAway) {
  std::string set;
  model::AppendSet(&set, model::Type::kNS, {"1", "2", "10"});
  EXPECT_EQ(
      ApplyValue("DELETE a :v, b :v, c :v", set, "{a: <1, 3>, b: <2, 10>, c: <5, 10>, pk: 'k'}"),
      std::to_string(model::ItemView(notation::Item("{a: <3>, c: <5>, pk: 'k'}")).size_bytes()));
}

// Compares with the definition: the first pair in the order of the text that is related.
TEST(UpdateTest, FirstOfManyOverlapsIsReported) {
  std::mt19937 random(3);
  const auto related = [](const std::string& a, const std::string& b, bool overlap) {
    // Splits paths "a.b[1]" whose steps are single characters.
    const auto steps = [](const std::string& path) {
      std::vector<std::string> out;
      for (size_t i = 0; i < path.size();) {
        if (path[i] == '.') ++i;
        const size_t length = path[i] == '[' ? 3 : 1;
        out.push_back(path.substr(i, length));
        i += length;
      }
      return out;
    };
    const auto x = steps(a), y = steps(b);
    for (size_t i = 0; i < std::min(x.size(), y.size()); ++i) {
      if ((x[i][0] == '[') != (y[i][0] == '[')) return !overlap;
      if (x[i] != y[i]) return false;
    }
    return overlap;
  };
  int errors = 0;
  for (int round = 0; round < 300; ++round) {
    std::vector<std::string> paths;
    const size_t count = 2 + random() % 12;
    for (size_t i = 0; i < count; ++i) {
      std::string path(1, "abcdef"[random() % 6]);
      for (size_t depth = random() % 4; depth > 0; --depth)
        path += random() % 4 == 0 ? "[" + std::to_string(random() % 3) + "]"
                                  : std::string(".") + "pqrs"[random() % 4];
      paths.push_back(path);
    }
    std::string want;
    for (const bool overlap : {true, false}) {
      for (size_t second = 1; second < count && want.empty(); ++second) {
        for (size_t first = 0; first < second && want.empty(); ++first) {
          if (related(paths[first], paths[second], overlap))
            want = std::to_string(first) + "," + std::to_string(second) + (overlap ? "o" : "c");
        }
      }
    }
    std::string text = "REMOVE " + paths[0];
    for (size_t i = 1; i < count; ++i) text += ", " + paths[i];
    Substitutions subs;
    const Result<Update> update = ParseUpdate(text, &subs);
    ASSERT_EQ(update.ok(), want.empty()) << text;
    if (update.ok()) continue;
    ++errors;
    const auto position = [&](size_t from) { return std::stoul(want.substr(from)); };
    const auto show = [](std::string path) {
      std::string out = "[";
      for (size_t i = 0; i < path.size(); ++i) {
        if (path[i] == '.' || (path[i] == '[' && i > 0)) out += ", ";
        if (path[i] != '.') out += path[i];
      }
      return out + "]";
    };
    const std::string& one = paths[position(0)];
    const std::string& two = paths[position(want.find(',') + 1)];
    EXPECT_EQ(update.error().message(),
              std::string("Invalid UpdateExpression: Two document paths ") +
                  (want.back() == 'o' ? "overlap" : "conflict") +
                  " with each other; must remove or rewrite one of these paths; path one: " +
                  show(one) + ", path two: " + show(two));
  }
  EXPECT_GT(errors, 50);
}

}  // namespace
}  // namespace stator::expr
