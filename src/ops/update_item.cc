#include "ops/item_write.h"
#include "ops/operations.h"
#include "table/index_entries.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

struct State : ItemWrite<UpdateItemRequest> {
  expr::Update update;
};

Result<expr::Update> CompileUpdates(const std::vector<LegacyUpdate>& updates) {
  std::vector<expr::LegacyUpdate> converted;
  converted.reserve(updates.size());
  for (const LegacyUpdate& update : updates) {
    expr::LegacyUpdate out;
    out.attribute = update.attribute;
    out.value = update.value;
    switch (update.action.value_or(AttributeAction::kPut)) {
      case AttributeAction::kPut: out.action = expr::LegacyUpdate::kPut; break;
      case AttributeAction::kAdd: out.action = expr::LegacyUpdate::kAdd; break;
      case AttributeAction::kDelete: out.action = expr::LegacyUpdate::kDelete; break;
    }
    converted.push_back(std::move(out));
  }
  return expr::CompileLegacyUpdates(converted);
}

Result<std::shared_ptr<State>> Prepare(Context& ctx, UpdateItemRequest request) {
  TRY(CheckExpressionParameters({{"UpdateExpression", request.update_expression.has_value()},
                                 {"ConditionExpression", request.condition_expression.has_value()}},
                                {{"AttributeUpdates", request.attribute_updates.has_value()},
                                 {"Expected", request.expected.has_value()},
                                 {"ConditionalOperator", request.conditional_operator.has_value()}},
                                request.expression_attribute_names.has_value(),
                                request.expression_attribute_values.has_value()));
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  TRY(CheckValues(request.value_errors, ValuePlace::kAttributeUpdates));
  TRY(CheckValues(request.value_errors, ValuePlace::kExpected));
  TRY(CheckConditionalOperator(request.conditional_operator, request.expected));
  auto state = std::make_shared<State>();
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&request.expression_attribute_names, &request.expression_attribute_values,
                       request.value_errors, &substitutions));
  if (request.update_expression) {
    ASSIGN_OR_RETURN(state->update, expr::ParseUpdate(*request.update_expression, &substitutions));
  } else if (request.attribute_updates && !request.attribute_updates->empty()) {
    ASSIGN_OR_RETURN(state->update, CompileUpdates(*request.attribute_updates));
  }
  ASSIGN_OR_RETURN(state->condition, ConditionOf(request.condition_expression, request.expected,
                                                 request.conditional_operator, &substitutions));
  TRY(substitutions.CheckAllUsed());
  ASSIGN_OR_RETURN(state->table, FindActiveTable(ctx, request.table_name));
  const model::KeySchema& schema = state->table->key_schema();
  TRY(CheckKey(schema, request.key.view()));
  for (const std::string& attribute : expr::TargetAttributes(state->update)) {
    if (schema.Has(attribute)) {
      return ValidationError("One or more parameter values were invalid: Cannot update attribute " +
                             attribute + ". This attribute is part of the key");
    }
  }
  state->key = table::EncodeItemKey(schema, request.key.view());
  state->store = &ctx.env.store;
  state->request = std::move(request);
  return state;
}

// UpdateItem measures the larger of the item and of the item with its key replaced by a flat cost
// per action.
size_t MeasuredSize(const State& state, model::ItemView item) {
  const size_t cost = 3 + 19 * static_cast<size_t>(expr::ValueWritingActions(state.update)) +
                      2 * static_cast<size_t>(expr::ClearingActions(state.update));
  const size_t key_bytes = state.request.key.view().size_bytes();
  return std::max(item.size_bytes(),
                  item.size_bytes() - std::min(item.size_bytes(), key_bytes) + cost);
}

Result<table::Change> Decide(State& state, model::ItemView old_item) {
  state.units = throughput::WriteUnits(static_cast<int64_t>(old_item.size_bytes()));
  if (!expr::Evaluate(state.condition, old_item)) {
    return ConditionFailed(state.request.return_values_on_condition_check_failure, old_item);
  }
  table::Change change;
  if (!state.update.present()) {
    // Without actions the update only makes sure that the item exists.
    change.kind = old_item.exists() ? table::Change::kNone : table::Change::kPut;
    change.item =
        std::string(old_item.exists() ? old_item.encoded() : state.request.key.view().encoded());
  } else {
    ASSIGN_OR_RETURN(expr::Updated updated,
                     expr::ApplyUpdate(state.update, old_item, state.request.key.view()));
    if (!updated.item.empty()) {
      change.kind = table::Change::kPut;
      change.item = std::move(updated.item);
    }
  }
  const model::ItemView new_item(change.item);
  if (new_item.exists() && MeasuredSize(state, new_item) > model::kMaxItemBytes)
    return ValidationError(std::string(expr::kUpdatedItemTooLarge));
  if (!state.table->descriptor.indexes.empty() && new_item.exists()) {
    TRY(table::CheckIndexKeys(state.table->descriptor, old_item, new_item, true));
    if (!table::FitsWithLocalEntries(state.table->descriptor, new_item)) {
      return ValidationError(std::string(expr::kUpdatedItemTooLarge));
    }
  }
  state.CountIndexUnits(old_item, &change);
  state.bytes = static_cast<int64_t>(std::max(old_item.size_bytes(), new_item.size_bytes()));
  state.units = throughput::WriteUnits(state.bytes);
  switch (state.request.return_values.value_or(ReturnValues::kNone)) {
    case ReturnValues::kNone: break;
    case ReturnValues::kAllOld: state.attributes = std::string(old_item.encoded()); break;
    case ReturnValues::kAllNew: state.attributes = std::string(new_item.encoded()); break;
    case ReturnValues::kUpdatedOld:
      state.attributes = expr::UpdatedFragments(state.update, old_item);
      break;
    case ReturnValues::kUpdatedNew:
      state.attributes = expr::UpdatedFragments(state.update, new_item);
      break;
  }
  return change;
}

UpdateItemResponse Finish(State& state) {
  return FinishItemWrite<UpdateItemResponse>(state, state.request.key.view());
}

}  // namespace

void UpdateItem(Context& ctx, UpdateItemRequest request, Callback<UpdateItemResponse> done) {
  WriteOneItem(ctx, Prepare(ctx, std::move(request)), Decide, Finish, std::move(done));
}

}  // namespace stator::ops
