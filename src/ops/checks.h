// Checks that several operations share, in the service's words.
#pragma once

#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "model/key_schema.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "table/store.h"

namespace stator::ops {

// One expression parameter of an operation and whether the request has it. ProjectionExpression
// takes no values.
struct ExpressionParameter {
  std::string_view name;
  bool present;
  bool takes_values = true;
};
// One legacy parameter.
struct LegacyParameter {
  std::string_view name;
  bool present;
};

// Mixing of legacy parameters and expressions, names and values without an expression.
Status CheckExpressionParameters(std::initializer_list<ExpressionParameter> expressions,
                                 std::initializer_list<LegacyParameter> legacy, bool names_present,
                                 bool values_present);

// The substitutions of a request; takes the maps out of it. Reports an invalid value among
// ExpressionAttributeValues.
Status SetSubstitutions(std::optional<ExpressionAttributeNames>* names,
                        std::optional<ExpressionAttributeValues>* values,
                        const ValueErrors& value_errors, expr::Substitutions* substitutions);

// ConditionalOperator beside an absent, empty or one-element condition map is an error.
Status CheckConditionalOperator(const std::optional<ConditionalOperator>& conditional_operator,
                                const std::optional<std::vector<LegacyCondition>>& conditions);

// Returns the condition of a write, from ConditionExpression or Expected. If the request has
// neither, an empty condition.
Result<expr::Condition> ConditionOf(const std::optional<std::string>& condition_expression,
                                    const std::optional<std::vector<LegacyCondition>>& expected,
                                    const std::optional<ConditionalOperator>& conditional_operator,
                                    expr::Substitutions* substitutions);
// Compiles a legacy parameter (such as Expected) to a condition of the given role.
Result<expr::Condition> CompileLegacyConditions(
    const std::vector<LegacyCondition>& conditions,
    const std::optional<ConditionalOperator>& conditional_operator, expr::Role role);
// ProjectionExpression or AttributesToGet.
Result<expr::Projection> ProjectionOf(
    const std::optional<std::string>& projection_expression,
    const std::optional<std::vector<std::string>>& attributes_to_get,
    expr::Substitutions* substitutions);

// The error of an invalid attribute value at `place`, if the request has one.
Status CheckValues(const ValueErrors& value_errors, ValuePlace place);

// --- Tables and keys -----------------------------------------------------------------------------

// The name in a TableName parameter, which may be an ARN. kValidation for a malformed ARN.
Result<std::string_view> TableNameOf(std::string_view name_or_arn);
// The store's name of a table (table/table_name.h). That of the default account's is a view of the
// text that it was made of.
class StoreTableName {
 public:
  explicit StoreTableName(std::string_view borrowed) : borrowed_(borrowed) {}
  explicit StoreTableName(std::string owned) : owned_(std::move(owned)) {}
  std::string_view view() const { return owned_.empty() ? borrowed_ : std::string_view(owned_); }
  std::string str() const { return std::string(view()); }

 private:
  std::string_view borrowed_;
  std::string owned_;
};

// Returns the caller's account, as ARNs have it.
std::string_view CallerAccount(const Context& ctx);
// Returns the account in an ARN; empty if it is none.
std::string_view AccountInArn(std::string_view arn);
// The caller that names a table by name or ARN (see Context).
struct NamesOf {
  const Environment& env;
  std::string_view account;
  bool tells_accounts = false;
  NamesOf(const Environment& e, std::string_view of, bool tells)
      : env(e), account(of), tells_accounts(tells) {}
  // A context is one.
  NamesOf(const Context& ctx)  // NOLINT(google-explicit-constructor)
      : NamesOf(ctx.env, ctx.account, ctx.tells_accounts) {}
};
// Returns the account that the caller means by a name or an ARN; empty: the default. For a caller
// whose key was not verified every ARN is of the caller's account.
std::string_view AccountOf(const NamesOf& caller, std::string_view name_or_arn);
// Returns the store's name of the table that a name or an ARN means. Errors as TableNameOf;
// kResourceNotFound for a name that no table has, kAccessDenied for an isolated account's
// neighbour.
Result<StoreTableName> StoreNameOf(const NamesOf& caller, std::string_view name_or_arn);
// Returns the account that answers show for a table by its name in the store.
std::string_view ShownAccount(const Environment& env, std::string_view store_name);
// The table of an item operation: `Requested resource not found` if it does not exist or is not
// active yet.
Result<table::TablePtr> FindActiveTable(const Context& ctx, std::string_view name_or_arn);

// Whether the item to put has the key attributes, with types and sizes that the schema wants.
Status CheckItemKey(const model::KeySchema& schema, model::ItemView item);
// Whether `key` is exactly a key of the schema.
Status CheckKey(const model::KeySchema& schema, model::ItemView key);
// The two halves of both, for operations that report them differently: which attributes there are
// and of what type, and whether the key attributes, which are there, are neither empty nor too
// large.
Status CheckItemKeyShape(const model::KeySchema& schema, model::ItemView item);
Status CheckKeyShape(const model::KeySchema& schema, model::ItemView key);
Status CheckKeyContents(const model::KeySchema& schema, model::ItemView item);

// Error of a failed condition, with the item if the request wants it and there is one.
Error ConditionFailed(const std::optional<ReturnValuesOnConditionCheckFailure>& wanted,
                      model::ItemView old_item);

}  // namespace stator::ops
