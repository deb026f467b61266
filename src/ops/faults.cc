#include "ops/faults.h"

#include <algorithm>
#include <numeric>

#include "ops/throttle.h"
#include "ops/transaction.h"

namespace stator::ops {
namespace {

// Requests on several tables ask each one once.
std::vector<FaultTarget> DistinctTables(std::span<const FaultTarget> targets) {
  std::vector<FaultTarget> distinct;
  for (const FaultTarget& target : targets) {
    const auto same = [&](const FaultTarget& other) {
      return other.table->descriptor.tablet_id == target.table->descriptor.tablet_id;
    };
    if (std::none_of(distinct.begin(), distinct.end(), same)) distinct.push_back(target);
  }
  return distinct;
}

// Slow replies, and InternalServerError before anything is done, which all requests may meet.
Status StrikeFirst(Context& ctx, const std::string& table) {
  FaultDial& dial = ctx.env.faults;
  if (const auto slow = dial.Draw(Fault::kSlow, table, ctx.operation)) {
    ctx.faults.delay_micros = std::max(ctx.faults.delay_micros, slow->Micros());
  }
  if (dial.Draw(Fault::kError, table, ctx.operation,
                [](const FaultRule& rule) { return !rule.after; })) {
    ctx.faults.refused = true;
    return InternalError("");  // an empty message is rendered as the service's own
  }
  return OkStatus();
}

// Draws the fault "error after the work" (InternalServerError although the request was served).
// Called last, so that it applies only to requests that no other fault struck.
void StrikeLast(Context& ctx, const std::string& table) {
  if (ctx.env.faults.Draw(Fault::kError, table, ctx.operation,
                          [](const FaultRule& rule) { return rule.after; })) {
    ctx.faults.lost = true;
  }
}

Throttle ThrottleOf(const table::TableDescriptor& table, const FaultRule* rule, bool write) {
  Throttle throttle{table, nullptr, write ? throughput::Access::kWrite : throughput::Access::kRead};
  const bool provisioned = table.billing_mode == table::BillingMode::kProvisioned;
  throttle.limit = provisioned ? throughput::Limit::kProvisioned : throughput::Limit::kKeyRange;
  if (rule != nullptr) {
    throttle.limit = rule->cause.value_or(throttle.limit);
    if (!rule->index.empty()) throttle.index = table.FindIndex(rule->index);
  }
  return throttle;
}

// A rule for an index throttles reads of it, and writes of its table, which have to keep it up.
std::optional<FaultDial::Strike> DrawThrottle(Context& ctx, const FaultTarget& target) {
  const table::TableDescriptor& table = target.table->descriptor;
  return ctx.env.faults.Draw(Fault::kThrottle, table.name, ctx.operation,
                             [&](const FaultRule& rule) {
                               if (rule.index.empty()) return true;
                               const table::IndexDescriptor* index = table.FindIndex(rule.index);
                               return index != nullptr && (target.write || index == target.index);
                             });
}

std::vector<FaultTarget> TargetsOf(std::span<const table::WriteTarget> items, bool write) {
  std::vector<FaultTarget> targets;
  targets.reserve(items.size());
  for (const table::WriteTarget& item : items)
    targets.push_back({item.table.get(), nullptr, write});
  return DistinctTables(targets);
}

// One of the actions on a table.
size_t PickAction(std::span<const table::WriteTarget> items, const table::TableDescriptor& table,
                  uint64_t bits) {
  std::vector<size_t> of_table;
  for (size_t i = 0; i < items.size(); ++i) {
    if (items[i].table->descriptor.tablet_id == table.tablet_id) of_table.push_back(i);
  }
  return of_table[bits % of_table.size()];
}

void KeepPast(Environment& env) { env.store.history().Keep(env.faults.Ages()); }

}  // namespace

namespace internal {

Status StrikeActive(Context& ctx, std::span<const FaultTarget> targets) {
  const std::vector<FaultTarget> tables = DistinctTables(targets);
  for (const FaultTarget& target : tables) {
    const table::TableDescriptor& table = target.table->descriptor;
    TRY(StrikeFirst(ctx, table.name));
    if (const auto strike = DrawThrottle(ctx, target)) {
      return ThrottleError(ctx.env, ThrottleOf(table, &strike->rule, target.write));
    }
    if (target.single && target.write &&
        ctx.env.faults.Draw(Fault::kConflict, table.name, ctx.operation)) {
      return Error(ErrorCode::kTransactionConflict, std::string(kConflictMessage));
    }
  }
  for (const FaultTarget& target : tables) StrikeLast(ctx, target.table->descriptor.name);
  return OkStatus();
}

Status StrikeTransactionActive(Context& ctx, std::span<const table::WriteTarget> items,
                               bool write) {
  std::vector<CancellationReason> reasons(items.size());
  bool canceled = false;
  const std::vector<FaultTarget> tables = TargetsOf(items, write);
  for (const FaultTarget& target : tables) {
    const table::TableDescriptor& table = target.table->descriptor;
    TRY(StrikeFirst(ctx, table.name));
    if (const auto strike = DrawThrottle(ctx, target)) {
      const Throttle throttle = ThrottleOf(table, &strike->rule, write);
      if (throttle.limit == throughput::Limit::kAccount) return ThrottleError(ctx.env, throttle);
      reasons[PickAction(items, table, strike->bits)] = ThrottleCancellation(throttle);
      canceled = true;
    } else if (const auto conflict =
                   ctx.env.faults.Draw(Fault::kConflict, table.name, ctx.operation)) {
      reasons[PickAction(items, table, conflict->bits)] = {"TransactionConflict",
                                                           std::string(kConflictMessage), ""};
      canceled = true;
    }
  }
  if (canceled) return TransactionCanceled(std::move(reasons));
  for (const FaultTarget& target : tables) StrikeLast(ctx, target.table->descriptor.name);
  return OkStatus();
}

bool StrikeRepetitionActive(Context& ctx, std::span<const table::WriteTarget> items) {
  for (const FaultTarget& target : TargetsOf(items, true)) {
    if (ctx.env.faults.Draw(Fault::kInProgress, target.table->descriptor.name, ctx.operation))
      return true;
  }
  return false;
}

std::shared_ptr<const table::History::Moment> MomentOfActive(Context& ctx,
                                                             const table::Table& table,
                                                             const table::IndexDescriptor* index) {
  FaultDial& dial = ctx.env.faults;
  const std::string& name = table.descriptor.name;
  int64_t age = 0;
  if (const auto stale = dial.Draw(Fault::kStaleRead, name, ctx.operation)) age = stale->Micros();
  if (index != nullptr && index->is_global()) {
    const auto applies = [&](const FaultRule& rule) {
      return rule.index.empty() || rule.index == index->name;
    };
    if (const auto behind = dial.Draw(Fault::kIndexDelay, name, ctx.operation, applies)) {
      age = std::max(age, behind->Micros());
    }
  }
  return age == 0 ? nullptr : ctx.env.store.history().MomentAgo(age);
}

std::vector<bool> LeaveOutActive(Context& ctx, const table::Table& table, size_t entries) {
  const auto strike =
      ctx.env.faults.Draw(Fault::kUnprocessed, table.descriptor.name, ctx.operation);
  if (!strike) return {};
  // Rounded down, so that a client that sends again what was left comes to an end.
  const auto left = static_cast<size_t>(strike->rule.share * static_cast<double>(entries));
  if (left == 0) return {};
  std::vector<size_t> order(entries);
  std::iota(order.begin(), order.end(), size_t{0});
  SeededRandom random(strike->bits);
  std::vector<bool> out(entries, false);
  for (size_t i = 0; i < left; ++i) {
    std::swap(order[i], order[i + random.Below(entries - i)]);
    out[order[i]] = true;
  }
  return out;
}

}  // namespace internal

Error LeftOut(const Context& ctx, const table::Table& table, bool write) {
  return ThrottleError(ctx.env, ThrottleOf(table.descriptor, nullptr, write));
}

void SetFaults(Environment& env, const std::string& table, FaultDial::Rules rules) {
  env.faults.Set(table, std::move(rules));
  KeepPast(env);
}

void SetAllFaults(Environment& env, FaultDial::Tables tables) {
  env.faults.SetAll(std::move(tables));
  KeepPast(env);
}

}  // namespace stator::ops
