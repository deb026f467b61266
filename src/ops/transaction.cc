#include "ops/transaction.h"

#include <algorithm>

#include "ops/admit.h"
#include "ops/capacity.h"
#include "ops/faults.h"
#include "ops/long_write.h"
#include "ops/write_bytes.h"
#include "table/index_entries.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

// Encodes a record of the token ledger: the digest of the actions, then the read units that a
// repeated request costs, one varint for each action.
std::string EncodeRecord(const std::string& digest, const std::vector<int64_t>& read_units) {
  std::string record = digest;
  for (const int64_t units : read_units) model::AppendVarint(&record, static_cast<uint64_t>(units));
  return record;
}

// The state of one run of a transaction, shared by the body and the code that runs after it.
struct Run {
  WriteTransaction transaction;
  std::shared_ptr<table::TokenUse> token;  // null without
  TransactionUnits drawn;                  // output of the body
  bool measured = false;                   // one of the tables is
  bool admitted = false;
  WriteBytes held;
};

// Takes what the body counted, or the read units of a repetition, of all actions or of none. Once:
// the body may run again. `reasons`: what stands against actions besides. `changes`: of the
// actions; empty if nothing will be written.
Status Admit(Context& ctx, Run& run, const std::vector<table::Change>& changes,
             const std::vector<CancellationReason>& reasons) {
  if (!run.measured || run.admitted) return OkStatus();
  const std::vector<TransactionAction>& actions = run.transaction.actions;
  Draws draws(ctx);
  for (size_t i = 0; i < actions.size(); ++i) {
    if (!run.drawn.writes) {
      draws.AddRead(*actions[i].table, actions[i].key, 2 * run.drawn.units[i], /*consistent=*/true,
                    i);
    } else {
      draws.AddWrite(*actions[i].table, actions[i].key, run.drawn.units[i],
                     changes.empty() ? nullptr : &changes[i].entries, i);
    }
  }
  if (const auto refusal = draws.Admit())
    return TransactionErrorOf(ctx, *refusal, actions.size(), reasons);
  run.admitted = true;
  return OkStatus();
}

Result<std::vector<table::Change>> Repeat(Context& ctx, Run& run, std::string_view record) {
  const std::string& digest = run.transaction.digest;
  if (!record.starts_with(digest)) {
    return Error(ErrorCode::kIdempotentParameterMismatch,
                 "Specified idempotent token was used with different request parameters within the "
                 "idempotency window");
  }
  const char* p = record.data() + digest.size();
  run.drawn.writes = false;
  for (size_t i = 0; i < run.transaction.actions.size(); ++i) {
    run.drawn.units.push_back(static_cast<int64_t>(model::ReadVarint(&p)));
  }
  TRY(Admit(ctx, run, {}, {}));
  return std::vector<table::Change>(run.transaction.actions.size());
}

Result<std::vector<table::Change>> Body(Context& ctx, Run& run,
                                        const std::vector<model::ItemView>& old_items) {
  const std::vector<TransactionAction>& actions = run.transaction.actions;
  run.drawn = {};
  run.held.Begin(ctx.memory);
  if (run.token != nullptr && run.token->earlier) return Repeat(ctx, run, *run.token->earlier);
  std::vector<table::Change> changes;
  std::vector<CancellationReason> reasons;
  std::vector<int64_t> read_units;
  changes.reserve(actions.size());
  reasons.reserve(actions.size());
  bool canceled = false;
  size_t bytes = 0;
  uint64_t steps = 0;
  for (size_t i = 0; i < actions.size(); ++i) {
    if (steps > kMaxTransactionSteps) {
      return ValidationError(
          "The conditions of the transaction take too long to evaluate. Use shorter conditions, or "
          "fewer of them.");
    }
    ASSIGN_OR_RETURN(ActionOutcome decision, DecideAction(actions[i], old_items[i], &steps));
    canceled |= decision.reason.code != "None";
    TRY(run.held.AddAnswer(decision.reason.item));
    TRY(run.held.Add(*actions[i].table, old_items[i].size_bytes(), decision.written_bytes));
    reasons.push_back(std::move(decision.reason));
    changes.push_back(std::move(decision.change));
    table::Change& change = changes.back();
    if (run.measured || run.transaction.counts_index_units)
      change.DeriveEntries(*actions[i].table, old_items[i]);
    if (run.transaction.counts_index_units)
      run.drawn.index_units.push_back(UnitsOf(change.entries));
    bytes += decision.written_bytes;
    run.drawn.units.push_back(
        2 * throughput::WriteUnits(static_cast<int64_t>(decision.measured_bytes)));
    read_units.push_back(2 * throughput::ReadSteps(static_cast<int64_t>(decision.image_bytes)));
  }
  if (canceled) {
    TRY(Admit(ctx, run, {}, reasons));
    return TransactionCanceled(std::move(reasons));
  }
  TRY(CheckTransactionBytes(bytes));
  TRY(Admit(ctx, run, changes, {}));
  if (run.token != nullptr) run.token->record = EncodeRecord(run.transaction.digest, read_units);
  return changes;
}

std::vector<table::WriteTarget> TargetsOf(const WriteTransaction& transaction) {
  std::vector<table::WriteTarget> targets;
  targets.reserve(transaction.actions.size());
  for (const TransactionAction& action : transaction.actions)
    targets.push_back({action.table, action.key});
  return targets;
}

// The part of RunWriteTransaction that any process of the store can do.
void RunHere(Context& ctx, std::shared_ptr<Run> run, std::vector<table::WriteTarget> targets,
             Callback<TransactionUnits> done) {
  for (const TransactionAction& action : run->transaction.actions)
    run->measured |= Measured(ctx, *action.table);
  Executor& loop = ctx.loop;
  table::WriteDetour detour = DetourOf(ctx, targets.size(), [run](size_t i, size_t bytes) {
    return MostSteps(run->transaction.actions[i], bytes);
  });
  ctx.env.store.Write(
      std::move(targets),
      [run, &ctx](const std::vector<model::ItemView>& old_items) {
        return Body(ctx, *run, old_items);
      },
      [run, &ctx, &loop, done = std::move(done)](Status status) mutable {
        RunOn(loop, [run = std::move(run), &ctx, status = std::move(status),
                     done = std::move(done)]() mutable {
          const bool repeated = status.ok() && !run->drawn.writes;
          if (repeated && FaultsActive(ctx) && StrikeRepetition(ctx, TargetsOf(run->transaction))) {
            status = Error(ErrorCode::kTransactionInProgress,
                           "The transaction with the given request token is already in progress.");
          }
          if (!status.ok()) {
            done(AsTransactionError(run->transaction.actions.size(), std::move(status).error()));
          } else {
            done(std::move(run->drawn));
          }
        });
      },
      run->token, std::move(detour), ctx.permit);
}

// Hands the request over if another process should run it. Returns false, and leaves `here`
// untouched, if not.
bool ForwardTransaction(Context& ctx, const WriteTransaction& transaction,
                        UniqueFunction<void()>& here) {
  std::vector<WrittenItem> items;
  items.reserve(transaction.actions.size());
  for (const TransactionAction& action : transaction.actions)
    items.push_back({action.table.get(), action.key});
  return ctx.forwarder->TryForward(items, here);
}

}  // namespace

Error TransactionCanceled(std::vector<CancellationReason> reasons) {
  std::string message =
      "Transaction cancelled, please refer cancellation reasons for specific reasons [";
  for (size_t i = 0; i < reasons.size(); ++i) {
    if (i > 0) message.append(", ");
    message.append(reasons[i].code);
  }
  message.push_back(']');
  return Error(ErrorCode::kTransactionCanceled, std::move(message),
               std::make_shared<CancellationPayload>(std::move(reasons)));
}

Error AsTransactionError(size_t actions, Error error) {
  if (error.code() == ErrorCode::kTransactionConflict) {
    return TransactionCanceled(std::vector<CancellationReason>(
        actions, {"TransactionConflict", std::string(kConflictMessage), ""}));
  }
  if (error.code() != ErrorCode::kItemCollectionTooLarge || error.payload() == nullptr)
    return error;
  std::vector<CancellationReason> reasons(actions);
  reasons[static_cast<const table::TargetPayload&>(*error.payload()).target] = {
      "ItemCollectionSizeLimitExceeded", error.message(), ""};
  return TransactionCanceled(std::move(reasons));
}

CancellationReason ValidationReason(std::string message) {
  return {"ValidationError", std::move(message), ""};
}

Status CheckTransactionBytes(size_t bytes) {
  if (bytes <= kMaxTransactionBytes) return OkStatus();
  return ValidationError("Transaction payload size cannot exceed 4MB. Payload Size: " +
                         std::to_string(bytes));
}

uint64_t MostSteps(const TransactionAction& action, size_t item_bytes) {
  return expr::MostSteps(action.condition, item_bytes) + expr::MostSteps(action.update, item_bytes);
}

Result<ActionOutcome> DecideAction(const TransactionAction& action, model::ItemView old_item,
                                   uint64_t* steps) {
  ActionOutcome outcome;
  outcome.measured_bytes = outcome.image_bytes = old_item.size_bytes();
  if (action.kind == TransactionAction::kInsert && old_item.exists()) {
    outcome.measured_bytes = std::max(outcome.measured_bytes, action.view().size_bytes());
    outcome.reason = {"DuplicateItem", "Duplicate primary key exists in table", ""};
    return outcome;
  }
  const bool judged = old_item.exists() || action.if_missing == TransactionAction::kEvaluated;
  const bool holds = judged ? expr::Evaluate(action.condition, old_item, steps)
                            : action.if_missing == TransactionAction::kPasses;
  if (!holds) {
    outcome.reason = {"ConditionalCheckFailed", "The conditional request failed", ""};
    if (action.return_old_on_failure) outcome.reason.item = std::string(old_item.encoded());
    return outcome;
  }
  const auto put = [&](std::string item) {
    outcome.change = {table::Change::kPut, std::move(item)};
    outcome.image_bytes = outcome.written_bytes = model::ItemView(outcome.change.item).size_bytes();
    outcome.measured_bytes = std::max(outcome.measured_bytes, outcome.image_bytes);
  };
  switch (action.kind) {
    case TransactionAction::kConditionCheck: break;
    case TransactionAction::kPut:
    case TransactionAction::kInsert: put(action.item); break;
    case TransactionAction::kDelete:
      if (old_item.exists()) outcome.change.kind = table::Change::kDelete;
      break;
    case TransactionAction::kUpdate: {
      Result<expr::Updated> updated = expr::ApplyUpdate(action.update, old_item, action.view());
      if (!updated.ok()) {
        if (updated.error().code() != ErrorCode::kValidation) return std::move(updated).error();
        outcome.reason = ValidationReason(updated.error().message());
        break;
      }
      if (updated->item.empty()) break;
      // Unlike UpdateItem, the item is measured as it is [C].
      if (model::ItemView(updated->item).size_bytes() > model::kMaxItemBytes ||
          !table::FitsWithLocalEntries(action.table->descriptor, model::ItemView(updated->item))) {
        outcome.reason = ValidationReason(std::string(expr::kUpdatedItemTooLarge));
        break;
      }
      if (Status keys = table::CheckIndexKeys(action.table->descriptor, old_item,
                                              model::ItemView(updated->item), true);
          !keys.ok()) {
        outcome.reason = ValidationReason(keys.error().message());
        break;
      }
      put(std::move(updated->item));
      break;
    }
  }
  return outcome;
}

void RunWriteTransaction(Context& ctx, WriteTransaction transaction,
                         Callback<TransactionUnits> done) {
  auto run = std::make_shared<Run>();
  run->transaction = std::move(transaction);
  if (run->transaction.token) {
    run->token = std::make_shared<table::TokenUse>();
    run->token->token = *run->transaction.token;
    // A token is its account's.
    if (!ctx.account.empty()) run->token->token.insert(0, TokenPrefixOf(ctx.account));
  }
  std::vector<table::WriteTarget> targets = TargetsOf(run->transaction);
  if (Status struck = StrikeTransaction(ctx, targets, /*write=*/true); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  if (ctx.forwarder == nullptr)
    return RunHere(ctx, std::move(run), std::move(targets), std::move(done));
  UniqueFunction<void()> here = [&ctx, run, targets = std::move(targets),
                                 done = std::move(done)]() mutable {
    RunHere(ctx, std::move(run), std::move(targets), std::move(done));
  };
  if (!ForwardTransaction(ctx, run->transaction, here)) here();
}

void TransactionCapacity::Add(const std::string& table_name, const table::TablePtr& table,
                              int64_t units, const IndexUnits& index_units) {
  for (Entry& entry : entries_) {
    if (entry.table->descriptor.tablet_id != table->descriptor.tablet_id) continue;
    entry.units += units;
    entry.index_units.resize(std::max(entry.index_units.size(), index_units.size()));
    for (size_t i = 0; i < index_units.size(); ++i) entry.index_units[i] += index_units[i];
    return;
  }
  entries_.push_back({table, table_name, units, index_units});
}

std::optional<std::vector<ConsumedCapacity>> TransactionCapacity::Take(
    const std::optional<ReturnConsumedCapacity>& wanted, bool writes) const {
  if (!WantsCapacity(wanted)) return std::nullopt;
  std::vector<ConsumedCapacity> capacities;
  for (const Entry& entry : entries_) {
    ConsumedCapacity capacity =
        *WriteCapacity(wanted, entry.table_name, *entry.table, entry.units, entry.index_units);
    (writes ? capacity.write_capacity_units : capacity.read_capacity_units) =
        capacity.capacity_units;
    if (capacity.table) {
      const double units = capacity.table->capacity_units;
      (writes ? capacity.table->write_capacity_units : capacity.table->read_capacity_units) = units;
    }
    capacities.push_back(std::move(capacity));
  }
  return capacities;
}

}  // namespace stator::ops
