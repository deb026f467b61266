#include "ops/checks.h"

#include <fmt/format.h>

#include <algorithm>

#include "ops/payload.h"
#include "ops/table_status.h"

namespace stator::ops {
namespace {

constexpr size_t kMaxArnPart = 64;
using table::kAccountDigits;
constexpr size_t kMaxTableName = 255;
constexpr std::string_view kInvalid = "One or more parameter values were invalid: ";

Error InvalidParameter(std::string_view text) {
  return ValidationError(std::string(kInvalid).append(text));
}

std::string_view Name(ComparisonOperator comparison) {
  switch (comparison) {
    case ComparisonOperator::kEq: return "EQ";
    case ComparisonOperator::kNe: return "NE";
    case ComparisonOperator::kIn: return "IN";
    case ComparisonOperator::kLe: return "LE";
    case ComparisonOperator::kLt: return "LT";
    case ComparisonOperator::kGe: return "GE";
    case ComparisonOperator::kGt: return "GT";
    case ComparisonOperator::kBetween: return "BETWEEN";
    case ComparisonOperator::kNotNull: return "NOT_NULL";
    case ComparisonOperator::kNull: return "NULL";
    case ComparisonOperator::kContains: return "CONTAINS";
    case ComparisonOperator::kNotContains: return "NOT_CONTAINS";
    case ComparisonOperator::kBeginsWith: return "BEGINS_WITH";
  }
  return "";
}

template <typename Parameter>
void AppendPresent(std::string* out, std::initializer_list<Parameter> parameters) {
  bool first = true;
  for (const Parameter& parameter : parameters) {
    if (!parameter.present) continue;
    if (!first) out->append(", ");
    first = false;
    out->append(parameter.name);
  }
}

Status CheckKeyContent(const model::KeyAttribute& attribute, model::ValueView value,
                       bool is_partition) {
  if (value.type() == model::Type::kN) return OkStatus();
  const size_t size = value.text().size();
  if (size == 0) {
    return ValidationError(std::string("One or more parameter values are not valid. The "
                                       "AttributeValue for a key attribute cannot contain an "
                                       "empty ") +
                           (value.type() == model::Type::kS ? "string" : "binary") +
                           " value. Key: " + attribute.name);
  }
  if (is_partition && size > model::kMaxPartitionKeyBytes) {
    return InvalidParameter("Size of hashkey has exceeded the maximum size limit of2048 bytes");
  }
  if (!is_partition && size > model::kMaxSortKeyBytes) {
    return InvalidParameter(
        "Aggregated size of all range keys has exceeded the size limit of 1024 bytes");
  }
  return OkStatus();
}

Status CheckItemKeyAttribute(const model::KeyAttribute& attribute, model::ItemView item) {
  const model::ValueView value = item.Find(attribute.name);
  if (value.empty()) return InvalidParameter("Missing the key " + attribute.name + " in the item");
  if (value.type() != attribute.type) {
    return InvalidParameter("Type mismatch for key " + attribute.name +
                            " expected: " + std::string(model::TypeName(attribute.type)) +
                            " actual: " + std::string(model::TypeName(value.type())));
  }
  return OkStatus();
}

}  // namespace

Status CheckExpressionParameters(std::initializer_list<ExpressionParameter> expressions,
                                 std::initializer_list<LegacyParameter> legacy, bool names_present,
                                 bool values_present) {
  bool any_expression = false;
  bool any_with_values = false;
  for (const ExpressionParameter& parameter : expressions) {
    any_expression |= parameter.present;
    any_with_values |= parameter.present && parameter.takes_values;
  }
  bool any_legacy = false;
  for (const LegacyParameter& parameter : legacy) any_legacy |= parameter.present;
  if (any_expression && any_legacy) {
    std::string message =
        "Can not use both expression and non-expression parameters in the same request: "
        "Non-expression parameters: {";
    AppendPresent(&message, legacy);
    message.append("} Expression parameters: {");
    AppendPresent(&message, expressions);
    message.push_back('}');
    return ValidationError(std::move(message));
  }
  if (names_present && !any_expression) {
    return ValidationError("ExpressionAttributeNames can only be specified when using expressions");
  }
  if (values_present && !any_with_values) {
    std::string message =
        "ExpressionAttributeValues can only be specified when using expressions: ";
    int listed = 0;
    for (const ExpressionParameter& parameter : expressions) {
      if (!parameter.takes_values) continue;
      if (listed++ > 0) message.append(" and ");
      message.append(parameter.name);
    }
    message.append(listed == 1 ? " is null" : " are null");
    return ValidationError(std::move(message));
  }
  return OkStatus();
}

Status SetSubstitutions(std::optional<ExpressionAttributeNames>* names,
                        std::optional<ExpressionAttributeValues>* values,
                        const ValueErrors& value_errors, expr::Substitutions* substitutions) {
  if (names != nullptr && names->has_value()) TRY(substitutions->SetNames(std::move(**names)));
  if (const ValueError* error =
          FindValueError(value_errors, ValuePlace::kExpressionAttributeValues)) {
    return error->ForClient();
  }
  if (values != nullptr && values->has_value()) TRY(substitutions->SetValues(std::move(**values)));
  return OkStatus();
}

Status CheckConditionalOperator(const std::optional<ConditionalOperator>& conditional_operator,
                                const std::optional<std::vector<LegacyCondition>>& conditions) {
  if (!conditional_operator) return OkStatus();
  if (!conditions || conditions->empty()) {
    return ValidationError("ConditionalOperator cannot be used without Filter or Expected");
  }
  if (conditions->size() == 1) {
    return ValidationError(
        "ConditionalOperator can only be used when Filter or Expected has two or more elements");
  }
  return OkStatus();
}

Result<expr::Condition> CompileLegacyConditions(
    const std::vector<LegacyCondition>& conditions,
    const std::optional<ConditionalOperator>& conditional_operator, expr::Role role) {
  std::vector<expr::LegacyCondition> converted;
  converted.reserve(conditions.size());
  for (const LegacyCondition& condition : conditions) {
    expr::LegacyCondition out;
    out.attribute = condition.attribute;
    out.value = condition.value;
    out.exists = condition.exists;
    if (condition.comparison_operator)
      out.comparison_operator = std::string(Name(*condition.comparison_operator));
    out.values = condition.values;
    converted.push_back(std::move(out));
  }
  return expr::CompileLegacy(converted, conditional_operator == ConditionalOperator::kOr, role);
}

Result<expr::Condition> ConditionOf(const std::optional<std::string>& condition_expression,
                                    const std::optional<std::vector<LegacyCondition>>& expected,
                                    const std::optional<ConditionalOperator>& conditional_operator,
                                    expr::Substitutions* substitutions) {
  if (condition_expression)
    return expr::ParseCondition(*condition_expression, expr::Role::kCondition, substitutions);
  if (expected && !expected->empty()) {
    return CompileLegacyConditions(*expected, conditional_operator, expr::Role::kCondition);
  }
  return expr::Condition();
}

Result<expr::Projection> ProjectionOf(
    const std::optional<std::string>& projection_expression,
    const std::optional<std::vector<std::string>>& attributes_to_get,
    expr::Substitutions* substitutions) {
  if (projection_expression) return expr::ParseProjection(*projection_expression, substitutions);
  if (attributes_to_get) return expr::CompileAttributesToGet(*attributes_to_get);
  return expr::Projection();
}

Status CheckValues(const ValueErrors& value_errors, ValuePlace place) {
  if (const ValueError* error = FindValueError(value_errors, place)) return error->ForClient();
  return OkStatus();
}

// arn:partition:dynamodb:region:account:table/name
Result<std::string_view> TableNameOf(std::string_view name_or_arn) {
  if (!name_or_arn.starts_with("arn:")) return name_or_arn;
  const auto invalid = [name_or_arn] {
    return ValidationError("Invalid TableArn: Invalid ResourceArn provided as input " +
                           std::string(name_or_arn));
  };
  constexpr std::string_view kLower = "abcdefghijklmnopqrstuvwxyz-", kDigits = "0123456789",
                             kRegion = "abcdefghijklmnopqrstuvwxyz0123456789-";
  std::string_view rest = name_or_arn.substr(4);
  const auto take = [&rest](std::string_view allowed, size_t least, size_t most) {
    const size_t end = rest.find(':');
    if (end == std::string_view::npos || end < least || end > most) return false;
    const bool good = rest.substr(0, end).find_first_not_of(allowed) == std::string_view::npos;
    rest.remove_prefix(end + 1);
    return good;
  };
  constexpr std::string_view kResource = "dynamodb:";
  if (!take(kLower, 1, kMaxArnPart) || !rest.starts_with(kResource)) return invalid();
  rest.remove_prefix(kResource.size());
  constexpr std::string_view kTable = "table/";
  if (!take(kRegion, 1, kMaxArnPart) || !take(kDigits, kAccountDigits, kAccountDigits) ||
      !rest.starts_with(kTable)) {
    return invalid();
  }
  const std::string_view name = rest.substr(kTable.size());
  const auto in_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '.' || c == '-';
  };
  if (name.empty() || name.size() > kMaxTableName ||
      !std::all_of(name.begin(), name.end(), in_name)) {
    return invalid();
  }
  return name;
}

std::string_view CallerAccount(const Context& ctx) {
  return ctx.account.empty() ? std::string_view(ctx.env.settings.account)
                             : std::string_view(ctx.account);
}

std::string_view AccountInArn(std::string_view arn) {
  if (!arn.starts_with("arn:")) return {};
  for (int part = 0; part < 4; ++part) {
    const size_t colon = arn.find(':');
    if (colon == std::string_view::npos) return {};
    arn.remove_prefix(colon + 1);
  }
  const size_t colon = arn.find(':');
  return colon == kAccountDigits ? arn.substr(0, colon) : std::string_view();
}

std::string_view AccountOf(const NamesOf& caller, std::string_view name_or_arn) {
  if (!name_or_arn.starts_with("arn:")) return caller.account;
  if (!caller.tells_accounts) return caller.account;
  const std::string_view account = AccountInArn(name_or_arn);
  return account == caller.env.settings.account ? std::string_view() : account;
}

Result<StoreTableName> StoreNameOf(const NamesOf& caller, std::string_view name_or_arn) {
  ASSIGN_OR_RETURN(const std::string_view name, TableNameOf(name_or_arn));
  // An isolated account (ops/isolated_accounts.h) has no policies that could let it in elsewhere.
  if (!caller.tells_accounts && !caller.account.empty() && name_or_arn.starts_with("arn:") &&
      AccountInArn(name_or_arn) != caller.account) [[unlikely]] {
    return Error(ErrorCode::kAccessDenied,
                 fmt::format("User: arn:aws:iam::{}:root is not authorized to perform this "
                             "operation on resource: {} because no resource-based policy allows it",
                             caller.account, name_or_arn));
  }
  const std::string_view account = AccountOf(caller, name_or_arn);
  if (table::IsOfOtherAccount(name)) [[unlikely]]
    return Error(ErrorCode::kResourceNotFound, "Requested resource not found");
  if (account.empty()) return StoreTableName(name);
  return StoreTableName(table::StoreName(account, name));
}

std::string_view ShownAccount(const Environment& env, std::string_view store_name) {
  const std::string_view account = table::AccountIn(store_name);
  return account.empty() ? std::string_view(env.settings.account) : account;
}

Result<table::TablePtr> FindActiveTable(const Context& ctx, std::string_view name_or_arn) {
  ASSIGN_OR_RETURN(const StoreTableName name, StoreNameOf(ctx, name_or_arn));
  const Environment& env = ctx.env;
  table::TablePtr table = env.store.Find(name.view());
  if (table == nullptr || !TakesItems(StatusOf(table->descriptor, env))) {
    return Error(ErrorCode::kResourceNotFound, "Requested resource not found");
  }
  return table;
}

Status CheckItemKeyShape(const model::KeySchema& schema, model::ItemView item) {
  TRY(CheckItemKeyAttribute(schema.partition, item));
  if (schema.sort) TRY(CheckItemKeyAttribute(*schema.sort, item));
  return OkStatus();
}

Status CheckKeyShape(const model::KeySchema& schema, model::ItemView key) {
  const auto holds = [key](const model::KeyAttribute& attribute) {
    const model::ValueView value = key.Find(attribute.name);
    return !value.empty() && value.type() == attribute.type;
  };
  if (key.attributes().size() == (schema.sort ? 2u : 1u) && holds(schema.partition) &&
      (!schema.sort || holds(*schema.sort))) {
    return OkStatus();
  }
  return ValidationError("The provided key element does not match the schema");
}

Status CheckKeyContents(const model::KeySchema& schema, model::ItemView item) {
  TRY(CheckKeyContent(schema.partition, item.Find(schema.partition.name), true));
  if (schema.sort) TRY(CheckKeyContent(*schema.sort, item.Find(schema.sort->name), false));
  return OkStatus();
}

Status CheckItemKey(const model::KeySchema& schema, model::ItemView item) {
  TRY(CheckItemKeyShape(schema, item));
  return CheckKeyContents(schema, item);
}

Status CheckKey(const model::KeySchema& schema, model::ItemView key) {
  TRY(CheckKeyShape(schema, key));
  return CheckKeyContents(schema, key);
}

Error ConditionFailed(const std::optional<ReturnValuesOnConditionCheckFailure>& wanted,
                      model::ItemView old_item) {
  std::shared_ptr<const ErrorPayload> payload;
  if (wanted == ReturnValuesOnConditionCheckFailure::kAllOld && old_item.exists()) {
    payload = std::make_shared<ItemPayload>(std::string(old_item.encoded()));
  }
  return Error(ErrorCode::kConditionalCheckFailed, "The conditional request failed",
               std::move(payload));
}

}  // namespace stator::ops
