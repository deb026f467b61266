// Where the fault dial strikes requests. Operations ask here once they know that a request is valid
// and what it is about. Each function costs one relaxed load while the dial is off.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "ops/context.h"
#include "table/store.h"

namespace stator::ops {

inline bool FaultsActive(const Context& ctx) {
  return ctx.env.faults.active() && !ctx.operation.empty() && ctx.permit == nullptr;
}

// What a request reads or writes: a table, or an index of it.
struct FaultTarget {
  const table::Table* table;
  const table::IndexDescriptor* index = nullptr;
  bool write = false;
  bool single = false;  // one item, outside a transaction: it may meet one
};

namespace internal {
Status StrikeActive(Context& ctx, std::span<const FaultTarget> targets);
Status StrikeTransactionActive(Context& ctx, std::span<const table::WriteTarget> items, bool write);
bool StrikeRepetitionActive(Context& ctx, std::span<const table::WriteTarget> items);
std::shared_ptr<const table::History::Moment> MomentOfActive(Context& ctx,
                                                             const table::Table& table,
                                                             const table::IndexDescriptor* index);
std::vector<bool> LeaveOutActive(Context& ctx, const table::Table& table, size_t entries);
}  // namespace internal

// The error with which a request is refused: throttles, InternalServerError,
// TransactionConflictException. Also decides what becomes of the answer (Context::faults).
inline Status StrikeRequest(Context& ctx, std::span<const FaultTarget> targets) {
  if (!FaultsActive(ctx)) return OkStatus();
  return internal::StrikeActive(ctx, targets);
}
inline Status StrikeRequest(Context& ctx, const FaultTarget& target) {
  return StrikeRequest(ctx, {&target, 1});
}

// Strikes a transaction, whose conflicts and throttles are reasons of single actions. `items` must
// be in the order of the actions.
inline Status StrikeTransaction(Context& ctx, std::span<const table::WriteTarget> items,
                                bool write) {
  if (!FaultsActive(ctx)) return OkStatus();
  return internal::StrikeTransactionActive(ctx, items, write);
}

// Whether a transaction that was repeated with its token is said to be still under way.
inline bool StrikeRepetition(Context& ctx, std::span<const table::WriteTarget> items) {
  return FaultsActive(ctx) && internal::StrikeRepetitionActive(ctx, items);
}

// The moment of the past that a read answers; null: the present. `index`: of the table, or null.
inline std::shared_ptr<const table::History::Moment> MomentOf(Context& ctx,
                                                              const table::Table& table,
                                                              const table::IndexDescriptor* index,
                                                              bool consistent) {
  if (consistent || !FaultsActive(ctx)) return nullptr;
  return internal::MomentOfActive(ctx, table, index);
}

// Returns which of a batch's entries for a table are left unprocessed; empty: none.
inline std::vector<bool> LeaveOut(Context& ctx, const table::Table& table, size_t entries) {
  if (!FaultsActive(ctx)) return {};
  return internal::LeaveOutActive(ctx, table, entries);
}
// The error of an entry that is left out, and of a batch of which nothing is done.
Error LeftOut(const Context& ctx, const table::Table& table, bool write);

// Turns the dial, and keeps of the past what it needs.
void SetFaults(Environment& env, const std::string& table, FaultDial::Rules rules);
void SetAllFaults(Environment& env, FaultDial::Tables tables);

}  // namespace stator::ops
