#include "expr/statement.h"

#include <gtest/gtest.h>

#include "expr/test_notation.h"

namespace stator::expr {
namespace {

std::vector<std::string> Parameters(std::initializer_list<const char*> values) {
  std::vector<std::string> out;
  for (const char* value : values) out.push_back(notation::Value(value));
  return out;
}

std::string Text(std::string_view text) {
  std::string out;
  model::AppendString(&out, text);
  return out;
}

Statement Parse(std::string_view text, std::vector<std::string> parameters = {}) {
  Result<Statement> statement = ParseStatement(text, parameters);
  EXPECT_TRUE(statement.ok()) << text << ": "
                              << (statement.ok() ? "" : statement.error().message());
  return statement.ok() ? *std::move(statement) : Statement();
}

std::string ErrorOf(std::string_view text, std::vector<std::string> parameters = {}) {
  const Result<Statement> statement = ParseStatement(text, parameters);
  if (statement.ok()) return "(no error)";
  EXPECT_EQ(statement.error().code(), ErrorCode::kValidation) << text;
  return statement.error().message();
}

// A condition on an item.
bool Holds(const std::string& condition, const char* item,
           std::vector<std::string> parameters = {}) {
  const std::string encoded = notation::Item(item);
  return Evaluate(Parse("SELECT * FROM tab WHERE " + condition, std::move(parameters)).condition,
                  model::ItemView(encoded));
}

std::string Projected(const std::string& list, const char* item) {
  const std::string encoded = notation::Item(item);
  const std::string projected =
      Project(Parse("SELECT " + list + " FROM tab").projection, model::ItemView(encoded));
  EXPECT_TRUE(model::CheckItem(projected).ok());
  return notation::Show(model::ItemView(projected));
}

std::string UpdatedBy(const std::string& clauses, const char* item,
                      std::vector<std::string> parameters = {}) {
  const std::string encoded = notation::Item(item);
  const Statement statement =
      Parse("UPDATE tab " + clauses + " WHERE pk = 'a'", std::move(parameters));
  const Result<Updated> updated =
      ApplyUpdate(statement.update, model::ItemView(encoded), model::ItemView(encoded));
  if (!updated.ok()) return updated.error().message();
  EXPECT_TRUE(model::CheckItem(updated->item).ok());
  return notation::Show(model::ItemView(updated->item));
}

TEST(StatementTest, Parts) {
  const Statement select =
      Parse("select a, b from \"my.tab\".\"the index\" where pk = 'x' order by sk desc, pk ASC;");
  EXPECT_EQ(select.kind, StatementKind::kSelect);
  EXPECT_EQ(select.table, "my.tab");
  EXPECT_EQ(select.index, "the index");
  ASSERT_EQ(select.order_by.size(), 2u);
  EXPECT_EQ(select.order_by[0].attribute, "sk");
  EXPECT_TRUE(select.order_by[0].descending);
  EXPECT_FALSE(select.order_by[1].descending);
  EXPECT_EQ(TopLevelAttributes(select.projection), (std::vector<std::string>{"a", "b"}));

  EXPECT_FALSE(Parse("SELECT * FROM tab").projection.present());
  EXPECT_FALSE(Parse("SELECT * FROM tab").condition.present());
  EXPECT_EQ(Parse("EXISTS(SELECT * FROM tab WHERE a = 1)").kind, StatementKind::kExists);
  EXPECT_EQ(Parse("DELETE FROM tab WHERE a = 1 RETURNING ALL OLD *").returning, Returning::kAllOld);
  EXPECT_EQ(Parse("UPDATE tab SET a = 1 WHERE a = 1 RETURNING MODIFIED NEW *").returning,
            Returning::kModifiedNew);
  EXPECT_EQ(Parse("UPDATE tab REMOVE a REMOVE b WHERE a = 1 RETURNING ALL NEW *").returning,
            Returning::kAllNew);
}

TEST(StatementTest, Literals) {
  const Statement insert = Parse(
      "INSERT INTO tab VALUE {'s': 'x', 'n': -1.50e1, 'd': .5, 't': true, 'f': FALSE, 'z': Null, "
      "'l': [1, 'x', []],"
      " 'm': {'b': {}, 'a': ?}, 'ss': <<'b', 'a'>>, 'ns': <<2, 10, -1>>, 'p': ?, 'q': (1), 'r': "
      "(1, 2)} -- end",
      Parameters({"x'00ff'", "<x'01'>"}));
  EXPECT_TRUE(model::CheckItem(insert.item).ok());
  EXPECT_EQ(insert.item,
            notation::Item("{s: 'x', n: -15, d: 0.5, t: true, f: false, z: null, l: [1, 'x', []],"
                           " m: {a: x'00ff', b: {}}, ss: <'a', 'b'>, ns: <-1, 2, 10>, p: <x'01'>, "
                           "q: 1, r: [1, 2]}"));
}

TEST(StatementTest, DoubledQuotes) {
  EXPECT_EQ(
      Parse("INSERT INTO tab VALUE {'s': 'it''s', 't': '''', 'u': ''}").item,
      Parse("INSERT INTO tab VALUE {'s': ?, 't': ?, 'u': ?}", {Text("it's"), Text("'"), Text("")})
          .item);
}

TEST(StatementTest, LiteralErrors) {
  const auto error = [](std::string literal) {
    return ErrorOf("INSERT INTO tab VALUE {'a': " + literal + "}");
  };
  EXPECT_EQ(error("<<>>"), "Empty bags are not supported at 1:29:2");
  EXPECT_EQ(
      error("<<1, 'a'>>"),
      "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in bags");
  EXPECT_EQ(error("<<null>>"),
            "Unsupported data type in Bag. DynamoDB only supports either numbers or strings in "
            "bags at 1:31:4");
  EXPECT_EQ(error("<<1, 1.0>>"), "Input collection contains duplicates");
  EXPECT_EQ(error("b"), "Unsupported data type: b under key root at 1:29:1");
  EXPECT_EQ(error("MISSING"), "Unsupported data type: MISSING under key root at 1:29:7");
  EXPECT_EQ(
      error("1e126"),
      "Number overflow. Attempting to store a number with magnitude larger than supported range");
  EXPECT_EQ(error("1, 'a': 2"), "Duplicate keys in tuple. Key: a under root at 1:32:3");
  EXPECT_EQ(error("{'b': 1, 'b': 2}"), "Duplicate keys in tuple. Key: b under root at 1:29:1");
  EXPECT_EQ(error("1, '': 2"), "Path component cannot be an empty string");
  EXPECT_EQ(
      error("1, b: 2"),
      "Tuple keys must be of type String. Actual type: VariableReference under root at 1:32:1");
  EXPECT_EQ(error("?"), "Number of parameters in request and statement don't match.");
  EXPECT_EQ(ErrorOf("INSERT INTO tab VALUE ?", Parameters({"{a: 1}"})),
            "Unsupported format in item expression. Please use struct format {...} to express item "
            "values for insert statement."
            " at 1:23:1");
}

TEST(StatementTest, NestingOfValues) {
  const auto nested = [](int levels) {
    return std::string(levels, '[') + std::string(levels, ']');
  };
  constexpr const char* kTooDeep = "Nesting Levels have exceeded supported limits";
  // The item is the first of 32 levels.
  Parse("INSERT INTO tab VALUE {'a': " + nested(31) + "}");
  EXPECT_EQ(ErrorOf("INSERT INTO tab VALUE {'a': " + nested(32) + "}"), kTooDeep);
  EXPECT_EQ(ErrorOf("INSERT INTO tab VALUE {'a': " + nested(3000)), kTooDeep);
  Parse("INSERT INTO tab VALUE {'a': [?]}", {notation::Value(nested(30).c_str())});
  EXPECT_EQ(ErrorOf("INSERT INTO tab VALUE {'a': [?]}", {notation::Value(nested(31).c_str())}),
            kTooDeep);
}

TEST(StatementTest, NestingOfConditions) {
  const auto grouped = [](int levels) {
    return "SELECT * FROM tab WHERE " + std::string(levels, '(') + "a = 1" +
           std::string(levels, ')');
  };
  Parse(grouped(200));
  EXPECT_EQ(ErrorOf(grouped(201)),
            "Statement wasn't well formed, can't be processed: Nested too deeply at 1:226:1");
  EXPECT_NE(ErrorOf(grouped(4000)).find("Nested too deeply"), std::string::npos);
  std::string negations;
  for (int i = 0; i < 299; ++i) negations += "NOT ";
  Parse("SELECT * FROM tab WHERE " + negations + "a = 1");
  EXPECT_EQ(ErrorOf("SELECT * FROM tab WHERE NOT " + negations + "a = 1"),
            "The expression contains too many operators; operator count: 301");
  std::string calls;
  for (int i = 0; i < 250; ++i) calls += "size(";
  EXPECT_NE(ErrorOf("SELECT * FROM tab WHERE " + calls).find("Nested too deeply"),
            std::string::npos);
}

TEST(StatementTest, Comparisons) {
  EXPECT_TRUE(Holds("a = 1", "{a: 1}"));
  EXPECT_TRUE(Holds("1 = a", "{a: 1}"));
  EXPECT_TRUE(Holds("2 > a AND a >= ?", "{a: 1}", Parameters({"1"})));
  EXPECT_TRUE(Holds("a <> 2 AND a != '1'", "{a: 1}"));
  EXPECT_TRUE(Holds("(a) = (1) AND ((a = 1))", "{a: 1}"));
  EXPECT_TRUE(Holds("\"select\" = 1 AND \"a\"\"b\" = 2", "{select: 1, a\"b: 2}"));
  EXPECT_TRUE(
      Holds("m.k = 1 AND m['k'] = 1 AND m.\"k\" = 1 AND l[1] = 'x'", "{m: {k: 1}, l: [0, 'x']}"));
  EXPECT_FALSE(Holds("A = 1", "{a: 1}"));
  EXPECT_TRUE(Holds("a BETWEEN 1 AND 2 AND b NOT BETWEEN 1 AND 2", "{a: 1, b: 3}"));
  EXPECT_TRUE(
      Holds("a IN [1, 'x'] AND a IN (1, 2) AND a IN <<1>> AND b NOT IN [1]", "{a: 1, b: 2}"));
  EXPECT_TRUE(Holds("a IN [b]", "{a: 1, b: 1}"));
  EXPECT_TRUE(Holds("a = 1 OR b = 1 AND c = 1", "{a: 1}"));
  EXPECT_FALSE(Holds("(a = 1 OR b = 1) AND c = 1", "{a: 1}"));
}

TEST(StatementTest, MissingAttributes) {
  for (const char* comparison :
       {"a = 1", "a <> 1", "a != 1", "a < 1", "a BETWEEN 1 AND 2", "a IN [1]"}) {
    EXPECT_FALSE(Holds(comparison, "{b: 1}")) << comparison;
    EXPECT_TRUE(Holds(std::string("NOT ") + comparison, "{b: 1}")) << comparison;
  }
  EXPECT_TRUE(Holds("a IS MISSING AND b IS NOT MISSING AND NOT b IS MISSING", "{b: 1}"));
  EXPECT_TRUE(
      Holds("z IS NULL AND b IS NOT NULL AND a IS NOT NULL AND z = null", "{b: 1, z: null}"));
  EXPECT_FALSE(Holds("a IS NULL", "{b: 1}"));
}

TEST(StatementTest, Functions) {
  EXPECT_TRUE(Holds("begins_with(a, 'x') AND BEGINS_WITH(\"a\", 'xy')", "{a: 'xyz'}"));
  EXPECT_TRUE(Holds("contains(a, 'y') AND size(a) = 3 AND attribute_type(a, 'S')", "{a: 'xyz'}"));
  EXPECT_TRUE(Holds("attribute_exists(a) AND attribute_not_exists(b)", "{a: 1}"));
  const auto error = [](std::string condition) {
    return ErrorOf("SELECT * FROM tab WHERE " + condition);
  };
  EXPECT_EQ(error("foo(a)"), "Unrecognized function: foo");
  EXPECT_EQ(error("exists(a)"), "Unrecognized function: exists");
  EXPECT_EQ(error("size(a)"), "WHERE clause must contain an expression that resolves to a boolean");
  EXPECT_EQ(error("begins_with(a)"),
            "Incorrect number of operands for operator or function; operator or function: "
            "begins_with, number of operands: 1");
  EXPECT_EQ(error("begins_with(a, 1)"),
            "Incorrect operand type for operator or function; operator or function: begins_with, "
            "operand type: N");
  EXPECT_EQ(error("if_not_exists(a, 1)"),
            "The function is not allowed in a condition expression; function: if_not_exists");
  EXPECT_EQ(
      error("attribute_type(a, 'Q')"),
      "Invalid attribute type name found; type: Q, valid types: {B,NULL,SS,BOOL,L,BS,N,NS,S,M}");
}

TEST(StatementTest, ConditionErrors) {
  const auto error = [](std::string condition) {
    return ErrorOf("SELECT * FROM tab WHERE " + condition);
  };
  EXPECT_EQ(error("a"), "WHERE clause must contain an expression that resolves to a boolean");
  EXPECT_EQ(error("a AND b = 1"), "The arguments to AND/OR must be Expressions");
  EXPECT_EQ(error("NOT a"), "The argument to NOT must be a Type or Expression");
  EXPECT_EQ(error("a = MISSING"), "MISSING must be compared using IS operator");
  EXPECT_EQ(error("a + 1 = 2"), "Unsupported operator in Condition Expression. Operator: +");
  EXPECT_EQ(error("a = 1 * 2"), "Unsupported operator in Condition Expression. Operator: *");
  EXPECT_EQ(error("a LIKE 'x'"), "Unsupported operator in Condition Expression. Operator: like");
  EXPECT_EQ(error("a < true"),
            "Incorrect operand type for operator or function; operator or function: <, operand "
            "type: BOOL");
  EXPECT_EQ(error("a BETWEEN 2 AND 1"),
            "The BETWEEN operator requires upper bound to be greater than or equal to lower bound; "
            "lower bound operand: "
            "AttributeValue: {N:2}, upper bound operand: AttributeValue: {N:1}");
  EXPECT_EQ(error("a = a"),
            "The first operand must be distinct from the remaining operands for this operator or "
            "function; operator: =, "
            "first operand: [a]");
  EXPECT_EQ(error("a IN []"),
            "IN operator must have a left hand argument of type Variable Reference and right hand "
            "argument of type Seq with "
            "at least one member");
  EXPECT_EQ(error("l[-1] = 1"),
            "List index is not within the allowable range; index: [-1] at 1:28:1");
  EXPECT_EQ(error("l[?] = 1"), "Unexpected path component at 1:27:1");
}

TEST(StatementTest, LimitsOfConditions) {
  const auto in = [](int count) {
    std::string list = "SELECT * FROM tab WHERE a IN [0";
    for (int i = 1; i < count; ++i) list += ", " + std::to_string(i);
    return list + "]";
  };
  Parse(in(100));
  EXPECT_EQ(ErrorOf(in(101)),
            "The IN operator is provided with too many operands; number of operands: 101");
  std::string path = "SELECT * FROM tab WHERE a";
  for (int i = 1; i < 32; ++i) path += ".b";
  Parse(path + " = 1");
  EXPECT_EQ(ErrorOf(path + ".b = 1"),
            "The document path has too many nesting levels; nesting levels: 33");
}

TEST(StatementTest, Projections) {
  EXPECT_EQ(Projected("a, m.k, l[1], nowhere", "{a: 1, m: {k: 'x'}, l: [1, 2], b: 3}"),
            "{a: 1, k: 'x', l[1]: 2}");
  EXPECT_EQ(Projected("nowhere", "{a: 1}"), "{}");
  EXPECT_EQ(ErrorOf("SELECT a, b.a FROM tab"), "Duplicate identifiers in select clause: a");
  EXPECT_EQ(ErrorOf("SELECT a, a.b FROM tab"),
            "Two document paths overlap with each other; must remove or rewrite one of these "
            "paths; path one: [a], path two: [a, b]");
  EXPECT_EQ(ErrorOf("SELECT COUNT(*) FROM tab"), "Unexpected path component at 1:8:5");
  EXPECT_EQ(ErrorOf("SELECT a,\n 1 FROM tab"), "Unexpected path component at 2:2:1");
  EXPECT_EQ(ErrorOf("SELECT a AS b FROM tab"), "Aliasing is not supported");
  EXPECT_EQ(ErrorOf("SELECT a.* FROM tab"),
            "Changing item's hierarchy while reading isn't supported");
}

TEST(StatementTest, Updates) {
  constexpr const char* kItem = "{n: 1, l: ['x'], m: {k: 1}, s: <1, 2>}";
  EXPECT_EQ(UpdatedBy("SET n = n + 1 SET m.k = ? REMOVE l", kItem, Parameters({"x'00'"})),
            "{m: {k: x'00'}, n: 2, s: <1, 2>}");
  EXPECT_EQ(UpdatedBy("SET n = 1 + n - 0.5 + 1, l = list_append(l, ['y'])", kItem),
            "{l: ['x', 'y'], m: {k: 1}, n: 2.5, s: <1, 2>}");
  EXPECT_EQ(UpdatedBy("SET s = set_add(s, <<3>>) SET n = if_not_exists(q, 0) + 5", kItem),
            "{l: ['x'], m: {k: 1}, n: 5, s: <1, 2, 3>}");
  EXPECT_EQ(UpdatedBy("SET s = SET_DELETE(s, ?), q = set_add(q, <<'a'>>) REMOVE l REMOVE m", kItem,
                      Parameters({"<1, 2>"})),
            "{n: 1, q: <'a'>}");
  EXPECT_EQ(UpdatedBy("SET q = nowhere + 1", kItem),
            "The provided expression refers to an attribute that does not exist in the item");
}

TEST(StatementTest, UpdateErrors) {
  const auto error = [](std::string clauses) {
    return ErrorOf("UPDATE tab " + clauses + " WHERE pk = 'a'");
  };
  EXPECT_EQ(error("SET a = set_add(b, <<1>>)"),
            "The first argument to SET_ADD must equal the assignment value");
  EXPECT_EQ(error("SET a = set_delete(a, 1)"),
            "The second argument to SET_DELETE must be a value with type SET at 1:31:1");
  EXPECT_EQ(error("SET a = set_add(a)"), "SET_ADD must have exactly two arguments at 1:20:7");
  EXPECT_EQ(error("SET a = size(b)"),
            "The function is not allowed in an update expression; function: size");
  EXPECT_EQ(error("SET a = foo(b)"), "Unrecognized function: foo");
  EXPECT_EQ(error("SET a = b * 2"), "Unsupported operator in Update Expression. Operator: *");
  EXPECT_EQ(
      error("SET a = b + 'x'"),
      "Incorrect operand type for operator or function; operator or function: +, operand type: S");
  EXPECT_EQ(error("SET a = 1, a = 2"),
            "Two document paths overlap with each other; must remove or rewrite one of these "
            "paths; path one: [a], path two: [a]");
  EXPECT_EQ(error("REMOVE a, b"),
            "Statement wasn't well formed, can't be processed: Unexpected token , at 1:20:1");
  EXPECT_EQ(ErrorOf("UPDATE tab.idx SET a = 1"), "This operation is not supported on an index");
  EXPECT_EQ(ErrorOf("INSERT INTO tab.idx VALUE {'a': 1}"),
            "FROM clause may only contain a single table name in data manipulation statements");
  EXPECT_EQ(ErrorOf("INSERT INTO tab VALUE {'a': 1} RETURNING ALL OLD *"),
            "RETURNING is not supported in INSERT");
  EXPECT_EQ(ErrorOf("DELETE FROM tab WHERE a = 1 RETURNING MODIFIED OLD *"),
            "Invalid returning clause: RETURNING MODIFIED OLD *. Only RETURNING ALL OLD * is "
            "allowed in DELETE statements.");
}

TEST(StatementTest, Malformed) {
  const auto detail = [](std::string_view text) {
    constexpr std::string_view kPrefix = "Statement wasn't well formed, can't be processed: ";
    const std::string error = ErrorOf(text);
    EXPECT_TRUE(error.starts_with(kPrefix)) << error;
    return error.substr(std::min(error.size(), kPrefix.size()));
  };
  EXPECT_EQ(detail(""), "Unexpected end of statement at 1:1:0");
  EXPECT_EQ(detail("SELEC * FROM tab"), "Unexpected token SELEC at 1:1:5");
  EXPECT_EQ(detail("SELECT *\nFROM tab\n WHERE a = = 1"), "Unexpected token = at 3:12:1");
  EXPECT_EQ(detail("SELECT * FROM tab WHERE a = 'x"), "Unexpected token 'x at 1:29:2");
  EXPECT_EQ(detail("SELECT * FROM tab WHERE count = 1"), "Unexpected token count at 1:25:5");
  EXPECT_EQ(detail("SELECT * FROM tab WHERE a = 0x1"), "Unexpected token 0x1 at 1:29:3");
  EXPECT_EQ(detail("SELECT * FROM tab WHERE é = 1"), "Unexpected token é at 1:25:2");
  EXPECT_EQ(detail("SELECT * FROM tab;;"), "Unexpected token ; at 1:19:1");
  EXPECT_EQ(detail("SELECT * FROM tab WHERE a = '" + std::string(8000, 'x')),
            "Unexpected token at 1:29:8001");
  EXPECT_EQ(detail("UPDATE tab WHERE a = 1"), "Unexpected token WHERE at 1:12:5");
}

TEST(StatementTest, MissingParametersComeBeforeTheirTypes) {
  EXPECT_EQ(ErrorOf("SELECT * FROM tab WHERE a < ?"),
            "Number of parameters in request and statement don't match.");
  EXPECT_EQ(ErrorOf("UPDATE tab SET a = set_add(a, ?) WHERE b = 1"),
            "Number of parameters in request and statement don't match.");
  EXPECT_TRUE(ErrorOf("SELECT * FROM tab WHERE a < ? AND").starts_with(kMalformedStatement));
}

TEST(StatementTest, ParametersLeftOverAreRefused) {
  const std::string mismatch = "Number of parameters in request and statement don't match.";
  const std::string one = Text("x");
  EXPECT_EQ(ErrorOf("SELECT * FROM tab WHERE a = ?", {one, one}), mismatch);
  EXPECT_EQ(ErrorOf("SELECT * FROM tab", {one}), mismatch);
  EXPECT_EQ(ErrorOf("DELETE FROM tab WHERE pk = ?", {one, one}), mismatch);
  EXPECT_TRUE(ErrorOf("SELECT * FROM tab WHERE", {one}).starts_with(kMalformedStatement));
  EXPECT_EQ(Parse("SELECT * FROM tab WHERE a = ?", {one}).table, "tab");
}

TEST(StatementTest, Demands) {
  const Statement statement =
      Parse("SELECT * FROM tab WHERE pk = 'a' AND 3 > sk AND sk IN [1, 2] AND b <> 1 AND m.k = 1");
  const Demands demands = DemandsOf(statement.condition);
  EXPECT_FALSE(demands.complete);
  ASSERT_EQ(demands.all.size(), 3u);
  EXPECT_EQ(demands.all[0].attribute, "pk");
  EXPECT_EQ(demands.all[0].op, Demand::kEq);
  EXPECT_EQ(demands.all[1].op, Demand::kLt);
  EXPECT_EQ(demands.all[2].values.size(), 2u);
  EXPECT_TRUE(DemandsOf(Parse("SELECT * FROM tab WHERE pk = 'a' AND sk BETWEEN 1 AND 2").condition)
                  .complete);
  EXPECT_TRUE(
      DemandsOf(Parse("SELECT * FROM tab WHERE pk = 'a' OR pk = 'b'").condition).all.empty());
  EXPECT_TRUE(DemandsOf(Parse("SELECT * FROM tab WHERE NOT pk = 'a'").condition).all.empty());
}

}  // namespace
}  // namespace stator::expr
