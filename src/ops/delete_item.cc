#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/index_writes.h"
#include "ops/item_write.h"
#include "ops/operations.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

struct State {
  DeleteItemRequest request;
  expr::Condition condition;
  table::TablePtr table;
  std::string key;
  table::Store* store = nullptr;
  // Outputs of the body.
  std::string old_item;
  int64_t units = 0;
  IndexUnits index_units;  // if the client wants capacity

  void CountIndexUnits(model::ItemView old_image, model::ItemView new_image) {
    index_units.clear();
    if (table->descriptor.indexes.empty() || !WantsCapacity(request.return_consumed_capacity)) return;
    AddIndexUnits(*table, old_image, new_image, &index_units);
  }
};

Result<std::shared_ptr<State>> Prepare(Context& ctx, DeleteItemRequest request) {
  TRY(CheckExpressionParameters({{"ConditionExpression", request.condition_expression.has_value()}},
                                {{"Expected", request.expected.has_value()}, {"ConditionalOperator", request.conditional_operator.has_value()}},
                                request.expression_attribute_names.has_value(),
                                request.expression_attribute_values.has_value()));
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  if (request.return_values && *request.return_values != ReturnValues::kAllOld &&
      *request.return_values != ReturnValues::kNone) {
    return ValidationError("ReturnValues can only be ALL_OLD or NONE");
  }
  TRY(CheckValues(request.value_errors, ValuePlace::kExpected));
  TRY(CheckConditionalOperator(request.conditional_operator, request.expected));
  auto state = std::make_shared<State>();
  if (request.condition_expression || request.expected) {
    expr::Substitutions substitutions;
    TRY(SetSubstitutions(&request.expression_attribute_names, &request.expression_attribute_values, request.value_errors,
                         &substitutions));
    ASSIGN_OR_RETURN(state->condition, ConditionOf(request.condition_expression, request.expected,
                                                   request.conditional_operator, &substitutions));
    TRY(substitutions.CheckAllUsed());
  }
  ASSIGN_OR_RETURN(state->table, FindActiveTable(ctx.env, request.table_name));
  TRY(CheckKey(state->table->key_schema(), request.key.view()));
  state->key = table::EncodeItemKey(state->table->key_schema(), request.key.view());
  state->store = &ctx.env.store;
  state->request = std::move(request);
  return state;
}

Result<table::Change> Decide(State& state, model::ItemView old_item) {
  if (!expr::Evaluate(state.condition, old_item)) {
    return ConditionFailed(state.request.return_values_on_condition_check_failure, old_item);
  }
  state.units = throughput::WriteUnits(static_cast<int64_t>(old_item.size_bytes()));
  state.CountIndexUnits(old_item, model::ItemView());
  state.old_item.clear();
  if (!old_item.exists()) return table::Change{};
  if (state.request.return_values == ReturnValues::kAllOld) state.old_item = std::string(old_item.encoded());
  return table::Change{table::Change::kDelete, ""};
}

DeleteItemResponse Finish(State& state) {
  DeleteItemResponse response;
  if (!state.old_item.empty()) response.attributes = std::move(state.old_item);
  response.consumed_capacity = WriteCapacity(state.request.return_consumed_capacity, state.request.table_name,
                                             *state.table, state.units, state.index_units);
  response.item_collection_metrics =
      CollectionMetrics(*state.store, *state.table, state.request.return_item_collection_metrics,
                        state.request.key.view(), state.key);
  return response;
}

}  // namespace

void DeleteItem(Context& ctx, DeleteItemRequest request, Callback<DeleteItemResponse> done) {
  Result<std::shared_ptr<State>> state = Prepare(ctx, std::move(request));
  if (!state.ok()) {
    done(std::move(state).error());
    return;
  }
  table::TablePtr table = (*state)->table;
  std::string key = (*state)->key;
  WriteOneItem(ctx, std::move(*state), std::move(table), std::move(key), Decide, Finish, std::move(done));
}

}  // namespace stator::ops
