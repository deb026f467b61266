// Positions of records in a shard, and sequence numbers, which are their form for clients.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stator::stream {

// The position of a record: the commit stamp of its batch, and the index of the record within the
// batch. A reader at a position continues with the first record at or after it. Positions rise in
// the order of commits, over all shards.
struct Position {
  uint64_t stamp = 0;
  uint32_t index = 0;  // at most kMaxIndex, or one more as the position behind the last record

  auto operator<=>(const Position&) const = default;
  // Returns the position behind this record.
  Position Next() const { return {stamp, index + 1}; }
};

inline constexpr uint32_t kMaxIndex = 65'534;

// Returns the sequence number of a position: "1", the stamp in 20 digits, the index in 5. All
// sequence numbers have the same length and no leading zero, so they compare equally as strings and
// as numbers.
std::string SequenceNumberOf(Position position);
// Returns the position; nullopt if the text is not a sequence number.
std::optional<Position> ParseSequenceNumber(std::string_view text);

}  // namespace stator::stream
