#include "api/decode.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "api/bulk_operations.h"

namespace stator::api {
namespace {

using ops::ValuePlace;

// Decoding outlives neither the parser nor the text, so both stay here.
template <typename Request>
Result<Request> DecodeText(const std::string& json) {
  simdjson::dom::parser parser;
  simdjson::dom::element body;
  EXPECT_EQ(parser.parse(json).get(body), simdjson::SUCCESS) << json;
  return Decode<Request>(body);
}

template <typename Request>
Error DecodeError(const std::string& json) {
  Result<Request> result = DecodeText<Request>(json);
  if (result.ok()) return InternalError("decoded without an error");
  return result.error();
}

using ErrorOf = std::function<Error(const std::string&)>;
const std::map<std::string, ErrorOf>& Decoders() {
  static const std::map<std::string, ErrorOf> decoders = {
      {"CreateTable", DecodeError<ops::CreateTableRequest>},
      {"DescribeTable", DecodeError<ops::DescribeTableRequest>},
      {"UpdateTable", DecodeError<ops::UpdateTableRequest>},
      {"ListTables", DecodeError<ops::ListTablesRequest>},
      {"TagResource", DecodeError<ops::TagResourceRequest>},
      {"UntagResource", DecodeError<ops::UntagResourceRequest>},
      {"PutItem", DecodeError<ops::PutItemRequest>},
      {"GetItem", DecodeError<ops::GetItemRequest>},
      {"UpdateItem", DecodeError<ops::UpdateItemRequest>},
      {"DeleteItem", DecodeError<ops::DeleteItemRequest>},
      {"BatchGetItem", DecodeError<ops::BatchGetItemRequest>},
      {"BatchWriteItem", DecodeError<ops::BatchWriteItemRequest>},
      {"Query", DecodeError<ops::QueryRequest>},
      {"Scan", DecodeError<ops::ScanRequest>},
  };
  return decoders;
}

struct BadBody {
  const char* operation;
  const char* json;
  const char* message;
};

// --- JSON types ----------------------------------------------------------------------------------

const BadBody kMismatches[] = {
    {"GetItem", R"([])", ""},
    {"GetItem", R"("x")", ""},
    {"GetItem", R"({"TableName":3})", "NUMBER_VALUE cannot be converted to String"},
    {"GetItem", R"({"TableName":3.5})", "DECIMAL_VALUE cannot be converted to String"},
    {"GetItem", R"({"TableName":true})", "TRUE_VALUE cannot be converted to String"},
    {"GetItem", R"({"TableName":false})", "FALSE_VALUE cannot be converted to String"},
    {"GetItem", R"({"TableName":[]})", "Unrecognized collection type class java.lang.String"},
    {"GetItem", R"({"TableName":{}})", "Start of structure or map found where not expected"},
    {"GetItem", R"({"ReturnConsumedCapacity":1})", "NUMBER_VALUE cannot be converted to String"},
    {"GetItem", R"({"Key":3})", "Unexpected field type"},
    {"GetItem", R"({"Key":"a"})", "Unexpected field type"},
    {"GetItem", R"({"Key":[]})",
     "Unrecognized collection type java.util.Map<java.lang.String, "
     "com.amazonaws.dynamodb.v20120810.AttributeValue>"},
    {"GetItem", R"({"Key":{"a":3}})", "Unexpected value type in payload"},
    {"GetItem", R"({"ConsistentRead":3})", "NUMBER_VALUE cannot be converted to Boolean"},
    {"GetItem", R"({"ConsistentRead":"maybe"})", "Unexpected token received from parser"},
    {"GetItem", R"({"ConsistentRead":[]})", "Unrecognized collection type class java.lang.Boolean"},
    {"GetItem", R"({"ConsistentRead":{}})", "Start of structure or map found where not expected"},
    {"GetItem", R"({"AttributesToGet":"a"})", "Unexpected field type"},
    {"GetItem", R"({"AttributesToGet":{}})", "Start of structure or map found where not expected"},
    {"GetItem", R"({"AttributesToGet":[1]})", "NUMBER_VALUE cannot be converted to String"},
    {"GetItem", R"({"ExpressionAttributeNames":[]})",
     "Unrecognized collection type java.util.Map<java.lang.String, java.lang.String>"},
    {"GetItem", R"({"ExpressionAttributeNames":"x"})", "Unexpected field type"},
    {"GetItem", R"({"ExpressionAttributeNames":{"#a":1}})",
     "NUMBER_VALUE cannot be converted to String"},
    {"Query", R"({"Limit":"1"})", "STRING_VALUE cannot be converted to Integer"},
    {"Query", R"({"Limit":true})", "TRUE_VALUE cannot be converted to Integer"},
    {"Query", R"({"Limit":[]})", "Unrecognized collection type class java.lang.Integer"},
    {"Query", R"({"Limit":{}})", "Start of structure or map found where not expected"},
    {"Query", R"({"KeyConditions":[]})",
     "Unrecognized collection type java.util.Map<java.lang.String, "
     "com.amazonaws.dynamodb.v20120810.Condition>"},
    {"Query", R"({"KeyConditions":{"a":[]}})",
     "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.Condition"},
    {"Query", R"({"KeyConditions":{"a":1}})", "Unexpected value type in payload"},
    {"Query", R"({"KeyConditions":{"a":{"AttributeValueList":[1]}}})",
     "Unexpected value type in payload"},
    {"PutItem", R"({"Expected":{"a":{"Value":"s"}}})", "Unexpected field type"},
    {"PutItem", R"({"Expected":{"a":{"Value":[]}}})",
     "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.AttributeValue"},
    {"PutItem", R"({"ExpressionAttributeValues":{":a":"s"}})", "Unexpected value type in payload"},
    {"CreateTable", R"({"ProvisionedThroughput":"x"})", "Unexpected field type"},
    {"CreateTable", R"({"ProvisionedThroughput":[]})",
     "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.ProvisionedThroughput"},
    {"CreateTable", R"({"ProvisionedThroughput":{"ReadCapacityUnits":"1"}})",
     "STRING_VALUE cannot be converted to Long"},
    {"CreateTable", R"({"KeySchema":["a"]})", "Unexpected value type in payload"},
    {"CreateTable", R"({"KeySchema":[[]]})",
     "Unrecognized collection type class com.amazonaws.dynamodb.v20120810.KeySchemaElement"},
    {"BatchWriteItem", R"({"RequestItems":[]})",
     "Unrecognized collection type java.util.Map<java.lang.String, "
     "java.util.List<com.amazonaws.dynamodb.v20120810.WriteRequest>>"},
    {"BatchWriteItem", R"({"RequestItems":{"abc":{}}})",
     "Start of structure or map found where not expected"},
    {"BatchWriteItem", R"({"RequestItems":{"abc":[{"PutRequest":1}]}})", "Unexpected field type"},
    {"BatchWriteItem", R"({"RequestItems":{"abc":[1]}})", "Unexpected value type in payload"},
    {"BatchWriteItem", R"({"RequestItems":{"abc":1}})",
     "class sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl cannot be cast to class "
     "java.lang.Class "
     "(sun.reflect.generics.reflectiveObjects.ParameterizedTypeImpl and java.lang.Class are in "
     "module java.base of "
     "loader 'bootstrap')"},
    {"BatchGetItem", R"({"RequestItems":{"abc":{"Keys":[[]]}}})",
     "Unrecognized collection type java.util.Map<java.lang.String, "
     "com.amazonaws.dynamodb.v20120810.AttributeValue>"},
    // A type error anywhere comes before a constraint failure anywhere.
    {"PutItem", R"({"TableName":"","ReturnValues":"nonsense","ConditionExpression":1})",
     "NUMBER_VALUE cannot be converted to String"},
};

TEST(DecodeTest, TypeMismatches) {
  for (const BadBody& bad : kMismatches) {
    const Error error = Decoders().at(bad.operation)(bad.json);
    EXPECT_EQ(error.code(), ErrorCode::kSerialization) << bad.operation << bad.json;
    EXPECT_EQ(error.message(), bad.message) << bad.operation << bad.json;
  }
}

// --- Constraints ---------------------------------------------------------------------------------

const BadBody kViolations[] = {
    // A missing name of the table is reported alone, although the item is missing too.
    {"PutItem", R"({})",
     "1 validation error detected: Value null at 'tableName' failed to satisfy constraint: Member "
     "must not be null"},
    {"GetItem", R"({"TableName":"abc"})",
     "1 validation error detected: Value null at 'key' failed to satisfy constraint: Member must "
     "not be null"},
    {"GetItem", R"({"TableName":"abc","Key":null})",
     "1 validation error detected: Value null at 'key' failed to satisfy constraint: Member must "
     "not be null"},
    {"CreateTable", R"({"BillingMode":"x"})",
     "The parameter 'TableName' is required but was not present in the request"},
    {"DescribeTable", R"({})",
     "The parameter 'TableName' is required but was not present in the request"},
    // Names of tables.
    {"GetItem", R"({"TableName":"a b","ReturnConsumedCapacity":"x"})",
     "1 validation error detected: Value 'a b' at 'tableName' failed to satisfy constraint: Member "
     "must satisfy regular "
     "expression pattern: [a-zA-Z0-9_.-]+"},
    {"GetItem", R"({"TableName":""})",
     "1 validation error detected: Value '' at 'tableName' failed to satisfy constraint: Member "
     "must have length greater "
     "than or equal to 1"},
    {"CreateTable", R"({"TableName":"ab"})",
     "1 validation error detected: Value 'ab' at 'tableName' failed to satisfy constraint: Member "
     "must have length "
     "greater than or equal to 3"},
    // Enums, several at once.
    {"PutItem", R"({"TableName":"abc","Item":{},"ReturnConsumedCapacity":"y","ReturnValues":"x"})",
     "2 validation errors detected: Value 'x' at 'returnValues' failed to satisfy constraint: "
     "Member must satisfy enum "
     "value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]; Value 'y' at "
     "'returnConsumedCapacity' failed to "
     "satisfy constraint: Member must satisfy enum value set: [INDEXES, TOTAL, NONE]"},
    {"UpdateItem",
     R"({"TableName":"abc","Key":{},"ReturnConsumedCapacity":"y","ReturnValues":"x"})",
     "1 validation error detected: Value 'x' at 'returnValues' failed to satisfy constraint: "
     "Member must satisfy enum "
     "value set: [ALL_NEW, UPDATED_OLD, ALL_OLD, NONE, UPDATED_NEW]"},
    {"DeleteItem",
     R"({"TableName":"abc","Key":{},"Expected":{"a":{"ComparisonOperator":"x"}},"ConditionalOperator":"and"})",
     "2 validation errors detected: Value 'x' at 'expected.a.member.comparisonOperator' failed to "
     "satisfy constraint: "
     "Member must satisfy enum value set: [IN, NULL, BETWEEN, LT, NOT_CONTAINS, EQ, GT, NOT_NULL, "
     "NE, LE, BEGINS_WITH, "
     "GE, CONTAINS]; Value 'and' at 'conditionalOperator' failed to satisfy constraint: Member "
     "must satisfy enum value "
     "set: [OR, AND]"},
    // Lengths of lists, bounds of numbers.
    {"GetItem", R"({"TableName":"abc","Key":{},"AttributesToGet":[]})",
     "1 validation error detected: Value '[]' at 'attributesToGet' failed to satisfy constraint: "
     "Member must have length "
     "greater than or equal to 1"},
    {"Scan", R"({"TableName":"abc","Limit":0})",
     "1 validation error detected: Value '0' at 'limit' failed to satisfy constraint: Member must "
     "have value greater than "
     "or equal to 1"},
    {"Scan", R"({"TableName":"abc","Limit":-1.5})",
     "1 validation error detected: Value '-1' at 'limit' failed to satisfy constraint: Member must "
     "have value greater "
     "than or equal to 1"},
    {"Scan", R"({"TableName":"abc","TotalSegments":1000001,"Segment":-1})",
     "2 validation errors detected: Value '1000001' at 'totalSegments' failed to satisfy "
     "constraint: Member must have "
     "value less than or equal to 1000000; Value '-1' at 'segment' failed to satisfy constraint: "
     "Member must have value "
     "greater than or equal to 0"},
    {"Scan", R"({"TableName":"abc","IndexName":"a!"})",
     "2 validation errors detected: Value 'a!' at 'indexName' failed to satisfy constraint: Member "
     "must satisfy regular "
     "expression pattern: [a-zA-Z0-9_.-]+; Value 'a!' at 'indexName' failed to satisfy constraint: "
     "Member must have "
     "length greater than or equal to 3"},
    {"ListTables", R"({"Limit":101})",
     "1 validation error detected: Value '101' at 'limit' failed to satisfy constraint: Member "
     "must have value less than "
     "or equal to 100"},
    // The newer validator.
    {"Query", R"({"TableName":"abc","Limit":0})",
     "1 validation error detected: Value at 'Limit' failed to satisfy constraint: Member must have "
     "value greater than or "
     "equal to 1"},
    {"Query", R"({"TableName":"abc","KeyConditions":{"a":{}}})",
     "1 validation error detected: Value at 'KeyConditions.a.member.ComparisonOperator' failed to "
     "satisfy constraint: "
     "Member must not be null"},
    {"BatchGetItem", R"({"RequestItems":{"abc":{"Keys":[]}}})",
     "1 validation error detected: Value at 'RequestItems.abc.member.Keys' failed to satisfy "
     "constraint: Member must have "
     "length greater than or equal to 1"},
    // Batches.
    {"BatchGetItem", R"({})", "The requestItems parameter is required for BatchGetItem"},
    {"BatchWriteItem", R"({"RequestItems":{}})",
     "The requestItems parameter is required for BatchWriteItem"},
    {"BatchWriteItem", R"({"RequestItems":{"abc":[]}})",
     "1 validation error detected: Value '{abc=[]}' at 'requestItems' failed to satisfy "
     "constraint: Map value must "
     "satisfy constraint: [Member must have length less than or equal to 25, Member must have "
     "length greater than or "
     "equal to 1]"},
    {"BatchWriteItem",
     R"({"RequestItems":{"a!":[{"PutRequest":{}}]},"ReturnConsumedCapacity":"x"})",
     "3 validation errors detected: Value "
     "'{a!=[com.amazonaws.dynamodb.v20120810.WriteRequest@ca7da8f5]}' at "
     "'requestItems' failed to satisfy constraint: Map keys must satisfy constraint: [Member must "
     "have length less than "
     "or equal to 255, Member must have length greater than or equal to 1, Member must satisfy "
     "regular expression "
     "pattern: [a-zA-Z0-9_.-]+]; Value null at 'requestItems.a!.member.1.member.putRequest.item' "
     "failed to satisfy "
     "constraint: Member must not be null; Value 'x' at 'returnConsumedCapacity' failed to satisfy "
     "constraint: Member "
     "must satisfy enum value set: [INDEXES, TOTAL, NONE]"},
    // Nested paths.
    {"CreateTable",
     R"({"TableName":"abc","KeySchema":[{"AttributeName":"a","KeyType":"x"},{"KeyType":"HASH"}]})",
     "2 validation errors detected: Value 'x' at 'keySchema.1.member.keyType' failed to satisfy "
     "constraint: Member must "
     "satisfy enum value set: [HASH, RANGE]; Value null at 'keySchema.2.member.attributeName' "
     "failed to satisfy "
     "constraint: Member must not be null"},
    {"CreateTable",
     R"({"TableName":"abc","SSESpecification":{"SSEType":"x"},"AttributeDefinitions":[{"AttributeName":"a","AttributeType":"X"}]})",
     "2 validation errors detected: Value 'X' at 'attributeDefinitions.1.member.attributeType' "
     "failed to satisfy "
     "constraint: Member must satisfy enum value set: [B, N, S]; Value 'x' at "
     "'sSESpecification.sSEType' failed to "
     "satisfy constraint: Member must satisfy enum value set: [AES256, KMS]"},
    {"UpdateTable",
     R"({"TableName":"abc","GlobalSecondaryIndexUpdates":[{"Create":{"IndexName":"abc"}}]})",
     "2 validation errors detected: Value null at "
     "'globalSecondaryIndexUpdates.1.member.create.keySchema' failed to "
     "satisfy constraint: Member must not be null; Value null at "
     "'globalSecondaryIndexUpdates.1.member.create.projection' failed to satisfy constraint: "
     "Member must not be null"},
    {"TagResource", R"({"ResourceArn":"arn","Tags":[{"Key":"","Value":"v"}]})",
     "1 validation error detected: Value '' at 'tags.1.member.key' failed to satisfy constraint: "
     "Member must have length "
     "greater than or equal to 1"},
    {"UntagResource", R"({"ResourceArn":"arn","TagKeys":[null]})",
     "1 validation error detected: Value null at 'tagKeys.1.member' failed to satisfy constraint: "
     "Member must not be null"},
};

TEST(DecodeTest, Violations) {
  for (const BadBody& bad : kViolations) {
    const Error error = Decoders().at(bad.operation)(bad.json);
    EXPECT_EQ(error.code(), ErrorCode::kValidation) << bad.operation << bad.json;
    EXPECT_EQ(error.message(), bad.message) << bad.operation << bad.json;
  }
}

TEST(DecodeTest, AtMostTenFailuresAreListed) {
  std::string json = R"({"TableName":"abc","Tags":[)";
  for (int i = 0; i < 12; ++i) json += i == 0 ? "{}" : ",{}";
  json += "]}";
  const Error error = DecodeError<ops::CreateTableRequest>(json);
  EXPECT_TRUE(error.message().starts_with("10 validation errors detected: ")) << error.message();
  EXPECT_TRUE(error.message().ends_with(
      "at 'tags.5.member.value' failed to satisfy constraint: Member must not be null"))
      << error.message();
}

TEST(DecodeTest, LengthsCountCharactersButAttributeNamesBytes) {
  // 256 characters of two bytes each fit a tag value, 257 do not.
  std::string value;
  for (int i = 0; i < 256; ++i) value += "\xc3\xa9";
  const auto tagged = [](const std::string& v) {
    return R"({"ResourceArn":"arn","Tags":[{"Key":"k","Value":")" + v + R"("}]})";
  };
  EXPECT_TRUE(DecodeText<ops::TagResourceRequest>(tagged(value)).ok());
  EXPECT_FALSE(DecodeText<ops::TagResourceRequest>(tagged(value + "x")).ok());
  // Outside the basic plane a character counts twice.
  std::string wide;
  for (int i = 0; i < 128; ++i) wide += "\xf0\x9f\x98\x80";
  EXPECT_TRUE(DecodeText<ops::TagResourceRequest>(tagged(wide)).ok());
  EXPECT_FALSE(DecodeText<ops::TagResourceRequest>(tagged(wide + "x")).ok());

  const auto item = [](size_t length) {
    return R"({"TableName":"abc","Item":{")" + std::string(length, 'a') + R"(":{"S":"x"}}})";
  };
  EXPECT_TRUE(DecodeText<ops::PutItemRequest>(item(65535)).ok());
  const Error error = DecodeError<ops::PutItemRequest>(item(65536));
  EXPECT_TRUE(error.message().ends_with(
      "at 'item' failed to satisfy constraint: Map keys must satisfy constraint: "
      "[Member must have length less than or equal to 65535]"))
      << error.message().substr(error.message().size() - 200);
}

TEST(DecodeTest, TableNamesAndArns) {
  const auto get = [](const std::string& table) {
    return DecodeText<ops::GetItemRequest>(R"({"TableName":")" + table + R"(","Key":{}})").ok();
  };
  EXPECT_TRUE(get("a"));
  EXPECT_TRUE(get(std::string(255, 'a')));
  EXPECT_FALSE(get(std::string(256, 'a')));
  EXPECT_TRUE(get("arn:aws:dynamodb:us-east-1:000000000000:table/abc"));
  EXPECT_TRUE(get("arn:" + std::string(1020, 'x')));
  EXPECT_FALSE(get("arn:" + std::string(1021, 'x')));
}

// --- What is decoded -----------------------------------------------------------------------------

TEST(DecodeTest, NullsUnknownMembersDuplicatesAndNumbers) {
  auto query = DecodeText<ops::QueryRequest>(
      R"({"TableName":"old","tablename":"x","Nonsense":{"a":[1]},"Limit":7.9,"IndexName":null,"Select":"COUNT",)"
      R"("ConsistentRead":"Yes","ScanIndexForward":"0","ExpressionAttributeNames":{"#a":"x","#b":"y","#a":"z"},)"
      R"("TableName":"new"})");
  ASSERT_TRUE(query.ok()) << query.error().message();
  EXPECT_EQ(query->table_name, "new");
  EXPECT_EQ(query->limit, 7);
  EXPECT_FALSE(query->index_name.has_value());
  EXPECT_EQ(query->select, ops::Select::kCount);
  EXPECT_EQ(query->consistent_read, true);
  EXPECT_EQ(query->scan_index_forward, false);
  const ops::ExpressionAttributeNames names = {{"#b", "y"}, {"#a", "z"}};
  EXPECT_EQ(query->expression_attribute_names, names);
  EXPECT_FALSE(query->expression_attribute_values.has_value());

  // A bad value that a good one replaces is no failure.
  EXPECT_TRUE(
      DecodeText<ops::ScanRequest>(R"({"TableName":"!","Limit":0,"TableName":"abc","Limit":1})")
          .ok());
}

TEST(DecodeTest, NumbersBeyondTheirTypeAreRefused) {
  const auto limit = [](std::string_view number) -> std::string {
    const auto scan =
        DecodeText<ops::ScanRequest>(R"({"TableName":"abc","Limit":)" + std::string(number) + "}");
    if (scan.ok()) return std::to_string(*scan->limit);
    EXPECT_EQ(scan.error().code(), ErrorCode::kSerialization) << number;
    return scan.error().message();
  };
  EXPECT_EQ(limit("2147483647"), "2147483647");
  EXPECT_EQ(limit("2147483647.9"), "2147483647") << "a fraction is cut off";
  for (std::string_view whole : {"2147483648", "99999999999", "-2147483649", "9223372036854775808"})
    EXPECT_EQ(limit(whole), "NUMBER_VALUE cannot be converted to Integer") << whole;
  for (std::string_view other : {"1e300", "-1e300", "2147483648.5", "99999999999999999999.5"})
    EXPECT_EQ(limit(other), "DECIMAL_VALUE cannot be converted to Integer") << other;
}

TEST(DecodeTest, DuplicatesInLongMapsKeepTheLast) {
  std::string json = R"({"TableName":"abc","ExpressionAttributeNames":{)";
  for (int i = 0; i < 100; ++i) {
    if (i > 0) json += ",";
    json += "\"#" + std::to_string(i % 40) + "\":\"v" + std::to_string(i) + "\"";
  }
  json += "}}";
  auto scan = DecodeText<ops::ScanRequest>(json);
  ASSERT_TRUE(scan.ok());
  std::map<std::string, std::string> names(scan->expression_attribute_names->begin(),
                                           scan->expression_attribute_names->end());
  EXPECT_EQ(scan->expression_attribute_names->size(), 40u);
  EXPECT_EQ(names["#0"], "v80");
  EXPECT_EQ(names["#19"], "v99");
  EXPECT_EQ(names["#20"], "v60");
}

TEST(DecodeTest, PutItem) {
  auto put = DecodeText<ops::PutItemRequest>(
      R"~({"TableName":"abc","Item":{"pk":{"S":"k"},"n":{"N":"1.50"}},"ConditionExpression":"attribute_not_exists(pk)",)~"
      R"("ExpressionAttributeValues":{":v":{"N":"7"}},"ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"TOTAL",)"
      R"("ReturnItemCollectionMetrics":"SIZE","ReturnValuesOnConditionCheckFailure":"ALL_OLD"})");
  ASSERT_TRUE(put.ok()) << put.error().message();
  EXPECT_EQ(put->table_name, "abc");
  EXPECT_EQ(put->item.view().Find("pk").text(), "k");
  EXPECT_EQ(put->item.view().Find("n").text(), "1.5");
  EXPECT_EQ(put->condition_expression, "attribute_not_exists(pk)");
  ASSERT_EQ(put->expression_attribute_values->size(), 1u);
  EXPECT_EQ((*put->expression_attribute_values)[0].first, ":v");
  EXPECT_EQ(model::ValueView((*put->expression_attribute_values)[0].second).text(), "7");
  EXPECT_EQ(put->return_values, ops::ReturnValues::kAllOld);
  EXPECT_EQ(put->return_consumed_capacity, ops::ReturnConsumedCapacity::kTotal);
  EXPECT_EQ(put->return_item_collection_metrics, ops::ReturnItemCollectionMetrics::kSize);
  EXPECT_EQ(put->return_values_on_condition_check_failure,
            ops::ReturnValuesOnConditionCheckFailure::kAllOld);
  EXPECT_FALSE(put->expected.has_value());
  EXPECT_TRUE(put->value_errors.empty());
}

TEST(DecodeTest, LegacyParameters) {
  auto update = DecodeText<ops::UpdateItemRequest>(
      R"({"TableName":"abc","Key":{"pk":{"S":"k"}},"ConditionalOperator":"OR","AttributeUpdates":{)"
      R"("a":{"Value":{"N":"1"},"Action":"ADD"},"b":{"Action":"DELETE"}},"Expected":{)"
      R"("c":{"Exists":false},"d":{"ComparisonOperator":"BETWEEN","AttributeValueList":[{"N":"1"},{"N":"2"}]}}})");
  ASSERT_TRUE(update.ok()) << update.error().message();
  ASSERT_EQ(update->attribute_updates->size(), 2u);
  EXPECT_EQ((*update->attribute_updates)[0].attribute, "a");
  EXPECT_EQ((*update->attribute_updates)[0].action, ops::AttributeAction::kAdd);
  EXPECT_EQ(model::ValueView(*(*update->attribute_updates)[0].value).text(), "1");
  EXPECT_FALSE((*update->attribute_updates)[1].value.has_value());
  ASSERT_EQ(update->expected->size(), 2u);
  EXPECT_EQ((*update->expected)[0].exists, false);
  EXPECT_EQ((*update->expected)[1].comparison_operator, ops::ComparisonOperator::kBetween);
  ASSERT_EQ((*update->expected)[1].values->size(), 2u);
  EXPECT_EQ(model::ValueView((*(*update->expected)[1].values)[1]).text(), "2");
  EXPECT_EQ(update->conditional_operator, ops::ConditionalOperator::kOr);
}

TEST(DecodeTest, Batches) {
  auto get = DecodeText<ops::BatchGetItemRequest>(
      R"({"RequestItems":{"abc":{"Keys":[{"pk":{"S":"1"}},{"pk":{"S":"2"}}],"ConsistentRead":true},)"
      R"("def":{"Keys":[{"pk":{"S":"3"}}],"ProjectionExpression":"#a","ExpressionAttributeNames":{"#a":"b"}}}})");
  ASSERT_TRUE(get.ok()) << get.error().message();
  ASSERT_EQ(get->request_items.size(), 2u);
  EXPECT_EQ(get->request_items[0].table_name, "abc");
  ASSERT_EQ(get->request_items[0].keys.size(), 2u);
  EXPECT_EQ(get->request_items[0].keys[1].view().Find("pk").text(), "2");
  EXPECT_EQ(get->request_items[0].consistent_read, true);
  EXPECT_EQ(get->request_items[1].projection_expression, "#a");

  auto write = DecodeText<ops::BatchWriteItemRequest>(
      R"({"RequestItems":{"abc":[{"PutRequest":{"Item":{"pk":{"S":"1"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"2"}}}}]}})");
  ASSERT_TRUE(write.ok()) << write.error().message();
  ASSERT_EQ(write->request_items.size(), 1u);
  EXPECT_EQ(write->request_items[0].table_name, "abc");
  ASSERT_EQ(write->request_items[0].requests.size(), 2u);
  EXPECT_EQ(write->request_items[0].requests[0].put_request->item.view().Find("pk").text(), "1");
  EXPECT_FALSE(write->request_items[0].requests[0].delete_request.has_value());
  EXPECT_EQ(write->request_items[0].requests[1].delete_request->key.view().Find("pk").text(), "2");
}

TEST(DecodeTest, BatchGetTakesAHundredKeysPerTable) {
  const auto body = [](int count) {
    std::string json = R"({"RequestItems":{"abc":{"Keys":[)";
    for (int i = 0; i < count; ++i)
      json += (i > 0 ? "," : "") + ("{\"pk\":{\"S\":\"" + std::to_string(i) + "\"}}");
    return json + "]}}}";
  };
  EXPECT_TRUE(DecodeText<ops::BatchGetItemRequest>(body(100)).ok());
  EXPECT_EQ(DecodeError<ops::BatchGetItemRequest>(body(101)).message(),
            "1 validation error detected: Value at 'RequestItems.abc.member.Keys' failed to "
            "satisfy constraint: Member "
            "must have length less than or equal to 100");
}

TEST(DecodeTest, QueryAndScan) {
  auto query = DecodeText<ops::QueryRequest>(
      R"({"TableName":"abc","IndexName":"idx","KeyConditions":{"pk":{"ComparisonOperator":"EQ",)"
      R"("AttributeValueList":[{"S":"x"}]}},"QueryFilter":{"f":{"ComparisonOperator":"NULL"}},)"
      R"("ExclusiveStartKey":{"pk":{"S":"x"}},"AttributesToGet":["a","b"]})");
  ASSERT_TRUE(query.ok()) << query.error().message();
  EXPECT_EQ((*query->key_conditions)[0].attribute, "pk");
  EXPECT_EQ((*query->query_filter)[0].comparison_operator, ops::ComparisonOperator::kNull);
  EXPECT_EQ(query->exclusive_start_key->view().Find("pk").text(), "x");
  EXPECT_EQ(query->attributes_to_get, (std::vector<std::string>{"a", "b"}));

  auto scan = DecodeText<ops::ScanRequest>(
      R"({"TableName":"abc","Segment":0,"TotalSegments":4,"FilterExpression":"a = :a"})");
  ASSERT_TRUE(scan.ok());
  EXPECT_EQ(scan->segment, 0);
  EXPECT_EQ(scan->total_segments, 4);
  EXPECT_EQ(scan->filter_expression, "a = :a");
}

TEST(DecodeTest, CreateTable) {
  auto create = DecodeText<ops::CreateTableRequest>(
      R"({"TableName":"abc","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},)"
      R"({"AttributeName":"sk","AttributeType":"N"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},)"
      R"({"AttributeName":"sk","KeyType":"RANGE"}],"BillingMode":"PROVISIONED","ProvisionedThroughput":)"
      R"({"ReadCapacityUnits":5,"WriteCapacityUnits":6},"GlobalSecondaryIndexes":[{"IndexName":"gsi","KeySchema":)"
      R"([{"AttributeName":"sk","KeyType":"HASH"}],"Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x"]},)"
      R"("OnDemandThroughput":{"MaxReadRequestUnits":-1}}],"LocalSecondaryIndexes":[],"StreamSpecification":)"
      R"({"StreamEnabled":true,"StreamViewType":"NEW_AND_OLD_IMAGES"},"SSESpecification":{"Enabled":true,"SSEType":)"
      R"("KMS"},"Tags":[{"Key":"k","Value":""}],"TableClass":"STANDARD_INFREQUENT_ACCESS",)"
      R"("DeletionProtectionEnabled":true,"WarmThroughput":{"ReadUnitsPerSecond":12000},"VectorIndexes":[{"IndexName":)"
      R"("vec","VectorAttribute":{"AttributeName":"v"},"Projection":{"ProjectionType":"ALL"},"Dimensions":3,)"
      R"("DistanceFunction":"EUCLIDEAN","SearchSchema":[{"AttributeName":"h","SearchSchemaElementType":"HASH"}]}]})");
  ASSERT_TRUE(create.ok()) << create.error().message();
  EXPECT_EQ((*create->attribute_definitions)[1].attribute_type, ops::ScalarAttributeType::kN);
  EXPECT_EQ((*create->key_schema)[1].key_type, ops::KeyType::kRange);
  EXPECT_EQ(create->provisioned_throughput->write_capacity_units, 6);
  const ops::GlobalSecondaryIndex& index = create->global_secondary_indexes->at(0);
  EXPECT_EQ(index.projection.projection_type, ops::ProjectionType::kInclude);
  EXPECT_EQ(index.projection.non_key_attributes, std::vector<std::string>{"x"});
  EXPECT_EQ(index.on_demand_throughput->max_read_request_units, -1);
  EXPECT_TRUE(create->local_secondary_indexes.has_value());
  EXPECT_TRUE(create->local_secondary_indexes->empty());
  EXPECT_EQ(create->stream_specification->stream_view_type, ops::StreamViewType::kNewAndOldImages);
  EXPECT_EQ(create->sse_specification->sse_type, ops::SseType::kKms);
  EXPECT_EQ(create->tags->at(0).value, "");
  EXPECT_EQ(create->table_class, ops::TableClass::kStandardInfrequentAccess);
  EXPECT_EQ(create->deletion_protection_enabled, true);
  EXPECT_EQ(create->warm_throughput->read_units_per_second, 12000);
  EXPECT_EQ(create->vector_indexes->at(0).distance_function,
            ops::VectorDistanceFunction::kEuclidean);
  EXPECT_EQ(create->vector_indexes->at(0).search_schema->at(0).attribute_name, "h");
}

TEST(DecodeTest, UpdateTable) {
  auto update = DecodeText<ops::UpdateTableRequest>(
      R"({"TableName":"abc","GlobalSecondaryIndexUpdates":[{"Update":{"IndexName":"one","ProvisionedThroughput":)"
      R"({"ReadCapacityUnits":1,"WriteCapacityUnits":2}}},{"Delete":{"IndexName":"two"}}],"ReplicaUpdates":[{"Create":)"
      R"({"RegionName":"eu-west-1"}}],"DisassociationProtectionEnabled":false,"MultiRegionConsistency":"STRONG",)"
      R"("GlobalTableWitnessUpdates":[{"Create":{"RegionName":"eu-west-2"}}],"VectorIndexUpdates":[{"Delete":)"
      R"({"IndexName":"vec"}}]})");
  ASSERT_TRUE(update.ok()) << update.error().message();
  EXPECT_EQ(update->global_secondary_index_updates->at(0)
                .update->provisioned_throughput->write_capacity_units,
            2);
  EXPECT_EQ(update->global_secondary_index_updates->at(1).delete_index->index_name, "two");
  EXPECT_EQ(update->replica_updates->at(0).create->region_name, "eu-west-1");
  EXPECT_EQ(update->disassociation_protection_enabled, false);
  EXPECT_EQ(update->multi_region_consistency, ops::MultiRegionConsistency::kStrong);
  EXPECT_EQ(update->global_table_witness_updates->at(0).create->region_name, "eu-west-2");
  EXPECT_EQ(update->vector_index_updates->at(0).delete_index->index_name, "vec");
}

TEST(DecodeTest, SmallRequests) {
  EXPECT_EQ(DecodeText<ops::DescribeTableRequest>(R"({"TableName":"abc"})")->table_name, "abc");
  EXPECT_EQ(DecodeText<ops::DeleteTableRequest>(R"({"TableName":"abc"})")->table_name, "abc");
  auto ttl = DecodeText<ops::UpdateTimeToLiveRequest>(
      R"({"TableName":"abc","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"a"}})");
  ASSERT_TRUE(ttl.ok());
  EXPECT_TRUE(ttl->time_to_live_specification.enabled);
  EXPECT_EQ(ttl->time_to_live_specification.attribute_name, "a");
  EXPECT_EQ(DecodeText<ops::DescribeTimeToLiveRequest>(R"({"TableName":"abc"})")->table_name,
            "abc");
  EXPECT_EQ(DecodeText<ops::DescribeContinuousBackupsRequest>(R"({"TableName":"abc"})")->table_name,
            "abc");
  auto insights = DecodeText<ops::UpdateContributorInsightsRequest>(
      R"({"TableName":"abc","IndexName":"ind","ContributorInsightsAction":"DISABLE",)"
      R"("ContributorInsightsMode":"THROTTLED_KEYS"})");
  ASSERT_TRUE(insights.ok());
  EXPECT_EQ(insights->table_name, "abc");
  EXPECT_EQ(insights->index_name, "ind");
  EXPECT_EQ(insights->contributor_insights_action, ops::ContributorInsightsAction::kDisable);
  EXPECT_EQ(insights->contributor_insights_mode, ops::ContributorInsightsMode::kThrottledKeys);
  auto described = DecodeText<ops::DescribeContributorInsightsRequest>(
      R"({"TableName":"abc","IndexName":"ind"})");
  ASSERT_TRUE(described.ok());
  EXPECT_EQ(described->table_name + *described->index_name, "abcind");
  auto summaries = DecodeText<ops::ListContributorInsightsRequest>(
      R"({"TableName":"abc","NextToken":"n","MaxResults":7})");
  ASSERT_TRUE(summaries.ok());
  EXPECT_EQ(*summaries->table_name + *summaries->next_token, "abcn");
  EXPECT_EQ(summaries->max_results, 7);
  auto list = DecodeText<ops::ListTablesRequest>(R"({"ExclusiveStartTableName":"abc","Limit":5})");
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(list->exclusive_start_table_name, "abc");
  EXPECT_EQ(list->limit, 5);
  EXPECT_TRUE(DecodeText<ops::DescribeLimitsRequest>("{}").ok());
  EXPECT_TRUE(DecodeText<ops::DescribeEndpointsRequest>(R"({"Operation":"x"})").ok());
  auto tag = DecodeText<ops::TagResourceRequest>(
      R"({"ResourceArn":"arn","Tags":[{"Key":"k","Value":"v"}]})");
  ASSERT_TRUE(tag.ok());
  EXPECT_EQ(tag->tags.at(0).key, "k");
  auto untag =
      DecodeText<ops::UntagResourceRequest>(R"({"ResourceArn":"arn","TagKeys":["a","b"]})");
  ASSERT_TRUE(untag.ok());
  EXPECT_EQ(untag->tag_keys.size(), 2u);
  EXPECT_EQ(DecodeText<ops::ListTagsOfResourceRequest>(R"({"ResourceArn":"arn","NextToken":"t"})")
                ->next_token,
            "t");
  auto remove = DecodeText<ops::DeleteItemRequest>(R"({"TableName":"abc","Key":{"pk":{"N":"1"}}})");
  ASSERT_TRUE(remove.ok());
  EXPECT_EQ(remove->key.view().Find("pk").text(), "1");
}

TEST(DecodeTest, StartBulkPutItems) {
  auto start = DecodeText<ops::StartBulkPutItemsRequest>(
      R"({"ClientToken":"token","InputS3Configuration":{"S3BucketOwner":"000000000000",)"
      R"("S3Bucket":"in","S3KeyPrefix":"a/","InputFormat":"ION","InputCompressionType":"ZSTD"},)"
      R"("OutputS3Configuration":{"S3BucketOwner":"000000000001","S3Bucket":"out",)"
      R"("S3KeyPrefix":"b/","S3SseAlgorithm":"KMS","S3SseKmsKeyId":"key",)"
      R"("OutputType":["ERROR","CONDITION_CHECK_FAILURE"]},"TableName":"abc",)"
      R"("MaxWriteRequestUnits":1024,"PerformanceTier":"ACCELERATED"})");
  ASSERT_TRUE(start.ok()) << start.error().message();
  EXPECT_EQ(start->client_token, "token");
  EXPECT_EQ(start->input.s3_bucket_owner, "000000000000");
  EXPECT_EQ(start->input.s3_bucket, "in");
  EXPECT_EQ(start->input.s3_key_prefix, "a/");
  EXPECT_EQ(start->input.input_format, ops::BulkInputFormat::kIon);
  EXPECT_EQ(start->input.input_compression_type, ops::InputCompressionType::kZstd);
  EXPECT_EQ(start->output.s3_bucket_owner, "000000000001");
  EXPECT_EQ(start->output.s3_bucket, "out");
  EXPECT_EQ(start->output.s3_key_prefix, "b/");
  EXPECT_EQ(start->output.s3_sse_algorithm, ops::S3SseAlgorithm::kKms);
  EXPECT_EQ(start->output.s3_sse_kms_key_id, "key");
  EXPECT_EQ(start->output.output_type, (std::vector{ops::BulkOutputType::kError,
                                                    ops::BulkOutputType::kConditionCheckFailure}));
  EXPECT_EQ(start->table_name, "abc");
  EXPECT_EQ(start->max_write_request_units, 1024);
  EXPECT_EQ(start->performance_tier, ops::PerformanceTier::kAccelerated);

  auto list = DecodeText<ops::ListBulkOperationsRequest>(
      R"({"MaxResults":25,"NextToken":"0123456789abcdef"})");
  ASSERT_TRUE(list.ok()) << list.error().message();
  EXPECT_EQ(list->max_results, 25);
  EXPECT_EQ(list->next_token, "0123456789abcdef");
}

// --- Invalid attribute values --------------------------------------------------------------------

TEST(DecodeTest, ValueErrorsWaitWithTheirPlace) {
  auto put = DecodeText<ops::PutItemRequest>(
      R"({"TableName":"abc","Item":{"a":{}},"ExpressionAttributeValues":{":ok":{"S":"x"},":bad":{"SS":[]},":worse":{}},)"
      R"("Expected":{"e":{"Value":{"N":"x"}}}})");
  ASSERT_TRUE(put.ok()) << put.error().message();
  const ops::ValueError* item = ops::FindValueError(put->value_errors, ValuePlace::kItem);
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(
      item->ForClient().message(),
      "Supplied AttributeValue is empty, must contain exactly one of the supported datatypes");
  const ops::ValueError* value =
      ops::FindValueError(put->value_errors, ValuePlace::kExpressionAttributeValues);
  ASSERT_NE(value, nullptr);
  EXPECT_EQ(value->name, ":bad");
  EXPECT_EQ(value->ForClient().message(),
            "ExpressionAttributeValues contains invalid value: One or more parameter values were "
            "invalid: An string set  "
            "may not be empty for key :bad");
  const ops::ValueError* expected = ops::FindValueError(put->value_errors, ValuePlace::kExpected);
  ASSERT_NE(expected, nullptr);
  EXPECT_EQ(expected->name, "e");
  EXPECT_EQ(expected->ForClient().message(),
            "The parameter cannot be converted to a numeric value: x");
  EXPECT_EQ(put->value_errors.size(), 3u);
  EXPECT_EQ(ops::FindValueError(put->value_errors, ValuePlace::kKey), nullptr);
}

TEST(DecodeTest, NullAttributeValuesAreEmptyValues) {
  auto query = DecodeText<ops::QueryRequest>(
      R"({"TableName":"abc","ExpressionAttributeValues":{":a":null},"KeyConditions":{"k":{"ComparisonOperator":"EQ",)"
      R"("AttributeValueList":[null]}}})");
  ASSERT_TRUE(query.ok()) << query.error().message();
  ASSERT_EQ(query->value_errors.size(), 2u);
  EXPECT_EQ(ops::FindValueError(query->value_errors, ValuePlace::kExpressionAttributeValues)->name,
            ":a");
  EXPECT_EQ(ops::FindValueError(query->value_errors, ValuePlace::kKeyConditions)->name, "k");
}

TEST(DecodeTest, ConstraintsComeBeforeValueErrors) {
  const Error error =
      DecodeError<ops::PutItemRequest>(R"({"TableName":"abc","Item":{"a":{}},"ReturnValues":"x"})");
  EXPECT_TRUE(
      error.message().starts_with("1 validation error detected: Value 'x' at 'returnValues'"))
      << error.message();
}

}  // namespace
}  // namespace stator::api
