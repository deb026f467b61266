#include "mcp/statement_plan.h"

#include <gtest/gtest.h>

#include "mcp/endpoint.h"

namespace stator::mcp {
namespace {

constexpr std::string_view kTable = R"({
  "TableName":"votes",
  "KeySchema":[{"AttributeName":"day","KeyType":"HASH"},{"AttributeName":"id","KeyType":"RANGE"}],
  "GlobalSecondaryIndexes":[
    {"IndexName":"by-who","KeySchema":[{"AttributeName":"who","KeyType":"HASH"}]},
    {"IndexName":"pair","KeySchema":[{"AttributeName":"a","KeyType":"HASH"},
      {"AttributeName":"b","KeyType":"HASH"},{"AttributeName":"c","KeyType":"RANGE"}]}],
  "LocalSecondaryIndexes":[
    {"IndexName":"by-time","KeySchema":[{"AttributeName":"day","KeyType":"HASH"},
      {"AttributeName":"time","KeyType":"RANGE"}]}]})";

Result<StatementPlan> Plan(std::string statement, std::string parameters = "") {
  ASSIGN_OR_RETURN(const Select select, ParseSelect(std::move(statement), std::move(parameters)));
  ASSIGN_OR_RETURN(const Document table, Document::Parse(kTable));
  return PlanSelect(select.statement(), table.root());
}

using Access = StatementPlan::Access;

TEST(StatementPlan, WholeKeyIsAnItem) {
  const auto plan = Plan(R"(SELECT * FROM votes WHERE day = 'd' AND id = '1')");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->access, Access::kItem);
  EXPECT_FALSE(plan->filters);
  EXPECT_EQ(plan->says, "It reads one item of the table votes, by its key");
}

TEST(StatementPlan, PartitionKeyIsAQuery) {
  auto plan =
      Plan(R"(SELECT * FROM votes WHERE day = ? AND begins_with(id, 'a'))", R"([{"S":"d"}])");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->access, Access::kQuery);
  EXPECT_EQ(plan->by_key, (std::vector<std::string>{"day", "id"}));
  EXPECT_FALSE(plan->filters);
  plan = Plan(R"(SELECT * FROM votes WHERE day IN ['d', 'e', 'f'] AND v > 3)");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->access, Access::kQuery);
  EXPECT_EQ(plan->partition_keys, 3);
  EXPECT_TRUE(plan->filters);
  EXPECT_EQ(plan->advice, "A condition on the sort key id would read less");
  plan = Plan(R"(SELECT * FROM votes WHERE day = 'd' AND id > '1' AND id < '5')");
  EXPECT_FALSE(plan->filters);
}

TEST(StatementPlan, AnIndexIsNamedInFrom) {
  auto plan = Plan(R"(SELECT * FROM "votes"."by-who" WHERE who = 'w')");
  ASSERT_TRUE(plan.ok()) << plan.error().message();
  EXPECT_EQ(plan->access, Access::kQuery);
  EXPECT_EQ(plan->index, "by-who");
  plan = Plan(R"(SELECT * FROM "votes"."pair" WHERE a = '1' AND b = '2' AND c = '3')");
  EXPECT_EQ(plan->access, Access::kQuery);  // several entries may have an index key
  plan = Plan(R"(SELECT * FROM "votes"."pair" WHERE a = '1')");
  EXPECT_EQ(plan->access, Access::kScan);
  EXPECT_FALSE(Plan(R"(SELECT * FROM "votes"."none" WHERE who = 'w')").ok());
}

TEST(StatementPlan, TheRestIsAFullScanWithAdvice) {
  auto plan = Plan(R"(SELECT * FROM votes)");
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->access, Access::kScan);
  EXPECT_FALSE(plan->filters);
  plan = Plan(R"(SELECT * FROM votes WHERE day = 'd' OR id = '1')");
  EXPECT_EQ(plan->access, Access::kScan);
  EXPECT_TRUE(plan->filters);
  plan = Plan(R"(SELECT * FROM votes WHERE day > 'd')");
  EXPECT_EQ(plan->access, Access::kScan);
  EXPECT_NE(plan->advice.find("Fix the partition key by ="), std::string::npos) << plan->advice;
  plan = Plan(R"(SELECT * FROM votes WHERE who = 'w')");
  EXPECT_EQ(plan->advice, R"(FROM "votes"."by-who" reads only items with that who)");
  plan = Plan(R"(SELECT * FROM "votes"."by-who" WHERE day = 'd')");
  EXPECT_EQ(plan->advice, R"(FROM "votes"."by-time" reads only items with that day)");
}

TEST(StatementPlan, RendersAnObject) {
  const auto plan = Plan(R"(SELECT * FROM "votes"."by-who" WHERE who = 'w' AND v = 1)");
  ASSERT_TRUE(plan.ok());
  const Result<Document> object = Document::Parse(plan->Render());
  ASSERT_TRUE(object.ok()) << plan->Render();
  EXPECT_EQ(TextMember(object->root(), "access"), "query");
  EXPECT_EQ(TextMember(object->root(), "index"), "by-who");
}

}  // namespace
}  // namespace stator::mcp
