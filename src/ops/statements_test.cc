// PartiQL operations over a store in memory: what scripts and clients cannot force.
#include <gtest/gtest.h>

#include "base/base64.h"
#include "ops/statement_token.h"
#include "ops/test_world.h"
#include "table/key_encoding.h"
#include "table/token_ledger.h"

namespace stator::ops {
namespace {

using expr::notation::Item;

class StatementsTest : public testing::Test {
 protected:
  StatementsTest() {
    world_.Create("tab", ScalarAttributeType::kN);
    world_.engine.set_stutter(0.3);
  }

  Result<ExecuteStatementResponse> Run(std::string statement,
                                       std::optional<std::string> next_token = {},
                                       std::optional<int64_t> limit = {}) {
    ExecuteStatementRequest request;
    request.statement = std::move(statement);
    request.next_token = std::move(next_token);
    request.limit = limit;
    request.return_consumed_capacity = ReturnConsumedCapacity::kTotal;
    return world_.Call(ExecuteStatement, std::move(request));
  }
  // The items of all pages, as text.
  std::vector<std::string> All(const std::string& statement, std::optional<int64_t> limit = {}) {
    std::vector<std::string> items;
    std::optional<std::string> token;
    do {
      auto page = Run(statement, token, limit);
      EXPECT_TRUE(page.ok()) << statement;
      if (!page.ok()) break;
      for (const model::ItemView item : page->items) items.push_back(expr::notation::Show(item));
      EXPECT_EQ(page->next_token.has_value(), page->last_evaluated_key.has_value());
      token = page->next_token;
      ++pages_;
    } while (token);
    return items;
  }
  std::string Error(const std::string& statement, std::optional<std::string> token = {}) {
    const auto answer = Run(statement, std::move(token));
    return answer.ok() ? "(no error)" : answer.error().message();
  }

  TestWorld world_;
  int pages_ = 0;
};

TEST_F(StatementsTest, PagesOverRangesColdAndWarm) {
  for (const char* pk : {"a", "b", "c"}) {
    for (int sk = 0; sk < 40; ++sk) {
      ASSERT_TRUE(
          world_.Put("tab", Item("{pk: '" + std::string(pk) + "', sk: " + std::to_string(sk) + "}"))
              .ok());
    }
  }
  for (const int64_t limit : {1, 7, 40, 41, 1000}) {
    const auto forwards = All("SELECT * FROM tab WHERE pk IN ['c', 'a', 'b'] AND sk >= 10", limit);
    ASSERT_EQ(forwards.size(), 90u) << limit;
    EXPECT_EQ(forwards[0], "{pk: 'a', sk: 10}");
    EXPECT_EQ(forwards[30], "{pk: 'b', sk: 10}");
    auto backwards =
        All("SELECT * FROM tab WHERE pk IN ['c', 'a', 'b'] AND sk >= 10 ORDER BY pk DESC, sk DESC",
            limit);
    std::reverse(backwards.begin(), backwards.end());
    EXPECT_EQ(backwards, forwards) << limit;
    EXPECT_EQ(All("SELECT * FROM tab WHERE sk >= 10", limit).size(), 90u) << limit;
  }
}

TEST_F(StatementsTest, AMegabyteIsAPageOfAllRangesTogether) {
  const std::string large(100'000, 'x');
  for (const char* pk : {"a", "b", "c"}) {
    for (int sk = 0; sk < 5; ++sk) {
      ASSERT_TRUE(world_
                      .Put("tab", Item("{pk: '" + std::string(pk) + "', sk: " + std::to_string(sk) +
                                       ", v: '" + large + "'}"))
                      .ok());
    }
  }
  EXPECT_EQ(All("SELECT sk FROM tab WHERE pk IN ['a', 'b', 'c']").size(), 15u);
  EXPECT_EQ(pages_, 2);
  auto first = Run("SELECT sk FROM tab WHERE pk IN ['a', 'b', 'c']");
  EXPECT_EQ(first->items.size(), 11u);
  // Three queries, each rounded up: 500,000 bytes twice and 100,000.
  EXPECT_EQ(first->consumed_capacity->capacity_units, 61.5 + 61.5 + 12.5);
}

TEST_F(StatementsTest, MadeUpTokens) {
  ASSERT_TRUE(world_.Put("tab", Item("{pk: 'a', sk: 1}")).ok());
  const std::string statement = "SELECT * FROM tab WHERE pk = 'a' AND sk < 5";
  const std::string digest = StatementDigest(statement, {});
  const auto token = [&](size_t range, const char* key) {
    return MakeNextToken(world_.env.seal, digest, {range, Item(key)});
  };
  EXPECT_TRUE(Run(statement, token(0, "{pk: 'a', sk: 3}")).ok());
  for (const std::string& made_up :
       {token(1, "{pk: 'a', sk: 3}"), token(0, "{pk: 'b', sk: 3}"), token(0, "{pk: 'a', sk: 7}"),
        token(0, "{pk: 'a'}"), token(0, "{pk: 'a', sk: 'x'}"), token(0, "{pk: 'a', sk: 3, x: 1}"),
        MakeNextToken(world_.env.seal, digest, {0, ""}),
        MakeNextToken(world_.env.seal, digest, {0, "\x05garbage"})}) {
    EXPECT_EQ(Error(statement, made_up), "Invalid NextToken");
  }
  EXPECT_EQ(Error(statement + " ", token(0, "{pk: 'a', sk: 3}")),
            "NextToken does not match request");
  // Whatever byte is changed: refused.
  const std::string good = token(0, "{pk: 'a', sk: 3}");
  for (size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == 'A' ? 'B' : 'A';
    EXPECT_FALSE(bad != good && Run(statement, bad).ok()) << i;
  }
}

TEST_F(StatementsTest, ABatchReportsEachFailureOfTheStore) {
  table::TablePtr table = world_.store->Find("tab");
  world_.engine.Refuse(
      table::EncodeItemKey(table->key_schema(), model::ItemView(Item("{pk: 'b', sk: 1}"))));
  BatchExecuteStatementRequest request;
  for (const char* pk : {"a", "b", "c"}) {
    request.statements.push_back(
        {"INSERT INTO tab VALUE {'pk': '" + std::string(pk) + "', 'sk': 1}", {}, {}, {}});
  }
  auto answer = world_.Call(BatchExecuteStatement, std::move(request));
  ASSERT_TRUE(answer.ok());
  ASSERT_EQ(answer->responses.size(), 3u);
  EXPECT_FALSE(answer->responses[0].error);
  EXPECT_EQ(answer->responses[1].error->code, "InternalServerError");
  EXPECT_FALSE(answer->responses[2].error);
  EXPECT_EQ(All("SELECT * FROM tab").size(), 2u);
}

TEST_F(StatementsTest, ATransactionIsAllOrNothing) {
  const auto run = [&](std::vector<std::string> statements) {
    ExecuteTransactionRequest request;
    for (std::string& statement : statements)
      request.transact_statements.push_back({std::move(statement), {}, {}});
    return world_.Call(ExecuteTransaction, std::move(request));
  };
  ASSERT_TRUE(run({"INSERT INTO tab VALUE {'pk': 'a', 'sk': 1, 'n': 1}",
                   "INSERT INTO tab VALUE {'pk': 'b', 'sk': 1, 'n': 1}"})
                  .ok());
  const auto refused = run({"UPDATE tab SET n = 2 WHERE pk = 'a' AND sk = 1",
                            "INSERT INTO tab VALUE {'pk': 'b', 'sk': 1}"});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.error().code(), ErrorCode::kTransactionCanceled);
  world_.engine.RefuseAll(true);
  EXPECT_EQ(run({"UPDATE tab SET n = 2 WHERE pk = 'a' AND sk = 1"}).error().code(),
            ErrorCode::kUnavailable);
  world_.engine.RefuseAll(false);
  EXPECT_EQ(All("SELECT n FROM tab WHERE pk = 'a'"), (std::vector<std::string>{"{n: 1}"}));
  const auto read = run({"SELECT n FROM tab WHERE pk = 'b' AND sk = 1",
                         "SELECT n FROM tab WHERE pk = 'c' AND sk = 1"});
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->responses.size(), 2u);
  EXPECT_TRUE(read->responses[0].has_value());
  EXPECT_FALSE(read->responses[1].has_value());
}

}  // namespace
}  // namespace stator::ops
