// What a table or index consumed and was refused, by time and key range.
//
//   HeatHistory history;
//   history.Record(now, CountsOf(resource));   // about once a second, before resource.Advance
//   HeatMap map = history.Map({.from_micros = ..., .to_micros = ..., .step_seconds = 60});
//
// Each tier of slots covers all of the last so-much time: seconds for minutes, minutes for hours,
// hours for days. What is recorded is added to one slot of each tier, so that nothing has to be
// merged down later and the sum of a tier is exact. A slot keeps the key ranges that there were
// when it began, at most `most_ranges`; partitions only ever split, so later ones lie inside them.
// Where a table has more partitions, cold neighbours share a range. Slots without units are not
// stored. Memory is bounded by MostBytes.
//
// Not thread-safe. Pure: time is passed in, equal calls give equal answers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "throughput/key_point.h"

namespace stator::throughput {

class Resource;

// Half units, so that sums stay exact.
struct HeatUnits {
  int64_t read = 0;
  int64_t write = 0;
  int64_t refused_read = 0;
  int64_t refused_write = 0;

  HeatUnits& operator+=(const HeatUnits& other);
  HeatUnits operator-(const HeatUnits& other) const;
  bool operator==(const HeatUnits&) const = default;
  int64_t consumed() const { return read + write; }
  int64_t refused() const { return refused_read + refused_write; }
  bool any() const { return *this != HeatUnits(); }
};

// What one partition has counted since it exists. Ids are never reused.
struct PartitionCount {
  uint64_t partition = 0;
  KeyRange range;
  bool retired = false;  // it was split; its children are counted apart
  HeatUnits units;
};
// Those of a resource, with the partitions that were split since the Advance before the last one.
std::vector<PartitionCount> CountsOf(const Resource& resource);

// Time from left to right, keys from top to bottom.
struct HeatMap {
  struct Cell {
    HeatUnits units;  // of the whole column
    // Units per second of one partition: of the busiest that had keys of the row then, on average
    // over the column.
    double read_load = 0;
    double write_load = 0;
  };
  int64_t from_seconds = 0;  // since the epoch
  int64_t column_seconds = 1;
  std::vector<KeyRange> rows;
  std::vector<std::vector<Cell>> cells;  // [row][column]
  // How much of each column there has been: the last one may not be over, and what is counted may
  // be younger than the first. Never 0.
  std::vector<double> covered_seconds;
  size_t columns() const { return covered_seconds.size(); }
};

class HeatHistory {
 public:
  struct Tier {
    int64_t seconds;
    int64_t slots;
  };
  struct Settings {
    // Ascending; each length is a multiple of the one before.
    std::vector<Tier> tiers = {{1, 600}, {60, 720}, {3600, 336}};  // 10 min, 12 h, 14 days
    size_t most_ranges = 64;
    // Units that were counted between two calls are spread evenly over the time between them, if
    // that time is at most `spread_micros`. If it is longer, the clock has jumped, and all units
    // count at the time of the earlier call. 0 for a manual clock, which stands still while
    // requests come.
    int64_t spread_micros = 10'000'000;
  };
  // The maximum number of columns of a map. A step that would give more is raised.
  static constexpr int64_t kMostColumns = 1500;
  // A bound with a longer sort key is left out: the ranges on both sides of it are shown as one.
  static constexpr size_t kMostSortBytes = 128;

  HeatHistory() : HeatHistory(Settings()) {}
  explicit HeatHistory(Settings settings);

  // Takes the counters as they are at `now_micros`. A partition that was not named before is
  // counted from 0. The first call says what was counted until now, at this moment. If the clock
  // goes back, slots that begin later than it are dropped.
  void Record(int64_t now_micros, std::span<const PartitionCount> counts);
  // The same for a time in which nothing was counted.
  void RecordIdle(int64_t now_micros);

  struct Window {
    int64_t from_micros = 0;
    int64_t to_micros = 0;
    int64_t step_seconds = 1;
    std::vector<KeyRange> rows;  // ascending, none twice; none: the ranges of now
    int64_t now_micros = 0;      // if later than the last call of Record: nothing was counted since
    int64_t born_micros = 0;     // there was nothing to count before
  };
  // Begins and steps are rounded to what is kept so far back; what is older than all tiers is left
  // out. A range that lies across rows is shared out by their parts of the hash space, and its load
  // is that of each of them.
  HeatMap Map(const Window& window) const;

  // Of the longest tier: as far back as anything is kept.
  int64_t RetentionSeconds() const;
  size_t Bytes() const;
  // Returns a bound of the bytes that the slots take, at once.
  size_t SlotBytes() const;
  // Forgets the older half of the tier with the most slots. Returns false if none has more than
  // `least`.
  bool Thin(size_t least);
  static size_t MostBytes(const Settings& settings);

  // history := "HH" version:1 body crc32(all before):4     little-endian
  // body    := recorded_until  count { layout }  count { tier }
  // layout  := count { partitions hash length sort }       the first bound is 0 and empty
  // tier    := seconds count { slot }
  // slot    := start / seconds  layout  count { range read write refused_read refused_write }
  // All numbers are varints (LEB128), times in seconds but for recorded_until in microseconds.
  std::string Encode() const;
  // kCorruption with a sentence if the bytes are no history, or one of another version or with more
  // ranges than `settings` allow. Tiers that are not of the settings are left out.
  static Result<HeatHistory> Decode(std::string_view bytes, Settings settings);

 private:
  // The bounds of a slot's ranges and how many partitions each had.
  struct Layout {
    std::vector<KeyBound> from;
    std::vector<uint32_t> partitions;
    KeyRange RangeOf(size_t index) const;
    // The range that `bound` is in.
    size_t Find(const KeyBound& bound) const;
  };
  struct Cell {
    uint32_t range = 0;
    HeatUnits units;
  };
  struct Slot {
    int64_t start = 0;  // seconds
    std::shared_ptr<const Layout> layout;
    std::vector<Cell> cells;  // ascending ranges, with units

    void Add(const KeyRange& range, const HeatUnits& units);
    void AddTo(size_t index, const HeatUnits& units);
  };

  void FollowClock(int64_t now_micros);
  void ChooseLayout(std::span<const PartitionCount> counts);
  void AddAt(int64_t second, const KeyRange& range, const HeatUnits& units);
  Slot& SlotAt(size_t tier, int64_t second);
  // The finest that reaches back so far, else the coarsest.
  size_t TierFor(int64_t from_seconds, int64_t now_seconds) const;
  static void AddToMap(const Slot& slot, size_t column, HeatMap* map);

  Settings settings_;
  std::vector<std::deque<Slot>> tiers_;
  std::vector<int64_t> kept_since_;       // seconds, by tier: slots that began earlier may be gone
  std::shared_ptr<const Layout> layout_;  // of new slots; null before the first Record
  std::map<uint64_t, HeatUnits> seen_;    // by partition
  std::vector<uint64_t> ids_;             // of the partitions that layout_ was made for
  int64_t recorded_micros_ = -1;          // -1: never
};

}  // namespace stator::throughput
