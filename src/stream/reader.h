// Reads a stream, for clients' GetRecords and for every other consumer of changes.
//
// A reader goes through a shard from a position to its end, and through a parent before its
// children. It then has every change once, and the changes of one item in the order of their
// commits.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "stream/record.h"
#include "stream/stream.h"

namespace stator::stream {

struct ReadLimits {
  size_t records = 1000;
  // The limit on the sum of Record::size_bytes. A page has at least one record, even if that is
  // larger.
  size_t bytes = 1 << 20;
};

struct Page {
  std::vector<Record> records;
  Position next;       // where the next page begins
  bool ended = false;  // the shard is closed and has no record at or behind `next`
  bool more = false;   // a limit ended the page: more records can be read now
};

// Returns the records of the shard at and behind `from`, in order. Reads no key before `from`, so a
// reader at the end of a shard costs one seek. Errors: kTrimmedDataAccess if records at or behind
// `from` were trimmed, kWouldBlock with Tier::kMemory, kCorruption, kUnavailable.
Result<Page> ReadShard(kv::Engine& engine, const StreamDescriptor& stream, const Shard& shard,
                       Position from, const ReadLimits& limits, kv::Tier tier);

// Returns the position of the oldest record that may still be read, or of the next record if there
// is none.
Position TrimHorizon(const Shard& shard);
// Returns the position behind the shard's newest record. Errors as of ReadShard.
Result<Position> LatestPosition(kv::Engine& engine, const Shard& shard, kv::Tablet tablet,
                                kv::Tier tier);

// Returns the position behind the last record created before `cutoff_micros`, or nullopt if all
// remaining records are younger. Reads only a few records: times rise with positions, within the
// accuracy of the clock.
Result<std::optional<Position>> ExpiredUpTo(kv::Engine& engine, const Shard& shard,
                                            kv::Tablet tablet, int64_t cutoff_micros);
// Returns the range delete that removes the shard's records in [from, to).
kv::DeleteRange RangeOf(const Shard& shard, kv::Tablet tablet, Position from, Position to);
// Returns the range delete that removes all remaining records of the shard.
kv::DeleteRange RestOf(const Shard& shard, kv::Tablet tablet);

}  // namespace stator::stream
