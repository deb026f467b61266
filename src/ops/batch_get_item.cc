#include <map>
#include <set>

#include "ops/admit.h"
#include "ops/answer_bytes.h"
#include "ops/as_of.h"
#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/faults.h"
#include "ops/item_read.h"
#include "ops/operations.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

constexpr size_t kMaxKeys = 100;
constexpr size_t kMaxResponseBytes = 16 << 20;
// Keys of the past that are read in one turn of a worker: each is a seek in every day of the log
// from the moment on, together some milliseconds. A batch of no more than the second is not among
// what takes long.
constexpr size_t kPastTurnKeys = 25;
constexpr size_t kFewPastKeys = 8;

struct TablePlan {
  KeysAndAttributes request;
  table::TablePtr table;
  expr::Projection projection;
  std::vector<std::string> keys;            // encoded item keys
  std::vector<bool> left_out;               // keys that are not read; empty: none
  std::shared_ptr<const table::Past> past;  // null: the present

  bool reads(size_t key) const { return left_out.empty() || !left_out[key]; }
};

struct State {
  std::vector<TablePlan> tables;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  size_t keys = 0;  // of all tables
  // Progress: the next key to read.
  size_t table = 0;
  size_t key = 0;
  size_t bytes = 0;
  AnswerBytes answer{nullptr};
  std::vector<int64_t> halves;  // by table
  bool any_admitted = false;
  std::optional<Error> refusal;  // of the first key that was throttled
  BatchGetItemResponse response;
};

Result<std::shared_ptr<State>> Prepare(Context& ctx, BatchGetItemRequest request) {
  if (request.request_items.empty()) {
    return ValidationError("The requestItems parameter is required for BatchGetItem");
  }
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  auto state = std::make_shared<State>();
  state->return_consumed_capacity = request.return_consumed_capacity;
  // ProjectionExpression and AttributesToGet may not be used together, not even for different
  // tables of one batch.
  bool any_expression = false;
  bool any_legacy = false;
  for (const KeysAndAttributes& entry : request.request_items) {
    any_expression |= entry.projection_expression.has_value();
    any_legacy |= entry.attributes_to_get.has_value();
  }
  TRY(CheckExpressionParameters({{"ProjectionExpression", any_expression, false}},
                                {{"AttributesToGet", any_legacy}}, false, false));
  size_t total = 0;
  for (KeysAndAttributes& entry : request.request_items) {
    TRY(CheckExpressionParameters(
        {{"ProjectionExpression", entry.projection_expression.has_value(), false}},
        {{"AttributesToGet", entry.attributes_to_get.has_value()}},
        entry.expression_attribute_names.has_value(), false));
    total += entry.keys.size();
    TablePlan plan;
    expr::Substitutions substitutions;
    // A copy of the names: UnprocessedKeys repeats them.
    std::optional<ExpressionAttributeNames> names = entry.expression_attribute_names;
    TRY(SetSubstitutions(&names, nullptr, {}, &substitutions));
    ASSIGN_OR_RETURN(plan.projection, ProjectionOf(entry.projection_expression,
                                                   entry.attributes_to_get, &substitutions));
    TRY(substitutions.CheckAllUsed());
    plan.request = std::move(entry);
    state->tables.push_back(std::move(plan));
  }
  state->keys = total;
  if (total > kMaxKeys)
    return ValidationError("Too many items requested for the BatchGetItem call");

  // By tablet, because one table may be named by its name and by its ARN.
  std::set<std::pair<uint32_t, std::string>> seen;
  for (TablePlan& plan : state->tables) {
    ASSIGN_OR_RETURN(plan.table, FindActiveTable(ctx, plan.request.table_name));
    for (const EncodedItem& key : plan.request.keys) {
      TRY(CheckKey(plan.table->key_schema(), key.view()));
      std::string encoded = table::EncodeItemKey(plan.table->key_schema(), key.view());
      if (!seen.emplace(plan.table->descriptor.tablet_id, encoded).second)
        return ValidationError("Provided list of item keys contains duplicates");
      plan.keys.push_back(std::move(encoded));
    }
    state->response.responses.push_back({plan.request.table_name, {}});
  }
  state->halves.resize(state->tables.size());
  return state;
}

// Reads on until all is read or the response is full (true), or `most_keys` were read; kWouldBlock
// leaves the progress where it was.
Result<bool> ReadOn(Context& ctx, State* state, kv::Tier tier, size_t most_keys) {
  table::Store& store = ctx.env.store;
  const size_t start = state->bytes;
  size_t read = 0;
  for (; state->table < state->tables.size(); ++state->table, state->key = 0) {
    TablePlan& plan = state->tables[state->table];
    for (; state->key < plan.keys.size(); ++state->key) {
      if (!plan.reads(state->key)) continue;
      // The loop's thread leaves the rest to a worker.
      if (tier == kv::Tier::kMemory && state->bytes - start > kInlineReplyBytes)
        return Error(ErrorCode::kWouldBlock, "");
      if (read++ == most_keys) return false;
      std::string item;
      ASSIGN_OR_RETURN(const bool found,
                       store.Get(*plan.table, plan.keys[state->key], tier, &item, plan.past.get()));
      const model::ItemView view = found ? model::ItemView(item) : model::ItemView();
      if (state->bytes > 0 && state->bytes + view.size_bytes() > kMaxResponseBytes) return true;
      // While memory is short the rest is left unprocessed, as beyond the size of a response.
      if (!state->answer.AddItem(view.encoded()) && state->bytes > 0) return true;
      const bool consistent = plan.request.consistent_read.value_or(false);
      const int64_t halves =
          throughput::ReadHalves(static_cast<int64_t>(view.size_bytes()), consistent);
      if (const auto refusal =
              AdmitItemRead(ctx, *plan.table, plan.keys[state->key], halves, consistent)) {
        plan.left_out.resize(plan.keys.size());
        plan.left_out[state->key] = true;
        if (!state->refusal) state->refusal = ErrorOf(ctx, *refusal);
        continue;
      }
      state->any_admitted = true;
      state->bytes += view.size_bytes();
      state->halves[state->table] += halves;
      if (!found) continue;
      state->response.responses[state->table].items.push_back(
          plan.projection.present() ? expr::Project(plan.projection, view) : std::move(item));
    }
  }
  return true;
}

BatchGetItemResponse Finish(State* state) {
  BatchGetItemResponse response = std::move(state->response);
  for (size_t t = 0; t < state->tables.size(); ++t) {
    const TablePlan& plan = state->tables[t];
    KeysAndAttributes& request = state->tables[t].request;
    const size_t end = t < state->table ? request.keys.size() : t == state->table ? state->key : 0;
    std::vector<EncodedItem> unprocessed;
    for (size_t k = 0; k < request.keys.size(); ++k) {
      if (k >= end || !plan.reads(k)) unprocessed.push_back(std::move(request.keys[k]));
    }
    if (unprocessed.empty()) continue;
    request.keys = std::move(unprocessed);
    response.unprocessed_keys.push_back(std::move(request));
  }
  if (WantsCapacity(state->return_consumed_capacity)) {
    std::vector<ConsumedCapacity> capacities;
    for (size_t t = 0; t < state->tables.size(); ++t) {
      capacities.push_back(*TableCapacity(state->return_consumed_capacity,
                                          response.responses[t].table_name,
                                          throughput::HalvesToUnits(state->halves[t])));
    }
    response.consumed_capacity = std::move(capacities);
  }
  return response;
}

// What the fault dial makes of the batch.
Status Strike(Context& ctx, State* state) {
  std::vector<FaultTarget> targets;
  for (const TablePlan& plan : state->tables) targets.push_back({plan.table.get()});
  TRY(StrikeRequest(ctx, targets));
  bool any = false;
  for (TablePlan& plan : state->tables) {
    plan.past = MomentOf(ctx, *plan.table, nullptr, plan.request.consistent_read.value_or(false));
    plan.left_out = LeaveOut(ctx, *plan.table, plan.keys.size());
    for (size_t key = 0; key < plan.keys.size(); ++key) any |= plan.reads(key);
  }
  if (!any) return LeftOut(ctx, *state->tables.front().table, /*write=*/false);
  return OkStatus();
}

// Does ReadOn. Returns the refusal as error if throttling admitted none of the keys.
Result<bool> ReadTurn(Context& ctx, State* state, kv::Tier tier, size_t most_keys) {
  ASSIGN_OR_RETURN(const bool ended, ReadOn(ctx, state, tier, most_keys));
  if (ended && state->refusal && !state->any_admitted) return *std::move(state->refusal);
  return ended;
}

// Reads the past on workers, in turns.
void ReadPast(Context& ctx, std::shared_ptr<State> state, Callback<BatchGetItemResponse> done) {
  const auto read = [state, &ctx](kv::Tier tier) {
    return ReadTurn(ctx, state.get(), tier, kPastTurnKeys);
  };
  const auto length = state->keys > kFewPastKeys ? std::optional(LongWork::Length::kMiddle)
                                                 : std::optional<LongWork::Length>();
  ReadOnWorker(ctx, length, read,
               [&ctx, state, done = std::move(done)](Result<bool> ended) mutable {
                 if (!ended.ok()) return done(std::move(ended).error());
                 if (*ended) return done(Finish(state.get()));
                 ReadPast(ctx, std::move(state), std::move(done));
               });
}

void Read(Context& ctx, std::shared_ptr<State> state, Callback<BatchGetItemResponse> done) {
  const auto read = [state, &ctx](kv::Tier tier) {
    return ReadTurn(ctx, state.get(), tier, SIZE_MAX);
  };
  ReadThenFinish(ctx, read, [state, done = std::move(done)](Result<bool> finished) mutable {
    if (finished.ok()) {
      done(Finish(state.get()));
    } else {
      done(std::move(finished).error());
    }
  });
}

// Opens the past of each table from the given one on, and reads.
void OpenNext(Context& ctx, std::shared_ptr<State> state, size_t table,
              Callback<BatchGetItemResponse> done) {
  if (table == state->tables.size()) return ReadPast(ctx, std::move(state), std::move(done));
  table::TablePtr opened = state->tables[table].table;
  OpenPast(ctx, std::move(opened), nullptr,
           [&ctx, state = std::move(state), table,
            done = std::move(done)](Result<std::shared_ptr<const table::Past>> past) mutable {
             if (!past.ok()) return done(std::move(past).error());
             state->tables[table].past = *std::move(past);
             OpenNext(ctx, std::move(state), table + 1, std::move(done));
           });
}

}  // namespace

void BatchGetItem(Context& ctx, BatchGetItemRequest request, Callback<BatchGetItemResponse> done) {
  Result<std::shared_ptr<State>> prepared = Prepare(ctx, std::move(request));
  if (!prepared.ok()) {
    done(std::move(prepared).error());
    return;
  }
  std::shared_ptr<State> state = std::move(*prepared);
  state->answer = AnswerBytes(ctx.memory);
  if (Status struck = FaultsActive(ctx) ? Strike(ctx, state.get()) : OkStatus(); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  if (ctx.as_of_millis) [[unlikely]]
    return OpenNext(ctx, std::move(state), 0, std::move(done));
  Read(ctx, std::move(state), std::move(done));
}

}  // namespace stator::ops
