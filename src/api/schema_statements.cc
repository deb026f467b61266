// The parameters of PartiQL operations.
#include "api/schema_parts.h"

namespace stator::api {

namespace {

using namespace ops;  // NOLINT(google-build-using-namespace): the tables name little else

constexpr Type kReturnOnFailureType = EnumOf(&kReturnValuesOnConditionCheckFailure);
constexpr Type kReturnCapacityType = EnumOf(&kReturnConsumedCapacity);
constexpr Type kStatement = Text(1, 8192);
constexpr Type kNextToken = Text(1, 32768);
constexpr Type kToken = Text(1, 36);

constexpr Type MakeParameters() {
  Type type = ListOf<std::string>(&kValue, 1);
  type.place = ValuePlace::kParameters;
  return type;
}
constexpr Type kParameters = MakeParameters();

constexpr Field kExecuteStatementFields[] = {
    Required<&ExecuteStatementRequest::statement>("Statement", &kStatement),
    Optional<&ExecuteStatementRequest::parameters>("Parameters", &kParameters),
    Optional<&ExecuteStatementRequest::consistent_read>("ConsistentRead", &kBoolean),
    Optional<&ExecuteStatementRequest::next_token>("NextToken", &kNextToken),
    Optional<&ExecuteStatementRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                                 &kReturnCapacityType),
    Optional<&ExecuteStatementRequest::limit>("Limit", &kPositiveInteger),
    Optional<&ExecuteStatementRequest::return_values_on_condition_check_failure>(
        "ReturnValuesOnConditionCheckFailure", &kReturnOnFailureType),
};
constexpr Shape kExecuteStatementShape =
    MakeShape("ExecuteStatementInput", kExecuteStatementFields);
constexpr OperationSchema kExecuteStatement{"ExecuteStatement", &kExecuteStatementShape};

constexpr Field kBatchStatementFields[] = {
    Required<&BatchStatementRequest::statement>("Statement", &kStatement),
    Optional<&BatchStatementRequest::parameters>("Parameters", &kParameters),
    Optional<&BatchStatementRequest::consistent_read>("ConsistentRead", &kBoolean),
    Optional<&BatchStatementRequest::return_values_on_condition_check_failure>(
        "ReturnValuesOnConditionCheckFailure", &kReturnOnFailureType),
};
constexpr Shape kBatchStatementShape = MakeShape("BatchStatementRequest", kBatchStatementFields);
constexpr Type kBatchStatement = StructOf(&kBatchStatementShape);
constexpr Type kBatchStatements = ListOf<BatchStatementRequest>(&kBatchStatement, 1, 25);
constexpr Field kBatchExecuteStatementFields[] = {
    Required<&BatchExecuteStatementRequest::statements>("Statements", &kBatchStatements),
    Optional<&BatchExecuteStatementRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                                      &kReturnCapacityType),
};
constexpr Shape kBatchExecuteStatementShape =
    MakeShape("BatchExecuteStatementInput", kBatchExecuteStatementFields);
constexpr OperationSchema kBatchExecuteStatement{"BatchExecuteStatement",
                                                 &kBatchExecuteStatementShape};

constexpr Field kParameterizedStatementFields[] = {
    Required<&ParameterizedStatement::statement>("Statement", &kStatement),
    Optional<&ParameterizedStatement::parameters>("Parameters", &kParameters),
    Optional<&ParameterizedStatement::return_values_on_condition_check_failure>(
        "ReturnValuesOnConditionCheckFailure", &kReturnOnFailureType),
};
constexpr Shape kParameterizedStatementShape =
    MakeShape("ParameterizedStatement", kParameterizedStatementFields);
constexpr Type kParameterizedStatement = StructOf(&kParameterizedStatementShape);
constexpr Type kParameterizedStatements =
    ListOf<ParameterizedStatement>(&kParameterizedStatement, 1, 100);
constexpr Field kExecuteTransactionFields[] = {
    Required<&ExecuteTransactionRequest::transact_statements>("TransactStatements",
                                                              &kParameterizedStatements),
    Optional<&ExecuteTransactionRequest::client_request_token>("ClientRequestToken", &kToken),
    Optional<&ExecuteTransactionRequest::return_consumed_capacity>("ReturnConsumedCapacity",
                                                                   &kReturnCapacityType),
};
constexpr Shape kExecuteTransactionShape =
    MakeShape("ExecuteTransactionInput", kExecuteTransactionFields);
constexpr OperationSchema kExecuteTransaction{"ExecuteTransaction", &kExecuteTransactionShape};

}  // namespace

template <>
const OperationSchema& SchemaOf<ops::ExecuteStatementRequest>() {
  return kExecuteStatement;
}
template <>
const OperationSchema& SchemaOf<ops::BatchExecuteStatementRequest>() {
  return kBatchExecuteStatement;
}
template <>
const OperationSchema& SchemaOf<ops::ExecuteTransactionRequest>() {
  return kExecuteTransaction;
}

}  // namespace stator::api
