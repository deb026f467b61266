// Takes a write whose expressions take long to another thread than a loop's.
#pragma once

#include <utility>
#include <vector>

#include "expr/expr.h"
#include "ops/context.h"
#include "ops/item_read.h"
#include "table/store.h"

namespace stator::ops {

// Returns the detour of a write of `count` items, of which `bound(i, bytes)` returns the most steps
// (expr::Evaluate) that its body takes for item i if the old one's encoding has `bytes`. Null
// if the largest items take kInlineSteps together. If no worker takes the body, the write is
// refused.
template <typename Bound>
table::WriteDetour DetourOf(Context& ctx, size_t count, Bound bound) {
  uint64_t most = 0;
  for (size_t i = 0; i < count; ++i) most += bound(i, model::kMaxItemBytes);
  if (most <= kInlineSteps) return nullptr;
  return [&work = ctx.env.long_work, bound = std::move(bound)](
             const std::vector<model::ItemView>& old_items,
             UniqueFunction<void()> run) -> Result<bool> {
    uint64_t steps = 0;
    for (size_t i = 0; i < old_items.size(); ++i) steps += bound(i, old_items[i].encoded().size());
    if (steps <= kInlineSteps) return false;
    if (!work.TryPost(run, LengthOf(steps))) return Overloaded(true);
    return true;
  };
}

}  // namespace stator::ops
