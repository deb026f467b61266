#include <algorithm>
#include <set>

#include "ops/admit.h"
#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/faults.h"
#include "ops/index_writes.h"
#include "ops/item_write.h"
#include "ops/operations.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

constexpr size_t kMaxRequests = 25;

// One put or delete of the batch: a write of its own, without atomicity across them.
struct Entry {
  size_t table_index = 0;
  size_t request_index = 0;
  table::TablePtr table;
  std::string key;
  int64_t units = 0;
  IndexUnits index_units;  // if the client wants capacity
  std::optional<Error> error;
};

struct Cost {
  int64_t units = 0;
  IndexUnits index_units;
  bool admitted = false;
  WriteBytes held;
};

// Written on the loop's thread only.
struct State {
  BatchWriteItemRequest request;
  std::vector<Entry> entries;
  table::Store* store = nullptr;
  size_t outstanding = 0;
  Callback<BatchWriteItemResponse> done;
};

Status CheckWriteRequest(const WriteRequest& request) {
  if (request.put_request.has_value() == request.delete_request.has_value()) {
    return ValidationError(request.put_request
                               ? "Supplied AttributeValue has more than one datatypes set, must "
                                 "contain exactly one of the supported datatypes"
                               : "Supplied AttributeValue is empty, must contain exactly one of "
                                 "the supported datatypes");
  }
  if (request.put_request && request.put_request->item.view().size_bytes() > model::kMaxItemBytes) {
    return ValidationError("Item size has exceeded the maximum allowed size");
  }
  return OkStatus();
}

Result<std::shared_ptr<State>> Prepare(Context& ctx, BatchWriteItemRequest request) {
  if (request.request_items.empty()) {
    return ValidationError("The requestItems parameter is required for BatchWriteItem");
  }
  TRY(CheckValues(request.value_errors, ValuePlace::kItem));
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  size_t total = 0;
  for (const TableWriteRequests& table : request.request_items) {
    total += table.requests.size();
    for (const WriteRequest& write : table.requests) TRY(CheckWriteRequest(write));
  }
  if (total > kMaxRequests)
    return ValidationError("Too many items requested for the BatchWriteItem call");

  auto state = std::make_shared<State>();
  // By tablet, because one table may be named by its name and by its ARN.
  std::set<std::pair<uint32_t, std::string>> seen;
  for (size_t t = 0; t < request.request_items.size(); ++t) {
    const TableWriteRequests& table = request.request_items[t];
    ASSIGN_OR_RETURN(const table::TablePtr found, FindActiveTable(ctx, table.table_name));
    const model::KeySchema& schema = found->key_schema();
    for (size_t i = 0; i < table.requests.size(); ++i) {
      const WriteRequest& write = table.requests[i];
      const model::ItemView view =
          write.put_request ? write.put_request->item.view() : write.delete_request->key.view();
      TRY(write.put_request ? CheckItemKey(schema, view) : CheckKey(schema, view));
      if (write.put_request) {
        TRY(CheckPutIndexKeys(*found, view));
        TRY(CheckPutSize(*found, view));
      }
      Entry entry;
      entry.table_index = t;
      entry.request_index = i;
      entry.table = found;
      entry.key = table::EncodeItemKey(schema, view);
      if (!seen.emplace(found->descriptor.tablet_id, entry.key).second)
        return ValidationError("Provided list of item keys contains duplicates");
      state->entries.push_back(std::move(entry));
    }
  }
  state->request = std::move(request);
  state->outstanding = state->entries.size();
  state->store = &ctx.env.store;
  return state;
}

void Finish(State* state) {
  BatchWriteItemResponse response;
  BatchWriteItemRequest& request = state->request;
  const size_t tables = request.request_items.size();
  size_t failed = 0;
  std::vector<Cost> costs(tables);
  std::vector<table::TablePtr> definitions(tables);
  std::vector<TableWriteRequests> unprocessed(tables);
  std::vector<TableMetrics> metrics(tables);
  for (Entry& entry : state->entries) {
    const size_t t = entry.table_index;
    TableWriteRequests& table = request.request_items[t];
    definitions[t] = entry.table;
    if (entry.error) {
      // To write it again would not help, so it is not left unprocessed.
      if (entry.error->code() == ErrorCode::kItemCollectionTooLarge) {
        state->done(std::move(*entry.error));
        return;
      }
      ++failed;
      unprocessed[t].table_name = table.table_name;
      unprocessed[t].requests.push_back(std::move(table.requests[entry.request_index]));
      continue;
    }
    Cost& cost = costs[t];
    cost.units += entry.units;
    cost.index_units.resize(std::max(cost.index_units.size(), entry.index_units.size()));
    for (size_t i = 0; i < entry.index_units.size(); ++i)
      cost.index_units[i] += entry.index_units[i];
    const WriteRequest& write = table.requests[entry.request_index];
    const model::ItemView key =
        write.put_request ? write.put_request->item.view() : write.delete_request->key.view();
    auto collection = CollectionMetrics(*state->store, *entry.table,
                                        request.return_item_collection_metrics, key, entry.key);
    if (!collection) continue;
    // One entry for each collection, however many of its items were written.
    const auto same = [&](const ItemCollectionMetrics& each) {
      return each.item_collection_key == collection->item_collection_key;
    };
    if (std::none_of(metrics[t].metrics.begin(), metrics[t].metrics.end(), same)) {
      metrics[t].metrics.push_back(std::move(*collection));
    }
  }
  if (failed == state->entries.size()) {
    state->done(std::move(*state->entries.front().error));
    return;
  }
  for (TableWriteRequests& table : unprocessed) {
    if (!table.requests.empty()) response.unprocessed_items.push_back(std::move(table));
  }
  for (size_t t = 0; t < tables; ++t) {
    if (metrics[t].metrics.empty()) continue;
    metrics[t].table_name = request.request_items[t].table_name;
    if (!response.item_collection_metrics) response.item_collection_metrics.emplace();
    response.item_collection_metrics->push_back(std::move(metrics[t]));
  }
  if (WantsCapacity(request.return_consumed_capacity)) {
    std::vector<ConsumedCapacity> capacities;
    for (size_t t = 0; t < tables; ++t) {
      capacities.push_back(*WriteCapacity(request.return_consumed_capacity,
                                          request.request_items[t].table_name, *definitions[t],
                                          costs[t].units, costs[t].index_units));
    }
    response.consumed_capacity = std::move(capacities);
  }
  state->done(std::move(response));
}

// What the fault dial makes of the batch: an error, or entries that are not to be written.
Status Strike(Context& ctx, State* state) {
  std::vector<FaultTarget> targets;
  for (const Entry& entry : state->entries)
    targets.push_back({entry.table.get(), nullptr, /*write=*/true});
  TRY(StrikeRequest(ctx, targets));
  // The entries of one table stand together.
  for (size_t first = 0, end = 0; first < state->entries.size(); first = end) {
    const table::Table& table = *state->entries[first].table;
    while (end < state->entries.size() &&
           state->entries[end].table_index == state->entries[first].table_index)
      ++end;
    const std::vector<bool> left_out = LeaveOut(ctx, table, end - first);
    for (size_t i = 0; i < left_out.size(); ++i) {
      if (left_out[i]) state->entries[first + i].error = LeftOut(ctx, table, /*write=*/true);
    }
  }
  return OkStatus();
}

void EntryDone(State* state, size_t i, Status status) {
  if (!status.ok()) state->entries[i].error = std::move(status).error();
  if (--state->outstanding == 0) Finish(state);
}

void WriteEntry(Context& ctx, const std::shared_ptr<State>& state, size_t i) {
  Executor& loop = ctx.loop;
  const Entry& entry = state->entries[i];
  const WriteRequest& write =
      state->request.request_items[entry.table_index].requests[entry.request_index];
  const std::string* item = write.put_request ? &write.put_request->item.bytes : nullptr;
  auto cost = std::make_shared<Cost>();
  const bool measured = Measured(ctx, *entry.table);
  const bool wanted = WantsCapacity(state->request.return_consumed_capacity);
  std::vector<table::WriteTarget> targets;
  targets.push_back({entry.table, entry.key});
  // `item` stays where it is until the last answer is in: the state is shared by all callbacks.
  ctx.env.store.Write(
      std::move(targets),
      [state, item, cost, wanted, measured, &entry,
       &ctx](const std::vector<model::ItemView>& old_items) -> Result<std::vector<table::Change>> {
        const size_t new_bytes = item != nullptr ? model::ItemView(*item).size_bytes() : 0;
        cost->units = throughput::WriteUnits(
            static_cast<int64_t>(std::max(old_items[0].size_bytes(), new_bytes)));
        cost->held.Begin(ctx.memory);
        TRY(cost->held.Add(*entry.table, old_items[0].size_bytes(), new_bytes));
        std::vector<table::Change> changes(1);
        table::Change& change = changes[0];
        if (item != nullptr) {
          change.kind = table::Change::kPut;
          change.item = *item;
        } else if (old_items[0].exists()) {
          change.kind = table::Change::kDelete;
        }
        if (measured || wanted) change.DeriveEntries(*entry.table, old_items[0]);
        if (wanted) cost->index_units = UnitsOf(change.entries);
        if (measured && !cost->admitted) {
          if (const auto refusal =
                  AdmitItemWrite(ctx, *entry.table, entry.key, cost->units, &change.entries)) {
            return ErrorOf(ctx, *refusal);
          }
          cost->admitted = true;
        }
        return changes;
      },
      [state, i, cost, &loop](Status status) {
        loop.Post([state, i, cost, status = std::move(status)]() mutable {
          state->entries[i].units = cost->units;
          state->entries[i].index_units = std::move(cost->index_units);
          EntryDone(state.get(), i, std::move(status));
        });
      });
}

// Lets another process of the store write the entry. Returns false if it is to be written here.
bool ForwardEntry(Context& ctx, WriteForwarder& forwarder, const std::shared_ptr<State>& state,
                  size_t i) {
  const Entry& entry = state->entries[i];
  const WriteRequest& write =
      state->request.request_items[entry.table_index].requests[entry.request_index];
  WriteForwarder::EntryDone done = [state, i, &ctx](std::optional<Status> status) {
    if (!status) return WriteEntry(ctx, state, i);
    EntryDone(state.get(), i, *std::move(status));
  };
  return forwarder.TryForwardEntry(
      *entry.table, entry.key, write.put_request.has_value(),
      write.put_request ? write.put_request->item.view() : write.delete_request->key.view(), done);
}

}  // namespace

void BatchWriteItem(Context& ctx, BatchWriteItemRequest request,
                    Callback<BatchWriteItemResponse> done) {
  Result<std::shared_ptr<State>> prepared = Prepare(ctx, std::move(request));
  if (!prepared.ok()) {
    done(std::move(prepared).error());
    return;
  }
  std::shared_ptr<State> state = std::move(*prepared);
  if (Status struck = FaultsActive(ctx) ? Strike(ctx, state.get()) : OkStatus(); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  state->done = std::move(done);
  for (const Entry& entry : state->entries) state->outstanding -= entry.error ? 1 : 0;
  if (state->outstanding == 0) return Finish(state.get());
  // Another process does not tell the capacity that it drew, or how large a collection is.
  WriteForwarder* const forwarder =
      WantsCapacity(state->request.return_consumed_capacity) ||
              state->request.return_item_collection_metrics == ReturnItemCollectionMetrics::kSize
          ? nullptr
          : ctx.forwarder;
  const size_t count = state->entries.size();
  for (size_t i = 0; i < count; ++i) {
    if (state->entries[i].error) continue;
    if (forwarder == nullptr || !ForwardEntry(ctx, *forwarder, state, i)) WriteEntry(ctx, state, i);
  }
}

}  // namespace stator::ops
