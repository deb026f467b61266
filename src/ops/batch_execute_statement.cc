#include <set>

#include "ops/admit.h"
#include "ops/answer_bytes.h"
#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/faults.h"
#include "ops/item_read.h"
#include "ops/operations.h"
#include "ops/statement_plan.h"
#include "ops/statement_write.h"

namespace stator::ops {
namespace {

struct Entry {
  expr::Statement statement;
  std::optional<Error> error;
  // Members of a read:
  SelectPlan plan;
  bool consistent = false;
  std::shared_ptr<const table::History::Moment> past;  // null: the present
  // Members of a write. Its run moves from `action.table`.
  TransactionAction action;
  table::TablePtr table;  // set when the statement was planned
  std::string key;
  std::string table_name;
  // Outcome.
  std::optional<std::string> item;
  int64_t units = 0;  // halves of a read
  IndexUnits index_units;
};

struct State {
  std::vector<Entry> entries;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  bool reads = false;
  size_t next = 0;  // reads
  AnswerBytes answer{nullptr};
  size_t outstanding = 0;  // writes
  Callback<BatchExecuteStatementResponse> done;
};

Status PlanRead(const Context& ctx, Entry* entry) {
  const expr::Statement& statement = entry->statement;
  const Error wants_key = ValidationError(
      "Select statements within BatchExecuteStatement must specify the primary key in the where "
      "clause.");
  if (statement.index) return wants_key;
  ASSIGN_OR_RETURN(entry->plan, PlanSelect(ctx, statement, entry->consistent));
  if (entry->plan.item_key.empty() || entry->plan.filter.present()) return wants_key;
  TRY(CheckKeyContents(entry->plan.target.table->key_schema(),
                       model::ItemView(entry->plan.key_attributes)));
  entry->table = entry->plan.target.table;
  entry->key = entry->plan.item_key;
  return OkStatus();
}

Status PlanEntry(const Context& ctx, Entry* entry) {
  if (entry->statement.kind == expr::StatementKind::kExists) {
    return ValidationError("EXISTS can only be used in ExecuteTransaction write requests.");
  }
  entry->table_name = entry->statement.table;
  if (entry->statement.kind == expr::StatementKind::kSelect) return PlanRead(ctx, entry);
  ASSIGN_OR_RETURN(table::TablePtr table, FindActiveTable(ctx, entry->statement.table));
  // ReturnValuesOnConditionCheckFailure is accepted and has no effect (reference: operations.md,
  // 2023-06).
  ASSIGN_OR_RETURN(entry->action, PlanWrite(table, &entry->statement));
  entry->table = std::move(table);
  entry->key = entry->action.key;
  return OkStatus();
}

Result<std::shared_ptr<State>> Prepare(Context& ctx, BatchExecuteStatementRequest request) {
  TRY(CheckValues(request.value_errors, ValuePlace::kParameters));
  auto state = std::make_shared<State>();
  state->return_consumed_capacity = request.return_consumed_capacity;
  state->entries.resize(request.statements.size());
  bool reads = false;
  bool writes = false;
  for (size_t i = 0; i < request.statements.size(); ++i) {
    BatchStatementRequest& one = request.statements[i];
    Entry& entry = state->entries[i];
    entry.consistent = one.consistent_read.value_or(false);
    Result<expr::Statement> statement = ParseStatementOf(one.statement, one.parameters, {});
    if (!statement.ok() && statement.error().message().starts_with(expr::kMalformedStatement)) {
      entry.error = std::move(statement).error();
      continue;
    }
    (expr::IsSelect(one.statement) ? reads : writes) = true;
    if (!statement.ok()) {
      entry.error = std::move(statement).error();
      continue;
    }
    entry.statement = *std::move(statement);
  }
  if (reads && writes) {
    return ValidationError("Read and write requests together in the same batch is not supported.");
  }
  state->reads = reads;
  std::set<std::pair<uint32_t, std::string>> seen;
  for (Entry& entry : state->entries) {
    if (entry.error) continue;
    if (Status planned = PlanEntry(ctx, &entry); !planned.ok()) {
      if (!ctx.catalog_known && planned.error().code() == ErrorCode::kResourceNotFound)
        return std::move(planned).error();
      entry.error = std::move(planned).error();
      continue;
    }
    if (!seen.emplace(entry.table->descriptor.tablet_id, entry.key).second) {
      return ValidationError("Provided list of item keys contains duplicates");
    }
  }
  return state;
}

std::string_view CodeOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kValidation: return "ValidationError";
    case ErrorCode::kConditionalCheckFailed: return "ConditionalCheckFailed";
    case ErrorCode::kDuplicateItem: return "DuplicateItem";
    case ErrorCode::kResourceNotFound: return "ResourceNotFound";
    case ErrorCode::kItemCollectionTooLarge: return "ItemCollectionSizeLimitExceeded";
    case ErrorCode::kTransactionConflict: return "TransactionConflict";
    case ErrorCode::kThrottling: return "ThrottlingError";
    case ErrorCode::kProvisionedThroughputExceeded: return "ProvisionedThroughputExceeded";
    case ErrorCode::kRequestLimitExceeded: return "RequestLimitExceeded";
    case ErrorCode::kAccessDenied: return "AccessDenied";
    default: return "InternalServerError";
  }
}

BatchExecuteStatementResponse Finish(State& state) {
  BatchExecuteStatementResponse response;
  // By table, in the order of first appearance; a table may be named by its name and by its ARN.
  struct Consumed {
    const Entry* entry;
    int64_t units = 0;
    IndexUnits index_units;
  };
  std::vector<Consumed> consumed;
  for (Entry& entry : state.entries) {
    BatchStatementResponse& one = response.responses.emplace_back();
    if (entry.error) one.error = BatchStatementError{CodeOf(*entry.error), entry.error->message()};
    if (entry.table == nullptr) continue;
    one.table_name = entry.table_name;
    one.item = std::move(entry.item);
    Consumed* sum = nullptr;
    for (Consumed& each : consumed) {
      if (each.entry->table->descriptor.tablet_id == entry.table->descriptor.tablet_id) sum = &each;
    }
    if (sum == nullptr) sum = &consumed.emplace_back(Consumed{&entry, 0, {}});
    sum->units += entry.units;
    sum->index_units.resize(std::max(sum->index_units.size(), entry.index_units.size()));
    for (size_t i = 0; i < entry.index_units.size(); ++i)
      sum->index_units[i] += entry.index_units[i];
  }
  if (!WantsCapacity(state.return_consumed_capacity)) return response;
  response.consumed_capacity.emplace();
  for (const Consumed& each : consumed) {
    const Entry& entry = *each.entry;
    response.consumed_capacity->push_back(
        state.reads ? *TableCapacity(state.return_consumed_capacity, entry.table_name,
                                     throughput::HalvesToUnits(each.units))
                    : *WriteCapacity(state.return_consumed_capacity, entry.table_name, *entry.table,
                                     each.units, each.index_units));
  }
  return response;
}

// Continues the reads of the batch until all are done. After kWouldBlock a later call continues at
// the same entry.
Status ReadOn(Context& ctx, State* state, kv::Tier tier) {
  table::Store& store = ctx.env.store;
  size_t bytes = 0;
  for (; state->next < state->entries.size(); ++state->next) {
    Entry& entry = state->entries[state->next];
    if (entry.error) continue;
    // The loop's thread leaves the rest to a worker.
    if (tier == kv::Tier::kMemory && bytes > kInlineReplyBytes)
      return Error(ErrorCode::kWouldBlock, "");
    std::string item;
    Result<bool> found = store.Get(*entry.table, entry.key, tier, &item, entry.past.get());
    if (!found.ok()) {
      const bool gone = !ctx.catalog_known && found.error().code() == ErrorCode::kFenced;
      if (gone || found.error().code() == ErrorCode::kWouldBlock) return std::move(found).error();
      entry.error = std::move(found).error();
      continue;
    }
    bytes += item.size();
    const model::ItemView view = *found ? model::ItemView(item) : model::ItemView();
    if (!state->answer.AddItem(view.encoded())) {
      entry.error = MemoryRefusal();
      continue;
    }
    const int64_t halves =
        throughput::ReadHalves(static_cast<int64_t>(view.size_bytes()), entry.consistent);
    if (const auto refusal =
            AdmitItemRead(ctx, *entry.table, entry.key, halves, entry.consistent)) {
      entry.error = ErrorOf(ctx, *refusal);
      continue;
    }
    entry.units = halves;
    if (!*found) continue;
    entry.item = entry.statement.projection.present()
                     ? expr::Project(entry.statement.projection, view)
                     : std::move(item);
  }
  return OkStatus();
}

void RunReads(Context& ctx, std::shared_ptr<State> state) {
  state->answer = AnswerBytes(ctx.memory);
  for (Entry& entry : state->entries) {
    if (entry.error) continue;
    if (Status struck = StrikeRequest(ctx, {entry.table.get()}); !struck.ok())
      entry.error = std::move(struck).error();
    entry.past = MomentOf(ctx, *entry.table, nullptr, entry.consistent);
  }
  const auto read = [state, &ctx](kv::Tier tier) -> Result<bool> {
    TRY(ReadOn(ctx, state.get(), tier));
    return true;
  };
  ReadThenFinish(ctx, read, [state](Result<bool> finished) mutable {
    if (finished.ok()) {
      state->done(Finish(*state));
    } else {
      state->done(std::move(finished).error());
    }
  });
}

void RunWrites(Context& ctx, std::shared_ptr<State> state) {
  // One more than there are writes, so that none that ends at once ends the whole.
  state->outstanding = 1;
  const auto end_one = [](State& done_state) {
    if (--done_state.outstanding == 0) done_state.done(Finish(done_state));
  };
  for (Entry& entry : state->entries) {
    if (entry.error) continue;
    ++state->outstanding;
    RunStatementWrite(ctx,
                      {std::move(entry.action), entry.statement.returning,
                       WantsCapacity(state->return_consumed_capacity)},
                      [state, &entry, end_one](StatementWriteResult result) {
                        entry.error = std::move(result.error);
                        entry.item = std::move(result.item);
                        entry.units = result.units;
                        entry.index_units = std::move(result.index_units);
                        end_one(*state);
                      });
  }
  end_one(*state);
}

}  // namespace

void BatchExecuteStatement(Context& ctx, BatchExecuteStatementRequest request,
                           Callback<BatchExecuteStatementResponse> done) {
  Result<std::shared_ptr<State>> prepared = Prepare(ctx, std::move(request));
  if (!prepared.ok()) {
    done(std::move(prepared).error());
    return;
  }
  (*prepared)->done = std::move(done);
  if ((*prepared)->reads) {
    RunReads(ctx, *std::move(prepared));
  } else {
    RunWrites(ctx, *std::move(prepared));
  }
}

}  // namespace stator::ops
