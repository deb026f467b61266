// Reading a stream, for clients' GetRecords and for whatever else consumes changes.
//
// A reader goes through a shard from a position to its end, and through a parent before its
// children; then it has every change once, and those of one item in the order in which they were
// committed.
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
  size_t bytes =
      1 << 20;  // of Record::size_bytes; a first record that is larger comes all the same
};

struct Page {
  std::vector<Record> records;
  Position next;       // where to read on
  bool ended = false;  // the shard is closed and has nothing behind `next`
  bool more = false;   // a limit ended the page: there is more to read right now
};

// The records of the shard at `from` and behind, in order. Looks at no key before `from`, so a
// reader at the end of a shard costs one seek. kTrimmedDataAccess if records at `from` and behind
// were trimmed, kWouldBlock with Tier::kMemory, kCorruption, kUnavailable.
Result<Page> ReadShard(kv::Engine& engine, const StreamDescriptor& stream, const Shard& shard,
                       Position from, const ReadLimits& limits, kv::Tier tier);

// The first record that may still be read, or the place of the first one to come.
Position TrimHorizon(const Shard& shard);
// Behind the last record of the shard as of now. Errors as above.
Result<Position> LatestPosition(kv::Engine& engine, const Shard& shard, kv::Tablet tablet,
                                kv::Tier tier);

// Behind the last record that was created before `cutoff_micros`; nullopt if all that are left are
// younger. Reads a few records only: times rise with positions, within the accuracy of the clock.
Result<std::optional<Position>> ExpiredUpTo(kv::Engine& engine, const Shard& shard,
                                            kv::Tablet tablet, int64_t cutoff_micros);
// What takes the records of the shard between two positions away.
kv::DeleteRange RangeOf(const Shard& shard, kv::Tablet tablet, Position from, Position to);
// What takes the whole shard away, from where it was trimmed.
kv::DeleteRange RestOf(const Shard& shard, kv::Tablet tablet);

}  // namespace stator::stream
