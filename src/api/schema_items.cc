// The parameters of operations on items.
#include "api/schema_parts.h"

namespace stator::api {

namespace {

using namespace ops;  // NOLINT(google-build-using-namespace): the tables name little else

constexpr Type kStartKey{
    .kind = Kind::kItem, .key = &kAttributeName, .place = ValuePlace::kExclusiveStartKey};

constexpr Type kAttributesToGet = ListOf<std::string>(&kAttributeName, 1);

constexpr Type kReturnValuesType = EnumOf(&kReturnValues);
constexpr Type kReturnCapacityType = EnumOf(&kReturnConsumedCapacity);
constexpr Type kReturnMetricsType = EnumOf(&kReturnItemCollectionMetrics);
constexpr Type kReturnOnFailureType = EnumOf(&kReturnValuesOnConditionCheckFailure);
constexpr Type kConditionalOperatorType = EnumOf(&kConditionalOperator);
constexpr Type kComparisonOperatorType = EnumOf(&kComparisonOperator);
constexpr Type kAttributeActionType = EnumOf(&kAttributeAction);
constexpr Type kSelectType = EnumOf(&kSelect);

// --- Legacy conditions and updates ---------------------------------------------------------------

constexpr Type kValueList = ListOf<std::string>(&kValue);

constexpr Field kExpectedFields[] = {
    Optional<&LegacyCondition::value>("Value", &kValue),
    Optional<&LegacyCondition::exists>("Exists", &kBoolean),
    Optional<&LegacyCondition::comparison_operator>("ComparisonOperator", &kComparisonOperatorType),
    Optional<&LegacyCondition::values>("AttributeValueList", &kValueList),
};
constexpr Shape kExpectedShape = MakeShape("ExpectedAttributeValue", kExpectedFields);
constexpr Type kExpectedValue = StructOf(&kExpectedShape);
constexpr Type kExpected =
    MapOf<&LegacyCondition::attribute>(&kAttributeName, &kExpectedValue, ValuePlace::kExpected);

constexpr Field kConditionFields[] = {
    Optional<&LegacyCondition::values>("AttributeValueList", &kValueList),
    Required<&LegacyCondition::comparison_operator>("ComparisonOperator", &kComparisonOperatorType),
};
constexpr Shape kConditionShape = MakeShape("Condition", kConditionFields);
constexpr Type kCondition = StructOf(&kConditionShape);
constexpr Type kKeyConditions =
    MapOf<&LegacyCondition::attribute>(&kAttributeName, &kCondition, ValuePlace::kKeyConditions);
constexpr Type kFilter =
    MapOf<&LegacyCondition::attribute>(&kAttributeName, &kCondition, ValuePlace::kFilter);

constexpr Field kUpdateFields[] = {
    Optional<&LegacyUpdate::value>("Value", &kValue),
    Optional<&LegacyUpdate::action>("Action", &kAttributeActionType),
};
constexpr Shape kUpdateShape = MakeShape("AttributeValueUpdate", kUpdateFields);
constexpr Type kUpdate = StructOf(&kUpdateShape);
constexpr Type kAttributeUpdates =
    MapOf<&LegacyUpdate::attribute>(&kAttributeName, &kUpdate, ValuePlace::kAttributeUpdates);

// --- PutItem, GetItem, UpdateItem, DeleteItem ----------------------------------------------------

constexpr Field kPutItemFields[] = {
    Required<&PutItemRequest::table_name>("TableName", &kTableName),
    Required<&PutItemRequest::item>("Item", &kItem),
    Optional<&PutItemRequest::expected>("Expected", &kExpected),
    Optional<&PutItemRequest::return_values>("ReturnValues", &kReturnValuesType),
    Optional<&PutItemRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                        &kReturnCapacityType),
    Optional<&PutItemRequest::return_item_collection_metrics>("ReturnItemCollectionMetrics",
                                                              &kReturnMetricsType),
    Optional<&PutItemRequest::conditional_operator>("ConditionalOperator",
                                                    &kConditionalOperatorType),
    Optional<&PutItemRequest::condition_expression>("ConditionExpression", &kPlainText),
    Optional<&PutItemRequest::expression_attribute_names>("ExpressionAttributeNames", &kNames),
    Optional<&PutItemRequest::expression_attribute_values>("ExpressionAttributeValues", &kValues),
    Optional<&PutItemRequest::return_values_on_condition_check_failure>(
        "ReturnValuesOnConditionCheckFailure", &kReturnOnFailureType),
};
constexpr Shape kPutItemShape = MakeShape("PutItemInput", kPutItemFields);
constexpr OperationSchema kPutItem{"PutItem", &kPutItemShape};

constexpr Field kGetItemFields[] = {
    Required<&GetItemRequest::table_name>("TableName", &kTableName),
    Required<&GetItemRequest::key>("Key", &kKey),
    Optional<&GetItemRequest::attributes_to_get>("AttributesToGet", &kAttributesToGet),
    Optional<&GetItemRequest::consistent_read>("ConsistentRead", &kBoolean),
    Optional<&GetItemRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                        &kReturnCapacityType),
    Optional<&GetItemRequest::projection_expression>("ProjectionExpression", &kPlainText),
    Optional<&GetItemRequest::expression_attribute_names>("ExpressionAttributeNames", &kNames),
};
constexpr Shape kGetItemShape = MakeShape("GetItemInput", kGetItemFields);
constexpr OperationSchema kGetItem{"GetItem", &kGetItemShape};

constexpr Field kUpdateItemFields[] = {
    Required<&UpdateItemRequest::table_name>("TableName", &kTableName),
    Required<&UpdateItemRequest::key>("Key", &kKey),
    Optional<&UpdateItemRequest::attribute_updates>("AttributeUpdates", &kAttributeUpdates),
    Optional<&UpdateItemRequest::expected>("Expected", &kExpected),
    Optional<&UpdateItemRequest::conditional_operator>("ConditionalOperator",
                                                       &kConditionalOperatorType),
    Optional<&UpdateItemRequest::return_values>("ReturnValues", &kReturnValuesType),
    Optional<&UpdateItemRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                           &kReturnCapacityType),
    Optional<&UpdateItemRequest::return_item_collection_metrics>("ReturnItemCollectionMetrics",
                                                                 &kReturnMetricsType),
    Optional<&UpdateItemRequest::update_expression>("UpdateExpression", &kPlainText),
    Optional<&UpdateItemRequest::condition_expression>("ConditionExpression", &kPlainText),
    Optional<&UpdateItemRequest::expression_attribute_names>("ExpressionAttributeNames", &kNames),
    Optional<&UpdateItemRequest::expression_attribute_values>("ExpressionAttributeValues",
                                                              &kValues),
    Optional<&UpdateItemRequest::return_values_on_condition_check_failure>(
        "ReturnValuesOnConditionCheckFailure", &kReturnOnFailureType),
};
constexpr Shape kUpdateItemShape = MakeShape("UpdateItemInput", kUpdateItemFields);
// Observed in 2026: UpdateItem stops at the first failure where PutItem lists them.
constexpr OperationSchema kUpdateItem{
    .name = "UpdateItem", .shape = &kUpdateItemShape, .max_failures = 1};

constexpr Field kDeleteItemFields[] = {
    Required<&DeleteItemRequest::table_name>("TableName", &kTableName),
    Required<&DeleteItemRequest::key>("Key", &kKey),
    Optional<&DeleteItemRequest::expected>("Expected", &kExpected),
    Optional<&DeleteItemRequest::conditional_operator>("ConditionalOperator",
                                                       &kConditionalOperatorType),
    Optional<&DeleteItemRequest::return_values>("ReturnValues", &kReturnValuesType),
    Optional<&DeleteItemRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                           &kReturnCapacityType),
    Optional<&DeleteItemRequest::return_item_collection_metrics>("ReturnItemCollectionMetrics",
                                                                 &kReturnMetricsType),
    Optional<&DeleteItemRequest::condition_expression>("ConditionExpression", &kPlainText),
    Optional<&DeleteItemRequest::expression_attribute_names>("ExpressionAttributeNames", &kNames),
    Optional<&DeleteItemRequest::expression_attribute_values>("ExpressionAttributeValues",
                                                              &kValues),
    Optional<&DeleteItemRequest::return_values_on_condition_check_failure>(
        "ReturnValuesOnConditionCheckFailure", &kReturnOnFailureType),
};
constexpr Shape kDeleteItemShape = MakeShape("DeleteItemInput", kDeleteItemFields);
constexpr OperationSchema kDeleteItem{"DeleteItem", &kDeleteItemShape};

// --- Batches -------------------------------------------------------------------------------------

constexpr Type kKeyList = ListOf<EncodedItem>(&kKey, 1, 100);
constexpr Field kKeysAndAttributesFields[] = {
    Required<&KeysAndAttributes::keys>("Keys", &kKeyList),
    Optional<&KeysAndAttributes::attributes_to_get>("AttributesToGet", &kAttributesToGet),
    Optional<&KeysAndAttributes::consistent_read>("ConsistentRead", &kBoolean),
    Optional<&KeysAndAttributes::projection_expression>("ProjectionExpression", &kPlainText),
    Optional<&KeysAndAttributes::expression_attribute_names>("ExpressionAttributeNames", &kNames),
};
constexpr Shape kKeysAndAttributesShape = MakeShape("KeysAndAttributes", kKeysAndAttributesFields);
constexpr Type kKeysAndAttributes = StructOf(&kKeysAndAttributesShape);

constexpr Type MakeBatchGetMap() {
  Type type = MapOf<&KeysAndAttributes::table_name>(&kTableName, &kKeysAndAttributes);
  type.min = 1;
  type.max = 100;
  return type;
}
constexpr Type kBatchGetMap = MakeBatchGetMap();

constexpr Field kBatchGetItemFields[] = {
    Required<&BatchGetItemRequest::request_items>(
        "RequestItems", &kBatchGetMap, "The requestItems parameter is required for BatchGetItem"),
    Optional<&BatchGetItemRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                             &kReturnCapacityType),
};
constexpr Shape kBatchGetItemShape = MakeShape("BatchGetItemInput", kBatchGetItemFields);
constexpr OperationSchema kBatchGetItem{
    .name = "BatchGetItem", .shape = &kBatchGetItemShape, .newer_validator = true};

constexpr Field kPutRequestFields[] = {Required<&PutRequest::item>("Item", &kItem)};
constexpr Shape kPutRequestShape = MakeShape("PutRequest", kPutRequestFields);
constexpr Type kPutRequest = StructOf(&kPutRequestShape);
constexpr Field kDeleteRequestFields[] = {Required<&DeleteRequest::key>("Key", &kKey)};
constexpr Shape kDeleteRequestShape = MakeShape("DeleteRequest", kDeleteRequestFields);
constexpr Type kDeleteRequest = StructOf(&kDeleteRequestShape);
constexpr Field kWriteRequestFields[] = {
    Optional<&WriteRequest::put_request>("PutRequest", &kPutRequest),
    Optional<&WriteRequest::delete_request>("DeleteRequest", &kDeleteRequest),
};
constexpr Shape kWriteRequestShape = MakeShape("WriteRequest", kWriteRequestFields);
constexpr Type kWriteRequest = StructOf(&kWriteRequestShape);
constexpr Type kWriteRequests = ListOf<WriteRequest>(&kWriteRequest, 1, 25);

constexpr Type MakeBatchWriteMap() {
  Type type{
      .kind = Kind::kMap, .min = 1, .max = 25, .key = &kTableName, .element = &kWriteRequests};
  type.element_bounds_at_map = true;
  type.append = &schema_internal::AppendNamedMember<&TableWriteRequests::table_name,
                                                    &TableWriteRequests::requests>;
  type.drop_duplicates =
      &schema_internal::DropDuplicates<TableWriteRequests, &TableWriteRequests::table_name>;
  return type;
}
constexpr Type kBatchWriteMap = MakeBatchWriteMap();

constexpr Field kBatchWriteItemFields[] = {
    Required<&BatchWriteItemRequest::request_items>(
        "RequestItems", &kBatchWriteMap,
        "The requestItems parameter is required for BatchWriteItem"),
    Optional<&BatchWriteItemRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                               &kReturnCapacityType),
    Optional<&BatchWriteItemRequest::return_item_collection_metrics>("ReturnItemCollectionMetrics",
                                                                     &kReturnMetricsType),
};
constexpr Shape kBatchWriteItemShape = MakeShape("BatchWriteItemInput", kBatchWriteItemFields);
constexpr OperationSchema kBatchWriteItem{"BatchWriteItem", &kBatchWriteItemShape};

// --- Query, Scan ---------------------------------------------------------------------------------

constexpr Field kQueryFields[] = {
    Required<&QueryRequest::table_name>("TableName", &kTableName),
    Optional<&QueryRequest::index_name>("IndexName", &kIndexName),
    Optional<&QueryRequest::select>("Select", &kSelectType),
    Optional<&QueryRequest::attributes_to_get>("AttributesToGet", &kAttributesToGet),
    Optional<&QueryRequest::limit>("Limit", &kPositiveInteger),
    Optional<&QueryRequest::consistent_read>("ConsistentRead", &kBoolean),
    Optional<&QueryRequest::key_conditions>("KeyConditions", &kKeyConditions),
    Optional<&QueryRequest::query_filter>("QueryFilter", &kFilter),
    Optional<&QueryRequest::conditional_operator>("ConditionalOperator", &kConditionalOperatorType),
    Optional<&QueryRequest::scan_index_forward>("ScanIndexForward", &kBoolean),
    Optional<&QueryRequest::exclusive_start_key>("ExclusiveStartKey", &kStartKey),
    Optional<&QueryRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                      &kReturnCapacityType),
    Optional<&QueryRequest::projection_expression>("ProjectionExpression", &kPlainText),
    Optional<&QueryRequest::filter_expression>("FilterExpression", &kPlainText),
    Optional<&QueryRequest::key_condition_expression>("KeyConditionExpression", &kPlainText),
    Optional<&QueryRequest::expression_attribute_names>("ExpressionAttributeNames", &kNames),
    Optional<&QueryRequest::expression_attribute_values>("ExpressionAttributeValues", &kValues),
};
constexpr Shape kQueryShape = MakeShape("QueryInput", kQueryFields);
constexpr OperationSchema kQuery{.name = "Query", .shape = &kQueryShape, .newer_validator = true};

constexpr Type kTotalSegments{.kind = Kind::kInteger, .min = 1, .max = 1'000'000};
constexpr Type kSegment{.kind = Kind::kInteger, .min = 0, .max = 999'999};

constexpr Field kScanFields[] = {
    Required<&ScanRequest::table_name>("TableName", &kTableName),
    Optional<&ScanRequest::index_name>("IndexName", &kIndexName),
    Optional<&ScanRequest::attributes_to_get>("AttributesToGet", &kAttributesToGet),
    Optional<&ScanRequest::limit>("Limit", &kPositiveInteger),
    Optional<&ScanRequest::select>("Select", &kSelectType),
    Optional<&ScanRequest::scan_filter>("ScanFilter", &kFilter),
    Optional<&ScanRequest::conditional_operator>("ConditionalOperator", &kConditionalOperatorType),
    Optional<&ScanRequest::exclusive_start_key>("ExclusiveStartKey", &kStartKey),
    Optional<&ScanRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                     &kReturnCapacityType),
    Optional<&ScanRequest::total_segments>("TotalSegments", &kTotalSegments),
    Optional<&ScanRequest::segment>("Segment", &kSegment),
    Optional<&ScanRequest::projection_expression>("ProjectionExpression", &kPlainText),
    Optional<&ScanRequest::filter_expression>("FilterExpression", &kPlainText),
    Optional<&ScanRequest::expression_attribute_names>("ExpressionAttributeNames", &kNames),
    Optional<&ScanRequest::expression_attribute_values>("ExpressionAttributeValues", &kValues),
    Optional<&ScanRequest::consistent_read>("ConsistentRead", &kBoolean),
};
constexpr Shape kScanShape = MakeShape("ScanInput", kScanFields);
constexpr OperationSchema kScan{"Scan", &kScanShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<ops::PutItemRequest>() {
  return kPutItem;
}
template <>
const OperationSchema& SchemaOf<ops::GetItemRequest>() {
  return kGetItem;
}
template <>
const OperationSchema& SchemaOf<ops::UpdateItemRequest>() {
  return kUpdateItem;
}
template <>
const OperationSchema& SchemaOf<ops::DeleteItemRequest>() {
  return kDeleteItem;
}
template <>
const OperationSchema& SchemaOf<ops::BatchGetItemRequest>() {
  return kBatchGetItem;
}
template <>
const OperationSchema& SchemaOf<ops::BatchWriteItemRequest>() {
  return kBatchWriteItem;
}
template <>
const OperationSchema& SchemaOf<ops::QueryRequest>() {
  return kQuery;
}
template <>
const OperationSchema& SchemaOf<ops::ScanRequest>() {
  return kScan;
}

}  // namespace stator::api
