#include "stream/reader.h"

namespace stator::stream {
namespace {

constexpr Position kEnd = {UINT64_MAX, kMaxIndex + 1};

struct Found {
  Position position;
  int64_t time = 0;
};

// Returns the first record in [from, to), or the last if `last`.
Result<std::optional<Found>> FindRecord(kv::Engine& engine, const Shard& shard, kv::Tablet tablet,
                                        Position from, Position to, bool last, kv::Tier tier) {
  const std::string begin = RecordKey(shard.number, from);
  const std::string end = RecordKey(shard.number, to);
  std::optional<Found> found;
  Status bad;
  TRY(engine.Scan({tablet, begin, end, last, 1}, tier,
                  [&](std::string_view key, std::string_view value) {
                    const Result<Position> position = PositionOfKey(key);
                    const Result<int64_t> time = TimeOfRecord(value);
                    if (!position.ok()) {
                      bad = position.error();
                    } else if (!time.ok()) {
                      bad = time.error();
                    } else {
                      found = {*position, *time};
                    }
                    return false;
                  }));
  TRY(std::move(bad));
  return found;
}

}  // namespace

Position TrimHorizon(const Shard& shard) { return std::max(shard.first(), shard.trimmed_to); }

Result<Page> ReadShard(kv::Engine& engine, const StreamDescriptor& stream, const Shard& shard,
                       Position from, const ReadLimits& limits, kv::Tier tier) {
  if (from < shard.trimmed_to) {
    return Error(ErrorCode::kTrimmedDataAccess,
                 "The operation attempted to read past the oldest stream record in a shard.");
  }
  Page page;
  page.next = std::max(from, shard.first());
  const std::string begin = RecordKey(shard.number, page.next);
  const std::string end = RecordKey(shard.number, kEnd);
  size_t bytes = 0;
  Status bad;
  TRY(engine.Scan({stream.tablet(), begin, end, false, limits.records + 1, limits.bytes}, tier,
                  [&](std::string_view key, std::string_view value) {
                    if (page.records.size() >= limits.records) {
                      page.more = true;
                      return false;
                    }
                    Result<Record> record = DecodeRecord(stream, key, value);
                    if (!record.ok()) {
                      bad = std::move(record).error();
                      return false;
                    }
                    bytes += record->size_bytes();
                    if (bytes > limits.bytes && !page.records.empty()) {
                      page.more = true;
                      return false;
                    }
                    page.next = record->position.Next();
                    page.records.push_back(std::move(*record));
                    return true;
                  }));
  TRY(std::move(bad));
  page.ended = !shard.open() && !page.more;
  return page;
}

Result<Position> LatestPosition(kv::Engine& engine, const Shard& shard, kv::Tablet tablet,
                                kv::Tier tier) {
  const Position horizon = TrimHorizon(shard);
  ASSIGN_OR_RETURN(const std::optional<Found> last,
                   FindRecord(engine, shard, tablet, horizon, kEnd, true, tier));
  return last ? last->position.Next() : horizon;
}

Result<std::optional<Position>> ExpiredUpTo(kv::Engine& engine, const Shard& shard,
                                            kv::Tablet tablet, int64_t cutoff_micros) {
  const auto find = [&](Position from, Position to, bool last) {
    return FindRecord(engine, shard, tablet, from, to, last, kv::Tier::kAny);
  };
  const Position horizon = TrimHorizon(shard);
  ASSIGN_OR_RETURN(const std::optional<Found> first, find(horizon, kEnd, false));
  if (!first || first->time >= cutoff_micros) return std::optional<Position>();
  ASSIGN_OR_RETURN(const std::optional<Found> last, find(first->position, kEnd, true));
  if (!last) return std::optional<Position>();
  if (last->time < cutoff_micros) return std::optional<Position>(last->position.Next());
  // `expired` is the stamp of an expired record; all records at and behind `kept` are not expired.
  uint64_t expired = first->position.stamp;
  uint64_t kept = last->position.stamp;
  while (kept - expired > 1) {
    const uint64_t middle = expired + (kept - expired) / 2;
    ASSIGN_OR_RETURN(const std::optional<Found> found, find({middle, 0}, kEnd, false));
    if (found && found->time < cutoff_micros && found->position.stamp < kept) {
      expired = found->position.stamp;
    } else {
      kept = middle;
    }
  }
  // All records of one batch have one time.
  ASSIGN_OR_RETURN(const std::optional<Found> boundary, find({expired, 0}, {expired + 1, 0}, true));
  if (!boundary) return std::optional<Position>();
  return std::optional<Position>(boundary->position.Next());
}

kv::DeleteRange RangeOf(const Shard& shard, kv::Tablet tablet, Position from, Position to) {
  return {tablet, RecordKey(shard.number, from), RecordKey(shard.number, to)};
}

kv::DeleteRange RestOf(const Shard& shard, kv::Tablet tablet) {
  return RangeOf(shard, tablet, shard.trimmed_to, kEnd);
}

}  // namespace stator::stream
