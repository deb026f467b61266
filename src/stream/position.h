// Places in a shard, and sequence numbers, which are the same for clients.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stator::stream {

// A record's place: the commit stamp of its batch and which record of the batch it is. As a place
// to read from: the first record at or after it is the next one. Rises in the order of commits,
// over all shards.
struct Position {
  uint64_t stamp = 0;
  uint32_t index = 0;  // at most kMaxIndex, or one above as the place behind the last record

  auto operator<=>(const Position&) const = default;
  // The place behind this record.
  Position Next() const { return {stamp, index + 1}; }
};

inline constexpr uint32_t kMaxIndex = 65'534;

// "1", the stamp in 20 digits, the index in 5: all of one length, without a leading zero, so that
// they compare alike as strings and as numbers.
std::string SequenceNumberOf(Position position);
// nullopt if the text is no sequence number.
std::optional<Position> ParseSequenceNumber(std::string_view text);

}  // namespace stator::stream
