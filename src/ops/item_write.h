// The common course of PutItem, UpdateItem and DeleteItem on one item.
#pragma once

#include <memory>
#include <utility>

#include "ops/admit.h"
#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/context.h"
#include "ops/faults.h"
#include "ops/index_writes.h"
#include "ops/long_write.h"
#include "ops/write_bytes.h"
#include "table/store.h"

namespace stator::ops {

// What the three operations keep between the request and the answer.
template <typename Request>
struct ItemWrite {
  Request request;
  expr::Condition condition;
  table::TablePtr table;
  std::string key;
  table::Store* store = nullptr;
  // Outputs of the body.
  std::string attributes;  // encoded item to answer; empty: none
  int64_t bytes = 0;       // of the larger image
  int64_t units = 0;
  IndexUnits index_units;  // if the client wants capacity
  bool measured = false;
  bool admitted = false;
  WriteBytes held;

  // Counts the units of `change` in the indexes, if the table is measured or the client asks for
  // them.
  void CountIndexUnits(model::ItemView old_image, table::Change* change) {
    const bool wanted = WantsCapacity(request.return_consumed_capacity);
    if (!measured && !wanted) return;
    change->DeriveEntries(*table, old_image);
    if (wanted) index_units = UnitsOf(change->entries);
  }

  // Takes what the body counted. `change`: what will be written; null: nothing. Once: the body may
  // run again.
  Status Admit(Context& ctx, const table::Change* change) {
    if (!measured || admitted) return OkStatus();
    if (const auto refusal =
            AdmitItemWrite(ctx, *table, key, units, change != nullptr ? &change->entries : nullptr))
      return ErrorOf(ctx, *refusal);
    admitted = true;
    return OkStatus();
  }
};

// PutItem and DeleteItem: mixing of legacy parameters and expressions.
template <typename Request>
Status CheckConditionParameters(const Request& request) {
  return CheckExpressionParameters(
      {{"ConditionExpression", request.condition_expression.has_value()}},
      {{"Expected", request.expected.has_value()},
       {"ConditionalOperator", request.conditional_operator.has_value()}},
      request.expression_attribute_names.has_value(),
      request.expression_attribute_values.has_value());
}

// PutItem and DeleteItem answer the old item or nothing.
inline Status CheckAllOldOrNone(const std::optional<ReturnValues>& return_values) {
  if (!return_values || *return_values == ReturnValues::kAllOld ||
      *return_values == ReturnValues::kNone)
    return OkStatus();
  return ValidationError("ReturnValues can only be ALL_OLD or NONE");
}

// PutItem and DeleteItem: the condition, and nothing else, uses the substitutions.
template <typename Request>
Result<expr::Condition> ParseOnlyCondition(Request* request) {
  TRY(CheckValues(request->value_errors, ValuePlace::kExpected));
  TRY(CheckConditionalOperator(request->conditional_operator, request->expected));
  if (!request->condition_expression && !request->expected) return expr::Condition();
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&request->expression_attribute_names, &request->expression_attribute_values,
                       request->value_errors, &substitutions));
  ASSIGN_OR_RETURN(expr::Condition condition,
                   ConditionOf(request->condition_expression, request->expected,
                               request->conditional_operator, &substitutions));
  TRY(substitutions.CheckAllUsed());
  return condition;
}

// The answer to a write that was applied. `key` holds the key attributes, and may hold more.
template <typename Response, typename State>
Response FinishItemWrite(State& state, model::ItemView key) {
  Response response;
  response.stored_bytes = state.bytes;
  if (!state.attributes.empty()) response.attributes = std::move(state.attributes);
  response.consumed_capacity =
      WriteCapacity(state.request.return_consumed_capacity, state.request.table_name, *state.table,
                    state.units, state.index_units);
  response.item_collection_metrics = CollectionMetrics(
      *state.store, *state.table, state.request.return_item_collection_metrics, key, state.key);
  return response;
}

// The part of WriteOneItem that any process of the store can do.
template <typename State, typename Decide, typename Finish, typename Response>
void WriteOneItemHere(Context& ctx, std::shared_ptr<State> state, Decide decide, Finish finish,
                      Callback<Response> done) {
  state->measured = Measured(ctx, *state->table);
  Executor& loop = ctx.loop;
  std::vector<table::WriteTarget> targets;
  targets.push_back({state->table, state->key});
  table::WriteDetour detour = DetourOf(ctx, 1, [state](size_t, size_t bytes) {
    uint64_t steps = expr::MostSteps(state->condition, bytes);
    if constexpr (requires { state->update; }) steps += expr::MostSteps(state->update, bytes);
    return steps;
  });
  ctx.env.store.Write(
      std::move(targets),
      [state, decide,
       &ctx](const std::vector<model::ItemView>& old_items) -> Result<std::vector<table::Change>> {
        state->index_units.clear();
        state->held.Begin(ctx.memory);
        Result<table::Change> change = decide(*state, old_items[0]);
        TRY(state->held.AddAnswer(state->attributes));
        if (change.ok()) {
          TRY(state->held.Add(*state->table, old_items[0].encoded().size(), change->item.size()));
          TRY(state->Admit(ctx, &*change));
        } else if (change.error().code() == ErrorCode::kConditionalCheckFailed) {
          TRY(state->Admit(ctx, nullptr));
        }
        if (!change.ok()) return std::move(change).error();
        std::vector<table::Change> changes;
        changes.push_back(*std::move(change));
        return changes;
      },
      [state, finish, &loop, done = std::move(done)](Status status) mutable {
        RunOn(loop, [state = std::move(state), finish, status = std::move(status),
                     done = std::move(done)]() mutable {
          if (!status.ok()) {
            done(std::move(status).error());
          } else {
            done(finish(*state));
          }
        });
      },
      nullptr, std::move(detour), ctx.permit);
}

// Runs `decide(state, old item)` -> Result<table::Change> under the item's latch, asks for the
// units that it counted, also of a condition that failed, and applies the change; then hands
// `finish(state)` -> Response, or the error, to `done` on the loop's thread. `decide` may run more
// than once. An error in `prepared` is handed to `done` at once, and so are those of the fault
// dial. Another process may do all of it (Context::forwarder); then `done` is destroyed uncalled.
template <typename State, typename Decide, typename Finish, typename Response>
void WriteOneItem(Context& ctx, Result<std::shared_ptr<State>> prepared, Decide decide,
                  Finish finish, Callback<Response> done) {
  if (!prepared.ok()) {
    done(std::move(prepared).error());
    return;
  }
  std::shared_ptr<State> state = std::move(*prepared);
  if (Status struck =
          StrikeRequest(ctx, {state->table.get(), nullptr, /*write=*/true, /*single=*/true});
      !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  if (ctx.forwarder == nullptr)
    return WriteOneItemHere(ctx, std::move(state), decide, finish, std::move(done));
  const WrittenItem item{state->table.get(), state->key};
  UniqueFunction<void()> here = [&ctx, state = state, decide, finish,
                                 done = std::move(done)]() mutable {
    WriteOneItemHere(ctx, std::move(state), decide, finish, std::move(done));
  };
  if (!ctx.forwarder->TryForward({&item, 1}, here)) here();
}

}  // namespace stator::ops
