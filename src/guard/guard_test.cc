// Requests, their actions and their condition keys, against policies.
#include "guard/test_guard.h"

namespace stator::guard {
namespace {

TEST_F(GuardTest, DenialHasTheServicesWords) {
  Allow("dynamodb:PutItem");
  ExpectDenied(Get("{pk: 'alice', sk: 'a'}"),
               "User: arn:aws:iam::111122223333:user/alice is not authorized to perform: "
               "dynamodb:GetItem on resource: "
               "arn:aws:dynamodb:us-east-1:111122223333:table/Photos because no identity-based "
               "policy allows the dynamodb:GetItem action");
  EXPECT_EQ(gate_->counts().denials, 1u);
}

TEST_F(GuardTest, WarnCountsAndServes) {
  MakeGate(Mode::kWarn);
  Allow("dynamodb:PutItem");
  ExpectAllowed(Get("{pk: 'alice', sk: 'a'}"));
  EXPECT_EQ(gate_->counts().denials, 1u);
  credential_ = nullptr;  // a signature that did not verify
  ExpectAllowed(Get("{pk: 'alice', sk: 'a'}"));
  EXPECT_EQ(gate_->counts().denials, 1u);
}

TEST_F(GuardTest, ArnOfTheTableThatIsServed) {
  Allow("dynamodb:GetItem");
  ops::GetItemRequest request = Get("{pk: 'alice', sk: 'a'}");
  request.table_name = std::string(kTable);
  ExpectAllowed(request);
  // Every Region is this server's, so a policy for another one's table does not count.
  request.table_name = "arn:aws:dynamodb:eu-west-1:111122223333:table/Photos";
  ExpectAllowed(request);
  Allow("dynamodb:GetItem", "", request.table_name);
  ExpectDenied(request);
  // A table of another account is that account's, whatever the caller's policies say.
  Allow("dynamodb:GetItem", "", "arn:aws:dynamodb:us-east-1:999999999999:table/Photos");
  request.table_name = "arn:aws:dynamodb:eu-west-1:999999999999:table/Photos";
  ExpectDenied(request);
  Allow("dynamodb:GetItem");
  ExpectDenied(request);
}

TEST_F(GuardTest, LeadingKeysOfItems) {
  Allow("dynamodb:GetItem", kOwnItems);
  ExpectAllowed(Get("{pk: 'alice', sk: 'a'}"));
  ExpectDenied(Get("{pk: 'bob', sk: 'a'}"));
  Allow("dynamodb:PutItem", kOwnItems);
  ExpectAllowed(Put("{pk: 'alice', sk: 'a'}"), "PutItem");
  ExpectDenied(Put("{pk: 'bob', sk: 'alice'}"), "", "PutItem");
}

TEST_F(GuardTest, PastNeedsItsOwnActionWithTheSameKeys) {
  const auto both = [this](const std::string& past_condition) {
    SetPolicy(R"({"Effect":"Allow","Action":["dynamodb:GetItem","dynamodb:Query","dynamodb:Scan",)"
              R"("dynamodb:BatchGetItem"],"Resource":"*"},)"
              R"({"Effect":"Allow","Action":"stator:ReadPast","Resource":")" +
              std::string(kTable) + R"(")" +
              (past_condition.empty() ? "" : R"(,"Condition":)" + past_condition) + "}");
  };
  asks_past_ = true;
  Allow("dynamodb:GetItem");
  ExpectDenied(Get("{pk: 'alice', sk: 'a'}"), "is not authorized to perform: stator:ReadPast on");
  Allow("stator:ReadPast");
  ExpectDenied(Get("{pk: 'alice', sk: 'a'}"), "is not authorized to perform: dynamodb:GetItem on");
  both("");
  ExpectAllowed(Get("{pk: 'bob', sk: 'a'}"));
  ops::ScanRequest scan;
  scan.table_name = "Photos";
  ExpectAllowed(scan, "Scan");
  both(kOwnItems);
  ExpectAllowed(Get("{pk: 'alice', sk: 'a'}"));
  ExpectDenied(Get("{pk: 'bob', sk: 'a'}"), "stator:ReadPast");
  ExpectAllowed(QueryOf("pk = :p", {{":p", "'alice'"}}), "Query");
  ExpectDenied(QueryOf("pk = :p", {{":p", "'bob'"}}), "stator:ReadPast", "Query");
  ops::BatchGetItemRequest batch;
  batch.request_items.resize(1);
  batch.request_items[0].table_name = "Photos";
  batch.request_items[0].keys = {{notation::Item("{pk: 'alice', sk: 'a'}")},
                                 {notation::Item("{pk: 'bob', sk: 'a'}")}};
  ExpectDenied(batch, "stator:ReadPast", "BatchGetItem");
  both(R"({"ForAllValues:StringEquals":{"dynamodb:Attributes":["pk","sk","title"]},)"
       R"("StringEquals":{"dynamodb:Select":"SPECIFIC_ATTRIBUTES"}})");
  ops::GetItemRequest get = Get("{pk: 'alice', sk: 'a'}");
  ExpectDenied(get, "stator:ReadPast");
  get.projection_expression = "title";
  ExpectAllowed(get);
  get.projection_expression = "title, secret";
  ExpectDenied(get, "stator:ReadPast");
  // The present needs none of it.
  asks_past_ = false;
  ExpectAllowed(get);
}

TEST_F(GuardTest, UndoOfWholeTablesIsNotForCallersWithOwnItems) {
  const auto ask = [this](std::string_view action, const char* key, bool all) {
    const access::HttpRequestView http{"POST", "/", {}, ""};
    access::VerifiedRequest verified;
    verified.credential = credential_;
    verified.key_id = "AKIDALICE";
    Check check(*gate_, std::move(verified), env_, action, http, &peer_);
    const std::string item = key == nullptr ? "" : notation::Item(key);
    return all ? RequireOfAllItems(check, ActionNamed(action), "Photos")
               : RequireOfItems(check, ActionNamed(action), "Photos", key ? &item : nullptr);
  };
  Allow("stator:ReadHistory", kOwnItems);
  EXPECT_TRUE(ask("stator:ReadHistory", "{pk: 'alice', sk: 'a'}", false).ok());
  EXPECT_FALSE(ask("stator:ReadHistory", "{pk: 'bob', sk: 'a'}", false).ok());
  EXPECT_FALSE(ask("stator:Undo", nullptr, false).ok());
  Allow("dynamodb:PutItem");
  EXPECT_TRUE(ask("dynamodb:PutItem", nullptr, true).ok());
  Allow("dynamodb:PutItem", kOwnItems);
  const Status refused = ask("dynamodb:PutItem", nullptr, true);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message().find("writes items of any key"), std::string::npos);
}

// A bare operator on a list never matches: ExtendDB once let it match any value.
TEST_F(GuardTest, BareOperatorOnLeadingKeysNeverMatches) {
  Allow("dynamodb:GetItem", R"({"StringEquals":{"dynamodb:LeadingKeys":["alice"]}})");
  ExpectDenied(Get("{pk: 'alice', sk: 'a'}"));
  Allow("dynamodb:GetItem", R"({"StringNotEquals":{"dynamodb:LeadingKeys":["bob"]}})");
  ExpectDenied(Get("{pk: 'alice', sk: 'a'}"));
}

TEST_F(GuardTest, LeadingKeysOfBatchesAreMerged) {
  Allow("dynamodb:BatchGetItem", kOwnItems);
  ops::BatchGetItemRequest request;
  ops::KeysAndAttributes keys;
  keys.table_name = "Photos";
  keys.keys = {{notation::Item("{pk: 'alice', sk: 'a'}")},
               {notation::Item("{pk: 'alice', sk: 'b'}")}};
  request.request_items = {keys};
  ExpectAllowed(request);
  // The second entry is of the table under its ARN.
  ops::KeysAndAttributes other = keys;
  other.table_name = std::string(kTable);
  other.keys = {{notation::Item("{pk: 'bob', sk: 'a'}")}};
  request.request_items.push_back(other);
  ExpectDenied(request, "dynamodb:BatchGetItem");

  Allow("dynamodb:BatchWriteItem", kOwnItems);
  ops::BatchWriteItemRequest write;
  write.request_items.push_back({"Photos", {}});
  ops::WriteRequest put;
  put.put_request.emplace().item.bytes = notation::Item("{pk: 'alice', sk: 'a'}");
  write.request_items[0].requests = {put};
  ExpectAllowed(write);
  ops::WriteRequest erase;
  erase.delete_request.emplace().key.bytes = notation::Item("{pk: 'bob', sk: 'a'}");
  write.request_items[0].requests.push_back(erase);
  ExpectDenied(write, "dynamodb:BatchWriteItem");
}

TEST_F(GuardTest, BatchIsNoGetItem) {
  Allow("dynamodb:GetItem");
  ops::BatchGetItemRequest request;
  ops::KeysAndAttributes keys;
  keys.table_name = "Photos";
  keys.keys = {{notation::Item("{pk: 'alice', sk: 'a'}")}};
  request.request_items = {keys};
  ExpectDenied(request, "dynamodb:BatchGetItem");
}

TEST_F(GuardTest, LeadingKeysOfQueries) {
  Allow("dynamodb:Query", kOwnItems);
  ExpectAllowed(QueryOf("pk = :p", {{":p", "'alice'"}}));
  ExpectDenied(QueryOf("pk = :p", {{":p", "'bob'"}}));
  ExpectDenied(QueryOf("sk > :s AND pk = :p", {{":p", "'bob'"}, {":s", "'alice'"}}));
  // The old form.
  ops::QueryRequest legacy;
  legacy.table_name = "Photos";
  ops::LegacyCondition condition;
  condition.attribute = "pk";
  condition.comparison_operator = ops::ComparisonOperator::kEq;
  condition.values = {notation::Value("'alice'")};
  legacy.key_conditions = {condition};
  ExpectAllowed(legacy);
  (*legacy.key_conditions)[0].values = {notation::Value("'bob'")};
  ExpectDenied(legacy);
}

TEST_F(GuardTest, PartitionKeysOfAnIndex) {
  const std::string index = std::string(kTable) + "/index/byOwner";
  Allow("dynamodb:Query", kOwnItems, index);
  ops::QueryRequest request = QueryOf("#o = :o AND team = :t", {{":o", "'alice'"}, {":t", "7.50"}});
  request.index_name = "byOwner";
  request.expression_attribute_names = {{{"#o", "owner"}}};
  ExpectAllowed(request);
  Allow("dynamodb:Query",
        R"({"ForAnyValue:StringEquals":{"dynamodb:SecondPartitionKeyValues":"7.5"}})", index);
  ExpectAllowed(request);
  Allow("dynamodb:Query",
        R"({"ForAnyValue:StringEquals":{"dynamodb:SecondPartitionKeyValues":"8"}})", index);
  ExpectDenied(request, "/index/byOwner");
  // The right to the index is none to the table, and the reverse.
  Allow("dynamodb:Query", "", index);
  ExpectDenied(QueryOf("pk = :p", {{":p", "'alice'"}}));
  Allow("dynamodb:Query");
  ExpectDenied(request);
}

TEST_F(GuardTest, AttributesAreAllThatTheRequestNames) {
  const std::string only_a =
      R"({"ForAllValues:StringEquals":{"dynamodb:Attributes":["pk","sk","a"]}})";
  Allow("dynamodb:GetItem", only_a);
  ops::GetItemRequest get = Get("{pk: 'alice', sk: 'a'}");
  get.projection_expression = "a.b[0], #k";
  get.expression_attribute_names = {{{"#k", "pk"}}};
  ExpectAllowed(get);
  get.projection_expression = "a, secret.x";
  ExpectDenied(get);
  get.projection_expression.reset();
  get.expression_attribute_names.reset();
  get.attributes_to_get = {"a", "secret"};
  ExpectDenied(get);

  Allow("dynamodb:UpdateItem", only_a);
  ops::UpdateItemRequest update;
  update.table_name = "Photos";
  update.key.bytes = notation::Item("{pk: 'alice', sk: 'a'}");
  update.expression_attribute_values = {{{":v", notation::Value("1")}}};
  update.update_expression = "SET a = :v";
  ExpectAllowed(update, "UpdateItem");
  update.update_expression = "SET a = secret";  // an operand would copy it
  ExpectDenied(update, "", "UpdateItem");
  update.update_expression = "SET a = if_not_exists(secret, :v)";
  ExpectDenied(update, "", "UpdateItem");
  update.update_expression = "SET a = :v";
  update.condition_expression = "secret = :v";  // a condition tells by trial
  ExpectDenied(update, "", "UpdateItem");

  Allow("dynamodb:PutItem", only_a);
  ExpectAllowed(Put("{pk: 'alice', sk: 'a', a: 1}"), "PutItem");
  ExpectDenied(Put("{pk: 'alice', sk: 'a', secret: 1}"), "", "PutItem");

  Allow("dynamodb:Query", only_a);
  ops::QueryRequest query = QueryOf("pk = :p", {{":p", "'alice'"}});
  ExpectAllowed(query);
  query.filter_expression = "secret = :p";
  ExpectDenied(query);

  Allow("dynamodb:Scan", only_a);
  ops::ScanRequest scan;
  scan.table_name = "Photos";
  scan.projection_expression = "a";
  ExpectAllowed(scan);
  scan.filter_expression = "attribute_exists(secret)";
  ExpectDenied(scan);
}

TEST_F(GuardTest, ComparisonsThatTakeTooLongDeny) {
  // The Deny matches nothing, and says so only after 30 million comparisons.
  std::string patterns, item = "{pk: 'alice', sk: 'a'";
  for (int i = 0; i < 3000; ++i) patterns += (i == 0 ? "" : ",") + fmt::format("\"*b{}\"", i);
  for (int i = 0; i < 10'000; ++i) item += fmt::format(", a{}: 'x'", i);
  SetPolicy(fmt::format(R"({{"Effect":"Allow","Action":"*","Resource":"*"}},)"
                        R"({{"Effect":"Deny","Action":"*","Resource":"*","Condition":)"
                        R"({{"ForAnyValue:StringLike":{{"dynamodb:Attributes":[{}]}}}}}})",
                        patterns));
  ExpectAllowed(Put("{pk: 'alice', sk: 'a', a: 'x'}"), "PutItem");
  ExpectDenied(Put(item + "}"), "takes more than 4000000 steps", "PutItem");
}

TEST_F(GuardTest, ComparisonsOfAMillisecondLeaveTheLoop) {
  std::string patterns, item = "{pk: 'alice', sk: 'a'";
  for (int i = 0; i < 300; ++i) patterns += (i == 0 ? "" : ",") + fmt::format("\"*b{}\"", i);
  for (int i = 0; i < 500; ++i) item += fmt::format(", a{}: 'x'", i);
  SetPolicy(fmt::format(R"({{"Effect":"Allow","Action":"*","Resource":"*"}},)"
                        R"({{"Effect":"Deny","Action":"*","Resource":"*","Condition":)"
                        R"({{"ForAnyValue:StringLike":{{"dynamodb:Attributes":[{}]}}}}}})",
                        patterns));
  const ops::PutItemRequest long_one = Put(item + "}");
  const Status in_loop = Ask(long_one, "PutItem", /*in_loop=*/true);
  ASSERT_FALSE(in_loop.ok());
  EXPECT_EQ(in_loop.error().code(), ErrorCode::kWouldBlock);
  EXPECT_EQ(gate_->counts().denials, 0u) << "nothing was decided";
  ExpectAllowed(long_one, "PutItem");  // as a worker decides
  EXPECT_TRUE(Ask(Put("{pk: 'alice', sk: 'a', a: 'x'}"), "PutItem", /*in_loop=*/true).ok());
}

TEST_F(GuardTest, SelectSaysWhatIsReturned) {
  Allow("dynamodb:GetItem", R"({"StringEquals":{"dynamodb:Select":"SPECIFIC_ATTRIBUTES"}})");
  ops::GetItemRequest get = Get("{pk: 'alice', sk: 'a'}");
  ExpectDenied(get);
  get.projection_expression = "a";
  ExpectAllowed(get);
  Allow("dynamodb:Query", R"({"StringEquals":{"dynamodb:Select":"COUNT"}})");
  ops::QueryRequest query = QueryOf("pk = :p", {{":p", "'alice'"}});
  ExpectDenied(query);
  query.select = Select::kCount;
  ExpectAllowed(query);
}

TEST_F(GuardTest, ReturnValuesIncludeTheItemOfAFailedCondition) {
  const std::string none = R"({"StringEquals":{"dynamodb:ReturnValues":["NONE","UPDATED_NEW"]}})";
  Allow("dynamodb:PutItem", none);
  ops::PutItemRequest put = Put("{pk: 'alice', sk: 'a'}");
  ExpectAllowed(put, "PutItem");
  put.return_values = ReturnValues::kAllOld;
  ExpectDenied(put, "", "PutItem");
  put.return_values.reset();
  put.return_values_on_condition_check_failure = ops::ReturnValuesOnConditionCheckFailure::kAllOld;
  ExpectDenied(put, "", "PutItem");
  // A denial of ALL_NEW is not evaded by asking for ALL_OLD on failure.
  SetPolicy(R"({"Effect":"Allow","Action":"dynamodb:UpdateItem","Resource":"*"},
               {"Effect":"Deny","Action":"dynamodb:UpdateItem","Resource":"*",
                "Condition":{"StringEquals":{"dynamodb:ReturnValues":"ALL_NEW"}}})");
  ops::UpdateItemRequest update;
  update.table_name = "Photos";
  update.key.bytes = notation::Item("{pk: 'alice', sk: 'a'}");
  update.return_values_on_condition_check_failure =
      ops::ReturnValuesOnConditionCheckFailure::kAllOld;
  ExpectAllowed(update, "UpdateItem");
  update.return_values = ReturnValues::kAllNew;
  ExpectDenied(update, "with an explicit deny in an identity-based policy", "UpdateItem");
}

TEST_F(GuardTest, TransactionsAreTheirElements) {
  Allow("dynamodb:PutItem",
        R"({"StringEquals":{"dynamodb:EnclosingOperation":"TransactWriteItems"}})");
  ops::TransactWriteItemsRequest request;
  ops::TransactWriteItem one;
  one.put.emplace().table_name = "Photos";
  one.put->item.bytes = notation::Item("{pk: 'alice', sk: 'a'}");
  request.transact_items = {one};
  ExpectAllowed(request);
  ExpectDenied(Put("{pk: 'alice', sk: 'a'}"), "", "PutItem");
  ops::TransactWriteItem two;
  two.condition_check.emplace().table_name = "Photos";
  two.condition_check->item.bytes = notation::Item("{pk: 'bob', sk: 'a'}");
  two.condition_check->condition_expression = "attribute_exists(pk)";
  request.transact_items.push_back(two);
  ExpectDenied(request, "dynamodb:ConditionCheckItem");
  SetPolicy(R"({"Effect":"Allow","Action":["dynamodb:PutItem","dynamodb:ConditionCheckItem"],
                "Resource":"*","Condition":)" +
            std::string(kOwnItems) + "}");
  ExpectDenied(request, "dynamodb:ConditionCheckItem");
  // The condition check may not show the item if ALL_OLD is denied.
  SetPolicy(R"({"Effect":"Allow","Action":"dynamodb:*","Resource":"*"},
               {"Effect":"Deny","Action":"dynamodb:ConditionCheckItem","Resource":"*",
                "Condition":{"StringEquals":{"dynamodb:ReturnValues":"ALL_OLD"}}})");
  ExpectAllowed(request);
  request.transact_items[1].condition_check->return_values_on_condition_check_failure =
      ops::ReturnValuesOnConditionCheckFailure::kAllOld;
  ExpectDenied(request);
}

TEST_F(GuardTest, StatementsAreTheirActions) {
  Allow("dynamodb:PartiQLSelect", kOwnItems);
  ExpectAllowed(StatementOf("SELECT * FROM Photos WHERE pk = 'alice'"));
  ExpectDenied(StatementOf("SELECT * FROM Photos WHERE pk = 'bob'"));
  ExpectDenied(StatementOf("SELECT * FROM Photos WHERE pk IN ['alice', 'bob']"));
  ExpectDenied(StatementOf("DELETE FROM Photos WHERE pk = 'alice' AND sk = 'a'"),
               "dynamodb:PartiQLDelete");
  // A scan has no leading keys, which ForAllValues takes for a match.
  ExpectAllowed(StatementOf("SELECT * FROM Photos"));
  ExpectAllowed(StatementOf("SELECT * FROM Photos WHERE pk = 'alice' OR pk = 'bob'"));
  const std::string no_scan = R"({"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":["alice"]},
                                  "Bool":{"dynamodb:FullTableScan":"false"}})";
  Allow("dynamodb:PartiQLSelect", no_scan);
  ExpectAllowed(StatementOf("SELECT * FROM Photos WHERE pk = 'alice'"));
  ExpectDenied(StatementOf("SELECT * FROM Photos"));
  ExpectDenied(StatementOf("SELECT * FROM Photos WHERE pk = 'alice' OR pk = 'bob'"));
  ExpectDenied(StatementOf("SELECT * FROM Photos WHERE sk = 'alice'"));

  Allow("dynamodb:PartiQLInsert", kOwnItems);
  ExpectAllowed(StatementOf("INSERT INTO Photos VALUE {'pk': 'alice', 'sk': 'a'}"));
  ExpectDenied(StatementOf("INSERT INTO Photos VALUE {'pk': 'bob', 'sk': 'a'}"));

  Allow("dynamodb:PartiQLUpdate",
        R"({"ForAllValues:StringEquals":{"dynamodb:Attributes":["pk","sk","a"]}})");
  ExpectAllowed(StatementOf("UPDATE Photos SET a = 1 WHERE pk = 'alice' AND sk = 'a'"));
  ExpectDenied(StatementOf("UPDATE Photos SET secret = 1 WHERE pk = 'alice' AND sk = 'a'"));
  ExpectDenied(
      StatementOf("UPDATE Photos SET a = 1 WHERE pk = 'alice' AND sk = 'a' AND secret = 1"));

  Allow("dynamodb:PartiQLSelect", "", std::string(kTable) + "/index/byOwner");
  ExpectAllowed(StatementOf("SELECT * FROM Photos.byOwner WHERE owner = 'x' AND team = 1"));
  ExpectDenied(StatementOf("SELECT * FROM Photos WHERE pk = 'alice'"));
}

TEST_F(GuardTest, StatementsOfBatchesAndTransactions) {
  Allow("dynamodb:PartiQLSelect",
        R"({"StringEquals":{"dynamodb:EnclosingOperation":"ExecuteTransaction"}})");
  ops::ExecuteTransactionRequest transaction;
  transaction.transact_statements = {{"SELECT * FROM Photos WHERE pk = 'a' AND sk = 'b'"}};
  ExpectAllowed(transaction);
  ops::BatchExecuteStatementRequest batch;
  batch.statements = {{"SELECT * FROM Photos WHERE pk = 'a' AND sk = 'b'"}};
  ExpectDenied(batch, "dynamodb:PartiQLSelect");
  // A text that is no statement is the operation's to refuse; the others count.
  batch.statements.insert(batch.statements.begin(), {"SELECT FROM"});
  ExpectDenied(batch);
}

TEST_F(GuardTest, RequestsThatNoOperationServes) {
  Allow("dynamodb:GetItem", kOwnItems);
  ops::GetItemRequest get = Get("{pk: 'alice', sk: 'a'}");
  get.table_name = "Missing";
  ExpectDenied(get);  // tells nothing of the table
  Allow("dynamodb:GetItem", kOwnItems, "*");
  const Status missing = Ask(get);
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message(), "Requested resource not found");

  Allow("dynamodb:GetItem", R"({"ForAllValues:StringEquals":{"dynamodb:Attributes":["pk","sk"]}})");
  get = Get("{pk: 'alice', sk: 'a'}");
  get.projection_expression = "a..b";
  const Status malformed = Ask(get);
  ASSERT_FALSE(malformed.ok());
  EXPECT_TRUE(malformed.error().message().starts_with("Invalid ProjectionExpression"))
      << malformed.error().message();
}

TEST_F(GuardTest, TagsOfRequestsAndTables) {
  Create("Tagged", {ops::Tag{"team", "red"}});
  Allow("dynamodb:GetItem", R"({"StringEquals":{"aws:ResourceTag/team":"red"}})", "*");
  ops::GetItemRequest get = Get("{pk: 'alice', sk: 'a'}");
  ExpectDenied(get);
  get.table_name = "Tagged";
  ExpectAllowed(get);

  SetPolicy(R"({"Effect":"Allow","Action":["dynamodb:CreateTable"],"Resource":"*",
                "Condition":{"StringEquals":{"aws:RequestTag/team":"red"}}})");
  ops::CreateTableRequest create;
  create.table_name = "New";
  ExpectDenied(create, "dynamodb:CreateTable", "CreateTable");
  create.tags = std::vector<ops::Tag>{{"team", "red"}};
  ExpectDenied(create, "dynamodb:TagResource", "CreateTable");
}

// A request is judged by the tags that the table then has.
TEST_F(GuardTest, TagsThatOccurTwiceCountAsTheyAreStored) {
  SetPolicy(R"({"Effect":"Allow","Action":["dynamodb:CreateTable","dynamodb:TagResource"],
                "Resource":"*","Condition":{"StringEquals":{"aws:RequestTag/team":"red"}}})");
  ops::CreateTableRequest create;
  create.table_name = "New";
  const auto tagged = [&](std::vector<ops::Tag> tags) {
    create.tags = std::move(tags);
    return create;
  };
  ExpectAllowed(tagged({{"team", "red"}}), "CreateTable");
  ExpectDenied(tagged({{"team", "red"}, {"team", "blue"}}), "dynamodb:CreateTable", "CreateTable");
  ExpectAllowed(tagged({{"team", "blue"}, {"team", "red"}}), "CreateTable");
  // By case alone: as the policy writes it, else the first by bytes, in whatever order they come.
  ExpectAllowed(tagged({{"Team", "blue"}, {"team", "red"}}), "CreateTable");
  ExpectAllowed(tagged({{"team", "red"}, {"Team", "blue"}}), "CreateTable");
  ExpectAllowed(tagged({{"Team", "blue"}, {"TEAM", "red"}}), "CreateTable");
  ExpectDenied(tagged({{"Team", "red"}, {"TEAM", "blue"}}), "dynamodb:CreateTable", "CreateTable");

  Create("Both", {ops::Tag{"Team", "blue"}, ops::Tag{"team", "red"}});
  ops::GetItemRequest get = Get("{pk: 'alice', sk: 'a'}");
  get.table_name = "Both";
  Allow("dynamodb:GetItem", R"({"StringEquals":{"aws:ResourceTag/team":"red"}})", "*");
  ExpectAllowed(get);
  Allow("dynamodb:GetItem", R"({"StringEquals":{"aws:ResourceTag/Team":"red"}})", "*");
  ExpectDenied(get);
}

TEST_F(GuardTest, GlobalKeys) {
  Allow("dynamodb:GetItem", R"({"IpAddress":{"aws:SourceIp":"192.0.2.0/24"},
                                "StringLike":{"aws:UserAgent":"tests/*"},
                                "Bool":{"aws:SecureTransport":"false"},
                                "DateGreaterThan":{"aws:CurrentTime":"2020-01-01T00:00:00Z"}})");
  ExpectAllowed(Get("{pk: 'alice', sk: 'a'}"));
  Allow("dynamodb:GetItem", R"({"IpAddress":{"aws:SourceIp":"198.51.100.0/24"}})");
  ExpectDenied(Get("{pk: 'alice', sk: 'a'}"));
}

TEST_F(GuardTest, SecureTransportIsTls) {
  Allow("dynamodb:GetItem", R"({"Bool":{"aws:SecureTransport":"true"}})");
  ExpectDenied(Get("{pk: 'alice', sk: 'a'}"));
  peer_.secure = true;
  ExpectAllowed(Get("{pk: 'alice', sk: 'a'}"));
}

TEST_F(GuardTest, OperationsWithoutAFunctionGoByTheirName) {
  Allow("dynamodb:DescribeTable");
  ops::DescribeTableRequest describe;
  describe.table_name = "Photos";
  ExpectAllowed(describe, "DescribeTable");
  describe.table_name = "Other";
  ExpectDenied(describe, "dynamodb:DescribeTable on resource: arn:", "DescribeTable");
  ExpectDenied(ops::ListTablesRequest{}, "dynamodb:ListTables on resource: *", "ListTables");
  Allow("dynamodb:ListTables", "", "*");
  ExpectAllowed(ops::ListTablesRequest{}, "ListTables");
  Allow("*", "", "*");
  ExpectDenied(ops::ListTablesRequest{}, "dynamodb:Unheard", "Unheard");

  const std::string stream = std::string(kTable) + "/stream/2026-01-01T00:00:00.000";
  Allow("dynamodb:GetRecords", "", stream);
  ops::GetRecordsRequest records;
  records.shard_iterator = stream + "|1|abc";
  ExpectAllowed(records, "GetRecords");
  records.shard_iterator = std::string(kTable) + "/stream/2026-01-02T00:00:00.000|1|abc";
  ExpectDenied(records, "", "GetRecords");
}

TEST_F(GuardTest, PoliciesOfTables) {
  const auto attach = [this](const std::string& statement) {
    attached_.id = store_->Find("Photos")->descriptor.table_id;
    attached_.policy =
        access::Policy::Parse(R"({"Version":"2012-10-17","Statement":[)" + statement + "]}",
                              access::PolicyKind::kResource, "attached")
            .value();
  };
  Allow("dynamodb:PutItem");
  attach(R"({"Effect":"Allow","Principal":{"AWS":"arn:aws:iam::111122223333:user/alice"},
             "Action":["dynamodb:GetItem","dynamodb:Query"],"Resource":"*",
             "Condition":{"ForAllValues:StringEquals":{"dynamodb:LeadingKeys":["alice"]}}})");
  ExpectAllowed(Get("{pk: 'alice', sk: 'a'}"));
  ExpectDenied(Get("{pk: 'bob', sk: 'a'}"));  // the keys that the attached policy reads are there
  // An index has its table's policy.
  ops::QueryRequest request = QueryOf("#o = :o AND team = :t", {{":o", "'alice'"}, {":t", "1"}});
  request.index_name = "byOwner";
  request.expression_attribute_names = {{{"#o", "owner"}}};
  ExpectAllowed(request);
  attach(R"({"Effect":"Deny","Principal":"*","Action":"dynamodb:PutItem","Resource":"*"})");
  ExpectDenied(Put("{pk: 'alice', sk: 'a'}"), "with an explicit deny in a resource-based policy",
               "PutItem");
  attached_.policy = nullptr;  // could not be read
  ExpectDenied(Put("{pk: 'alice', sk: 'a'}"), "", "PutItem");
}

TEST_F(GuardTest, APolicyMayNotLockItsAuthorOut) {
  Allow("dynamodb:PutResourcePolicy");
  ops::PutResourcePolicyRequest put;
  put.resource_arn = std::string(kTable);
  put.policy = R"({"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*",
                   "Action":"dynamodb:PutResourcePolicy","Resource":"*"}]})";
  ExpectDenied(put, "will not allow you to update the resource policy in the future",
               "PutResourcePolicy");
  put.confirm_remove_self_resource_access = true;
  ExpectAllowed(put, "PutResourcePolicy");
}

}  // namespace
}  // namespace stator::guard
