#include "ops/item_write.h"
#include "ops/operations.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using State = ItemWrite<DeleteItemRequest>;

Result<std::shared_ptr<State>> Prepare(Context& ctx, DeleteItemRequest request) {
  TRY(CheckConditionParameters(request));
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  TRY(CheckAllOldOrNone(request.return_values));
  auto state = std::make_shared<State>();
  ASSIGN_OR_RETURN(state->condition, ParseOnlyCondition(&request));
  ASSIGN_OR_RETURN(state->table, FindActiveTable(ctx, request.table_name));
  TRY(CheckKey(state->table->key_schema(), request.key.view()));
  state->key = table::EncodeItemKey(state->table->key_schema(), request.key.view());
  state->store = &ctx.env.store;
  state->request = std::move(request);
  return state;
}

Result<table::Change> Decide(State& state, model::ItemView old_item) {
  state.bytes = static_cast<int64_t>(old_item.size_bytes());
  state.units = throughput::WriteUnits(state.bytes);
  if (!expr::Evaluate(state.condition, old_item)) {
    return ConditionFailed(state.request.return_values_on_condition_check_failure, old_item);
  }
  state.attributes.clear();
  if (!old_item.exists()) return table::Change{};
  if (state.request.return_values == ReturnValues::kAllOld)
    state.attributes = std::string(old_item.encoded());
  table::Change change{table::Change::kDelete, ""};
  state.CountIndexUnits(old_item, &change);
  return change;
}

DeleteItemResponse Finish(State& state) {
  return FinishItemWrite<DeleteItemResponse>(state, state.request.key.view());
}

}  // namespace

void DeleteItem(Context& ctx, DeleteItemRequest request, Callback<DeleteItemResponse> done) {
  WriteOneItem(ctx, Prepare(ctx, std::move(request)), Decide, Finish, std::move(done));
}

}  // namespace stator::ops
