// Where requests are measured, and throttled. Operations ask here when they know what a request
// costs: the units are those that ReturnConsumedCapacity reports. A request is asked for once, with
// all that it takes; what passes is charged at once.
//
// Every function costs a few loads where nothing is measured: --throttling=off, or work of the
// server's own (time to live, index builds, initial data), which is never measured.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "ops/context.h"
#include "ops/index_writes.h"
#include "ops/page.h"
#include "ops/throttle.h"
#include "table/store.h"

namespace stator::ops {

inline bool Measured(const Context& ctx, const table::Table& table) {
  return !ctx.operation.empty() && table.meters.table != nullptr &&
         table.meters.table->mode() != throughput::Throttling::kOff;
}

// A request that may not pass, and which of its actions (0 unless it has several) was in the way.
struct Refusal {
  Throttle throttle;
  size_t action = 0;
};

// Collects all units that a request takes from tables and indexes. Admit then admits all of them or
// none.
class Draws {
 public:
  explicit Draws(Context& ctx) : ctx_(ctx) {}

  // Adds a read of one item. Does nothing if the table is not measured; so does AddWrite.
  // `item_key` and `entries` must remain valid until Admit.
  void AddRead(const table::Table& table, std::string_view item_key, int64_t halves,
               bool consistent, size_t action = 0);
  // Adds a write: `units` of the table, and the units of the index entries that it changes. Entries
  // of local indexes are charged to the table, those of global indexes to the index's partition.
  // `entries` may be null or not derived: then no index is charged.
  void AddWrite(const table::Table& table, std::string_view item_key, int64_t units,
                const table::EntryChanges* entries, size_t action = 0);
  // Admits the request. nullopt: it passes, because there is capacity or because throttling is not
  // enforced.
  std::optional<Refusal> Admit();

 private:
  // What an action draws. Which meter of its table each draw is from can be told by its resource.
  struct Origin {
    const table::Table* table;
    size_t action;
    size_t end;  // behind its last of draws_
  };
  void AddEntry(throughput::Meter& meter, const table::IndexDescriptor& index,
                const table::EntryChange& change);

  Context& ctx_;
  std::vector<throughput::Draw> draws_;
  std::vector<Origin> origins_;  // in the order of draws_
};

// One item, read outside a transaction.
std::optional<Refusal> AdmitItemRead(Context& ctx, const table::Table& table,
                                     std::string_view item_key, int64_t halves, bool consistent);

// One write, outside a transaction: what Draws::AddWrite takes.
std::optional<Refusal> AdmitItemWrite(Context& ctx, const table::Table& table,
                                      std::string_view item_key, int64_t units,
                                      const table::EntryChanges* entries);

// The error with which a whole request is refused.
inline Error ErrorOf(const Context& ctx, const Refusal& refusal) {
  return ThrottleError(ctx.env, refusal.throttle);
}
// Returns the error with which a transaction of `actions` actions is cancelled: the refusal is the
// reason of one of them. `reasons`: reasons of other actions, if there are any.
Error TransactionErrorOf(const Context& ctx, const Refusal& refusal, size_t actions,
                         std::vector<CancellationReason> reasons = {});

// --- Pages of Query and Scan: what they cost is known only afterwards.

// Asks for the least that a page of `target` beginning at `key` can cost.
std::optional<Refusal> AdmitPage(Context& ctx, const ReadTarget& target, std::string_view key,
                                 bool consistent, PageDraw* draw);
// Takes what the page cost beyond that: `halves` in all, with those of items fetched from the
// table. A Scan says which partitions they are of.
void ChargePage(Context& ctx, const ReadTarget& target, const Page& page, int64_t halves,
                bool consistent, const std::vector<PartitionHalves>& partitions = {});

}  // namespace stator::ops
