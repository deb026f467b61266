#include "ops/item_write.h"
#include "ops/operations.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using State = ItemWrite<PutItemRequest>;

Result<std::shared_ptr<State>> Prepare(Context& ctx, PutItemRequest request) {
  TRY(CheckConditionParameters(request));
  TRY(CheckValues(request.value_errors, ValuePlace::kItem));
  TRY(CheckAllOldOrNone(request.return_values));
  if (request.item.view().size_bytes() > model::kMaxItemBytes) {
    return ValidationError("Item size has exceeded the maximum allowed size");
  }
  auto state = std::make_shared<State>();
  ASSIGN_OR_RETURN(state->condition, ParseOnlyCondition(&request));
  ASSIGN_OR_RETURN(state->table, FindActiveTable(ctx, request.table_name));
  TRY(CheckItemKey(state->table->key_schema(), request.item.view()));
  TRY(CheckPutIndexKeys(*state->table, request.item.view()));
  TRY(CheckPutSize(*state->table, request.item.view()));
  state->key = table::EncodeItemKey(state->table->key_schema(), request.item.view());
  state->store = &ctx.env.store;
  state->request = std::move(request);
  return state;
}

Result<table::Change> Decide(State& state, model::ItemView old_item) {
  state.units = throughput::WriteUnits(static_cast<int64_t>(old_item.size_bytes()));
  if (!expr::Evaluate(state.condition, old_item)) {
    return ConditionFailed(state.request.return_values_on_condition_check_failure, old_item);
  }
  const model::ItemView new_item = state.request.item.view();
  state.bytes = static_cast<int64_t>(std::max(old_item.size_bytes(), new_item.size_bytes()));
  state.units = throughput::WriteUnits(state.bytes);
  table::Change change{table::Change::kPut, state.request.item.bytes};
  state.CountIndexUnits(old_item, &change);
  if (state.request.return_values == ReturnValues::kAllOld)
    state.attributes = std::string(old_item.encoded());
  return change;
}

PutItemResponse Finish(State& state) {
  return FinishItemWrite<PutItemResponse>(state, state.request.item.view());
}

}  // namespace

void PutItem(Context& ctx, PutItemRequest request, Callback<PutItemResponse> done) {
  WriteOneItem(ctx, Prepare(ctx, std::move(request)), Decide, Finish, std::move(done));
}

}  // namespace stator::ops
