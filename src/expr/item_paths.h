// Looks up document paths in one item.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>

#include "expr/tree.h"
#include "model/entry_offsets.h"

namespace stator::expr {

// Finds paths of one tree in one item. Lookup skips entry by entry, which costs paths times
// entries. For a large item and more than a few paths this class therefore keeps the offsets of the
// entries of each container that it has met, and searches those. Neither tree nor item may change
// or go while it lives.
class ItemPaths {
 public:
  ItemPaths(const Tree& tree, model::ItemView item)
      : tree_(tree),
        item_(item),
        indexed_(item.encoded().size() > kSmallItem && tree.steps.size() > kFewSteps) {}

  // Returns the value at a bound path, or an empty view.
  model::ValueView Find(const Node& path) {
    if (indexed_) return FindIndexed(path);
    steps_ += 1 + item_.encoded().size() / kBytesPerStep;
    return Lookup(tree_, path, item_);
  }

  // Returns a bound of the steps of finding each path of `tree` once in an item of that encoded
  // size.
  static uint64_t MostSteps(const Tree& tree, size_t item_bytes);
  // Returns how many steps (see Evaluate) the calls so far have cost, at most.
  uint64_t steps() const { return steps_; }

 private:
  static constexpr size_t kSmallItem = 4096;
  static constexpr size_t kFewSteps = 4;
  static constexpr size_t kBytesPerStep = 64;  // of a Lookup

  using Offsets = model::EntryOffsets;

  model::ValueView FindIndexed(const Node& path);
  const Offsets& OffsetsOf(const char* counted, bool is_map);
  model::ValueView FindName(const char* counted, std::string_view name);
  model::ValueView FindElement(const char* counted, uint32_t index);

  const Tree& tree_;
  const model::ItemView item_;
  const bool indexed_;
  uint64_t steps_ = 0;
  // By where their count stands; null until one is met, so that small evaluations pay nothing.
  std::unique_ptr<std::unordered_map<const char*, Offsets>> containers_;
};

}  // namespace stator::expr
