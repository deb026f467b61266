// The parameters of transactions.
#include "api/schema_parts.h"

namespace stator::api {

namespace {

using namespace ops;  // NOLINT(google-build-using-namespace): the tables name little else

constexpr Type kReturnOnFailureType = EnumOf(&kReturnValuesOnConditionCheckFailure);
constexpr Type kReturnCapacityType = EnumOf(&kReturnConsumedCapacity);
constexpr Type kReturnMetricsType = EnumOf(&kReturnItemCollectionMetrics);
constexpr Type kToken = Text(1, 36);

// --- TransactWriteItems: four shapes of one structure --------------------------------------------

constexpr Field kTableField = Required<&TransactWriteAction::table_name>("TableName", &kTableName);
constexpr Field kKeyField = Required<&TransactWriteAction::item>("Key", &kKey);
constexpr Field kConditionField =
    Optional<&TransactWriteAction::condition_expression>("ConditionExpression", &kPlainText);
constexpr Field kNamesField =
    Optional<&TransactWriteAction::expression_attribute_names>("ExpressionAttributeNames", &kNames);
constexpr Field kValuesField = Optional<&TransactWriteAction::expression_attribute_values>(
    "ExpressionAttributeValues", &kValues);
constexpr Field kReturnField =
    Optional<&TransactWriteAction::return_values_on_condition_check_failure>(
        "ReturnValuesOnConditionCheckFailure", &kReturnOnFailureType);

constexpr Field kConditionCheckFields[] = {
    kKeyField,
    kTableField,
    Required<&TransactWriteAction::condition_expression>("ConditionExpression", &kPlainText),
    kNamesField,
    kValuesField,
    kReturnField,
};
constexpr Field kPutFields[] = {
    Required<&TransactWriteAction::item>("Item", &kItem),
    kTableField,
    kConditionField,
    kNamesField,
    kValuesField,
    kReturnField,
};
constexpr Field kDeleteFields[] = {kKeyField,   kTableField,  kConditionField,
                                   kNamesField, kValuesField, kReturnField};
constexpr Field kUpdateFields[] = {
    kKeyField,
    Required<&TransactWriteAction::update_expression>("UpdateExpression", &kPlainText),
    kTableField,
    kConditionField,
    kNamesField,
    kValuesField,
    kReturnField,
};
constexpr Shape kConditionCheckShape = MakeShape("ConditionCheck", kConditionCheckFields);
constexpr Shape kPutShape = MakeShape("Put", kPutFields);
constexpr Shape kDeleteShape = MakeShape("Delete", kDeleteFields);
constexpr Shape kUpdateShape = MakeShape("Update", kUpdateFields);
constexpr Type kConditionCheck = StructOf(&kConditionCheckShape);
constexpr Type kPut = StructOf(&kPutShape);
constexpr Type kDelete = StructOf(&kDeleteShape);
constexpr Type kUpdate = StructOf(&kUpdateShape);

constexpr Field kTransactWriteItemFields[] = {
    Optional<&TransactWriteItem::condition_check>("ConditionCheck", &kConditionCheck),
    Optional<&TransactWriteItem::put>("Put", &kPut),
    Optional<&TransactWriteItem::delete_item>("Delete", &kDelete),
    Optional<&TransactWriteItem::update>("Update", &kUpdate),
};
constexpr Shape kTransactWriteItemShape = MakeShape("TransactWriteItem", kTransactWriteItemFields);
constexpr Type kTransactWriteItem = StructOf(&kTransactWriteItemShape);
constexpr Type kTransactWriteList = ListOf<TransactWriteItem>(&kTransactWriteItem, 1, 100);

constexpr Field kTransactWriteItemsFields[] = {
    Required<&TransactWriteItemsRequest::transact_items>("TransactItems", &kTransactWriteList),
    Optional<&TransactWriteItemsRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                                   &kReturnCapacityType),
    Optional<&TransactWriteItemsRequest::return_item_collection_metrics>(
        "ReturnItemCollectionMetrics", &kReturnMetricsType),
    Optional<&TransactWriteItemsRequest::client_request_token>("ClientRequestToken", &kToken),
};
constexpr Shape kTransactWriteItemsShape =
    MakeShape("TransactWriteItemsInput", kTransactWriteItemsFields);
constexpr OperationSchema kTransactWriteItems{"TransactWriteItems", &kTransactWriteItemsShape};

// --- TransactGetItems ----------------------------------------------------------------------------

constexpr Field kGetFields[] = {
    Required<&TransactGet::key>("Key", &kKey),
    Required<&TransactGet::table_name>("TableName", &kTableName),
    Optional<&TransactGet::projection_expression>("ProjectionExpression", &kPlainText),
    Optional<&TransactGet::expression_attribute_names>("ExpressionAttributeNames", &kNames),
};
constexpr Shape kGetShape = MakeShape("Get", kGetFields);
constexpr Type kGet = StructOf(&kGetShape);
constexpr Field kTransactGetItemFields[] = {Required<&TransactGetItem::get>("Get", &kGet)};
constexpr Shape kTransactGetItemShape = MakeShape("TransactGetItem", kTransactGetItemFields);
constexpr Type kTransactGetItem = StructOf(&kTransactGetItemShape);
constexpr Type kTransactGetList = ListOf<TransactGetItem>(&kTransactGetItem, 1, 100);

constexpr Field kTransactGetItemsFields[] = {
    Required<&TransactGetItemsRequest::transact_items>("TransactItems", &kTransactGetList),
    Optional<&TransactGetItemsRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                                 &kReturnCapacityType),
};
constexpr Shape kTransactGetItemsShape =
    MakeShape("TransactGetItemsInput", kTransactGetItemsFields);
constexpr OperationSchema kTransactGetItems{"TransactGetItems", &kTransactGetItemsShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<ops::TransactWriteItemsRequest>() {
  return kTransactWriteItems;
}
template <>
const OperationSchema& SchemaOf<ops::TransactGetItemsRequest>() {
  return kTransactGetItems;
}

}  // namespace stator::api
