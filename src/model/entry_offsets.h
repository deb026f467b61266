// Searches maps and lists of many entries, whose encoding is otherwise walked from its beginning.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace stator::model {

// Where the entries of a map or list stand, in bytes from its count on. They are as many as the
// container has entries, and take four bytes each.
using EntryOffsets = std::vector<uint32_t>;

// `counted` points at the count of a map or list (MapView and ListView are made of such a pointer).
EntryOffsets OffsetsOfEntries(const char* counted, bool is_map);
// Returns the value of a name in the map at `counted`, or an empty view. `compared`, if not null,
// is increased by one for each comparison of names.
ValueView FindByOffsets(const char* counted, const EntryOffsets& offsets, std::string_view name,
                        uint64_t* compared = nullptr);

// Finds attributes of one item, again and again: a large item is walked through once and not for
// each of them. The item must outlive it. Not thread-safe.
class AttributeFinder {
 public:
  explicit AttributeFinder(ItemView item)
      : item_(item), large_(item.encoded().size() > kLargeBytes) {}

  ItemView item() const { return item_; }
  // Whether a search is cheaper than a walk.
  bool large() const { return large_; }
  // Returns the value of the attribute, or an empty view.
  ValueView Find(std::string_view name);

 private:
  static constexpr size_t kLargeBytes = 4096;

  const ItemView item_;
  const bool large_;
  bool indexed_ = false;
  EntryOffsets offsets_;
};

}  // namespace stator::model
