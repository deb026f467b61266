// The change log of a table: what its items were before they changed.
//
//   tablet := Space::kLog, of the log's own
//   entry  := record | mark
//   record := 01 day:4 item time:8 stamp:8    big-endian; the engine writes the stamp
//   item   := the item's key (table/key_encoding.h) with 00 written as 00 ff, then 00 01
//   day    := time / 86400 seconds, since the epoch
//   time   := of the change: microseconds since the epoch
//   value  := stamp:8 01 [ image ]            the encoded item that the change replaced; absent:
//                                             there was none
//   mark   := 02, with the value stamp:8 01 time:8, little-endian: that of the latest batch
//
// A day is a run of keys in the order of the items. So the oldest image of an item after a moment
// is one seek in the day of the moment, and one in each later day until one has the item; a table
// at a moment is a merge of its items with these days; and to trim is to delete the first days. A
// log has at most 37 days (kMostPeriodDays).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "kv/engine.h"
#include "model/value.h"

namespace stator::history {

inline constexpr int64_t kDayMicros = int64_t{86'400} * 1'000'000;
// How long a log keeps changes, at most and by default. [B]
inline constexpr int64_t kMostPeriodDays = 35;

// A change log as the catalog stores it.
struct ChangeLog {
  uint32_t tablet_id = 0;    // Space::kLog; 0 until the store has chosen it
  int64_t since_micros = 0;  // every change with a later time is in the log, or too old
  int64_t first_day = 0;     // records of earlier days were deleted
  int64_t period_days = kMostPeriodDays;

  kv::Tablet tablet() const { return {kv::Space::kLog, tablet_id}; }
  // Returns the earliest moment that can be told from the log.
  int64_t EarliestAt(int64_t now_micros) const;
  bool operator==(const ChangeLog&) const = default;
};

// Returns the day of a time.
int64_t DayOf(int64_t micros);
// Returns the first key that a record of the day may have.
std::string FirstKeyOfDay(int64_t day);
// Returns a lower bound for the keys of a day's records: records of this item at this time or
// later, and records of items with greater keys.
std::string FirstKeyOf(int64_t day, std::string_view item_key, int64_t micros);

// Adds to a batch what it replaces at an item's key: ItemView() if there is no item.
void AppendBefore(const ChangeLog& log, std::string_view item_key, model::ItemView before,
                  int64_t micros, kv::Batch* batch);
// Adds the mark. A batch with records has one for each log.
void AppendMark(const ChangeLog& log, int64_t micros, kv::Batch* batch);
// Returns the time of the log's latest batch; 0 if it has none. Errors as of Engine::Get. Blocks
// as the tier says.
Result<int64_t> ReadMark(kv::Engine& engine, const ChangeLog& log, kv::Tier tier = kv::Tier::kAny);

struct Record {
  std::string item_key;
  int64_t micros = 0;
  uint64_t stamp = 0;
  std::string_view before;  // an encoded item, unchecked, in the value; empty: there was none
};
// kCorruption if key or value is no record.
Result<Record> DecodeRecord(std::string_view key, std::string_view value);

}  // namespace stator::history
