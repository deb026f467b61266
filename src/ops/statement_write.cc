#include "ops/statement_write.h"

#include <memory>

#include "ops/admit.h"
#include "ops/faults.h"
#include "ops/long_write.h"
#include "ops/payload.h"
#include "ops/write_bytes.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

struct State {
  TransactionAction action;
  expr::Returning returning;
  bool counts_index_units;
  bool measured;
  StatementWriteResult result;
  bool admitted = false;
  WriteBytes held;
};

// Once: the body may run again.
Status Admit(Context& ctx, State& state, const table::EntryChanges& entries) {
  if (!state.measured || state.admitted) return OkStatus();
  if (const auto refusal = AdmitItemWrite(ctx, *state.action.table, state.action.key,
                                          state.result.units, &entries)) {
    state.result = {};
    return ErrorOf(ctx, *refusal);
  }
  state.admitted = true;
  return OkStatus();
}

Error ErrorOfReason(CancellationReason reason) {
  if (reason.code == "DuplicateItem")
    return Error(ErrorCode::kDuplicateItem, std::move(reason.message));
  if (reason.code != "ConditionalCheckFailed") return ValidationError(std::move(reason.message));
  std::shared_ptr<const ErrorPayload> payload;
  if (!reason.item.empty()) payload = std::make_shared<ItemPayload>(std::move(reason.item));
  return Error(ErrorCode::kConditionalCheckFailed, std::move(reason.message), std::move(payload));
}

std::string Returned(const State& state, model::ItemView old_item, model::ItemView new_item) {
  switch (state.returning) {
    case expr::Returning::kNone: return "";
    case expr::Returning::kAllOld: return std::string(old_item.encoded());
    case expr::Returning::kAllNew: return std::string(new_item.encoded());
    case expr::Returning::kModifiedOld:
      return expr::UpdatedFragments(state.action.update, old_item);
    case expr::Returning::kModifiedNew:
      return expr::UpdatedFragments(state.action.update, new_item);
  }
  return "";
}

Result<std::vector<table::Change>> Decide(Context& ctx, State& state, model::ItemView old_item) {
  StatementWriteResult& result = state.result;
  result = {};
  state.held.Begin(ctx.memory);
  ASSIGN_OR_RETURN(ActionOutcome outcome, DecideAction(state.action, old_item));
  TRY(state.held.Add(*state.action.table, old_item.size_bytes(), outcome.written_bytes));
  TRY(state.held.AddAnswer(outcome.reason.item));
  result.units = throughput::WriteUnits(static_cast<int64_t>(outcome.measured_bytes));
  const model::ItemView new_item(outcome.change.item);
  if (state.counts_index_units || state.measured)
    outcome.change.DeriveEntries(*state.action.table, old_item);
  if (state.counts_index_units) result.index_units = UnitsOf(outcome.change.entries);
  TRY(Admit(ctx, state, outcome.change.entries));
  if (outcome.reason.code != "None") return ErrorOfReason(std::move(outcome.reason));
  std::string returned = Returned(state, old_item, new_item);
  TRY(state.held.AddAnswer(returned));
  if (!returned.empty()) result.item = std::move(returned);
  std::vector<table::Change> changes;
  changes.push_back(std::move(outcome.change));
  return changes;
}

// The part of RunStatementWrite that any process of the store can do.
void RunHere(Context& ctx, std::shared_ptr<State> state,
             UniqueFunction<void(StatementWriteResult)> done) {
  state->measured = Measured(ctx, *state->action.table);
  std::vector<table::WriteTarget> targets;
  targets.push_back({state->action.table, state->action.key});
  Executor& loop = ctx.loop;
  table::WriteDetour detour =
      DetourOf(ctx, 1, [state](size_t, size_t bytes) { return MostSteps(state->action, bytes); });
  ctx.env.store.Write(
      std::move(targets),
      [state, &ctx](const std::vector<model::ItemView>& old_items) {
        return Decide(ctx, *state, old_items[0]);
      },
      [state, &loop, done = std::move(done)](Status status) mutable {
        RunOn(loop, [state = std::move(state), status = std::move(status),
                     done = std::move(done)]() mutable {
          if (!status.ok()) state->result.error = std::move(status).error();
          done(std::move(state->result));
        });
      },
      nullptr, std::move(detour), ctx.permit);
}

}  // namespace

void RunStatementWrite(Context& ctx, StatementWrite write,
                       UniqueFunction<void(StatementWriteResult)> done) {
  auto state = std::make_shared<State>(State{
      std::move(write.action), write.returning, write.counts_index_units, /*measured=*/false, {}});
  if (Status struck =
          StrikeRequest(ctx, {state->action.table.get(), nullptr, /*write=*/true, /*single=*/true});
      !struck.ok()) {
    state->result.error = std::move(struck).error();
    done(std::move(state->result));
    return;
  }
  if (!write.alone || ctx.forwarder == nullptr)
    return RunHere(ctx, std::move(state), std::move(done));
  const WrittenItem item{state->action.table.get(), state->action.key};
  UniqueFunction<void()> here = [&ctx, state, done = std::move(done)]() mutable {
    RunHere(ctx, std::move(state), std::move(done));
  };
  if (!ctx.forwarder->TryForward({&item, 1}, here)) here();
}

}  // namespace stator::ops
