// A place in the key space of a table or index, and a range of it.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

namespace stator::throughput {

// Where a key is: the upper 64 bits of the hash of its partition key, then its sort key in bytes
// that order as the sort key does (table/key_encoding's tail); empty without a sort key. Views: the
// caller's bytes must live through the call.
struct KeyPoint {
  uint64_t hash = 0;
  std::string_view sort;
  std::string_view partition;  // the partition key, for people only; may be empty
};

// A place where one partition ends and the next begins. Owns its bytes.
struct KeyBound {
  uint64_t hash = 0;
  std::string sort;  // empty: before all items of this hash
  auto operator<=>(const KeyBound&) const = default;

  bool IsAfter(const KeyPoint& point) const {
    return hash != point.hash ? hash > point.hash : std::string_view(sort) > point.sort;
  }
};

// [from, to), or from `from` to the end of the hash space.
struct KeyRange {
  KeyBound from;
  KeyBound to;
  bool to_end = false;
  bool Contains(const KeyPoint& point) const {
    return !from.IsAfter(point) && (to_end || to.IsAfter(point));
  }
  bool operator==(const KeyRange&) const = default;
  // Inside one item collection: both bounds have the same hash.
  bool InsideCollection() const { return !to_end && from.hash == to.hash; }
  // The part of the hash space that the range covers, in [0, 1].
  double HashShare() const {
    constexpr double kSpace = 18446744073709551616.0;  // 2^64
    return ((to_end ? kSpace : static_cast<double>(to.hash)) - static_cast<double>(from.hash)) /
           kSpace;
  }
};

}  // namespace stator::throughput
