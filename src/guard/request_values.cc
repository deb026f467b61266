#include "guard/request_values.h"

#include "base/base64.h"
#include "expr/update.h"
#include "ops/checks.h"

namespace stator::guard {

using access::ContextKey;
using access::KeySet;

std::string_view TextOf(const std::optional<ops::ReturnValues>& value) {
  switch (value.value_or(ops::ReturnValues::kNone)) {
    case ops::ReturnValues::kNone: return "NONE";
    case ops::ReturnValues::kAllOld: return "ALL_OLD";
    case ops::ReturnValues::kUpdatedOld: return "UPDATED_OLD";
    case ops::ReturnValues::kAllNew: return "ALL_NEW";
    case ops::ReturnValues::kUpdatedNew: return "UPDATED_NEW";
  }
  return "NONE";
}

std::string_view TextOf(const std::optional<ops::ReturnConsumedCapacity>& value) {
  switch (value.value_or(ops::ReturnConsumedCapacity::kNone)) {
    case ops::ReturnConsumedCapacity::kIndexes: return "INDEXES";
    case ops::ReturnConsumedCapacity::kTotal: return "TOTAL";
    case ops::ReturnConsumedCapacity::kNone: return "NONE";
  }
  return "NONE";
}

std::string_view TextOf(const std::optional<ops::ReturnValuesOnConditionCheckFailure>& value) {
  return value == ops::ReturnValuesOnConditionCheckFailure::kAllOld ? "ALL_OLD" : "NONE";
}

bool WantsPartitionValues(KeySet wanted) {
  return wanted.Has(ContextKey::kLeadingKeys) || wanted.Has(ContextKey::kFirstPartitionKeyValues) ||
         wanted.Has(ContextKey::kSecondPartitionKeyValues) ||
         wanted.Has(ContextKey::kThirdPartitionKeyValues) ||
         wanted.Has(ContextKey::kFourthPartitionKeyValues);
}

std::optional<std::string> KeyText(model::ValueView value) {
  if (value.empty()) return std::nullopt;
  if (value.type() == model::Type::kB) {
    std::string text(Base64Length(value.text().size()), '\0');
    EncodeBase64(value.text(), text.data());
    return text;
  }
  if (value.type() != model::Type::kS && value.type() != model::Type::kN) return std::nullopt;
  return std::string(value.text());
}

void AddPartitionValues(const Check& check, KeySet wanted, std::string_view table_name,
                        model::ItemView item, RequestKeys* keys) {
  if (!WantsPartitionValues(wanted)) return;
  const table::TablePtr table = check.FindTable(table_name);
  if (table == nullptr) {
    return keys->SetError(Error(ErrorCode::kResourceNotFound, "Requested resource not found"));
  }
  std::optional<std::vector<std::string>>& values = keys->partition_values[0];
  if (!values) values.emplace();
  // A key of another type matches no item: the operation refuses the request.
  if (std::optional<std::string> text = KeyText(item.Find(table->key_schema().partition.name)))
    values->push_back(*std::move(text));
}

void AddNames(model::ItemView item, RequestKeys* keys) {
  for (const model::MapView::Entry& entry : item.attributes()) keys->AddAttribute(entry.name);
}

void AddNames(const std::optional<std::vector<std::string>>& names, RequestKeys* keys) {
  if (names) keys->AddAttributes(*names);
}

void AddLegacyNames(const std::optional<std::vector<ops::LegacyCondition>>& conditions,
                    RequestKeys* keys) {
  if (!conditions) return;
  for (const ops::LegacyCondition& condition : *conditions) keys->AddAttribute(condition.attribute);
}

Expressions::Expressions(const std::optional<ops::ExpressionAttributeNames>& names,
                         const std::optional<ops::ExpressionAttributeValues>& values,
                         const ops::ValueErrors& value_errors, RequestKeys* keys)
    : keys_(keys) {
  std::optional<ops::ExpressionAttributeNames> own_names = names;
  std::optional<ops::ExpressionAttributeValues> own_values = values;
  const Status set = ops::SetSubstitutions(&own_names, &own_values, value_errors, &substitutions_);
  if (!set.ok()) keys_->SetError(set.error());
}

void Expressions::AddCondition(const std::optional<std::string>& text, expr::Role role) {
  if (!text || keys_->error) return;
  const Result<expr::Condition> condition = expr::ParseCondition(*text, role, &substitutions_);
  if (!condition.ok()) return keys_->SetError(condition.error());
  keys_->AddAttributes(expr::TopLevelAttributes(*condition));
}

void Expressions::AddProjection(const std::optional<std::string>& text) {
  if (!text || keys_->error) return;
  const Result<expr::Projection> projection = expr::ParseProjection(*text, &substitutions_);
  if (!projection.ok()) return keys_->SetError(projection.error());
  keys_->AddAttributes(expr::TopLevelAttributes(*projection));
}

void Expressions::AddUpdate(const std::optional<std::string>& text) {
  if (!text || keys_->error) return;
  const Result<expr::Update> update = expr::ParseUpdate(*text, &substitutions_);
  if (!update.ok()) return keys_->SetError(update.error());
  keys_->AddAttributes(expr::TopLevelAttributes(*update));
}

std::vector<expr::KeyConditionPart> Expressions::KeyConditions(
    const std::optional<std::string>& text, bool add_names) {
  if (!text || keys_->error) return {};
  const Result<expr::Condition> condition =
      expr::ParseCondition(*text, expr::Role::kKeyCondition, &substitutions_);
  if (!condition.ok()) {
    keys_->SetError(condition.error());
    return {};
  }
  if (add_names) keys_->AddAttributes(expr::TopLevelAttributes(*condition));
  Result<std::vector<expr::KeyConditionPart>> parts =
      expr::ExtractKeyConditions(*condition, 2 * model::kMaxIndexKeyAttributes);
  if (parts.ok()) return *std::move(parts);
  keys_->SetError(parts.error());
  return {};
}

}  // namespace stator::guard
