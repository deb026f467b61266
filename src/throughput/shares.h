// The capacity of tables, indexes and partitions, divided by demand among the processes of one
// store: what they tell one another. docs/adr/0014-shares.md says why it is so.
//
// About once a second every process reports what it did at each limit, and asks to keep its grant.
// One of them, the allocator, reads all reports and writes each process its grant: which part of
// each limit it may use. A grant ends so long after the process *asked*, by its own clock, unless a
// later ask has been answered; so no two clocks are compared. The parts of all processes never add
// up to more than a whole: what is taken from one is given to another only when the one says that
// it goes by the smaller grant, or when its grant has ended.
//
//   process                                   allocator (one of them)
//   ShareHolder::Receive  <-- GrantRecord --  ShareAllocator::Step
//   ShareHolder::Ask      --- Report ------>
//
// Pure: no I/O, time is passed in.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "throughput/key_point.h"
#include "throughput/throttle.h"

namespace stator::throughput {

// By Access.
using Parts = std::array<double, kAccesses>;    // of a limit, in [0, 1]
using Units = std::array<double, kAccesses>;    // capacity units
using Halves = std::array<int64_t, kAccesses>;  // half units

// --- What a process did

// The use of one limit of a table, index or partition in one tick.
struct LimitUse {
  Halves used{};     // what passed
  Halves refused{};  // what did not, whichever limit refused it
  bool operator==(const LimitUse&) const = default;
};

struct RangeUse {
  KeyRange range;  // a partition, as the process knows it
  LimitUse use;
  std::vector<KeyBound> keys;  // some of those that were asked for, evenly over their units
  bool operator==(const RangeUse&) const = default;
};

struct ResourceUse {
  LimitUse whole;
  Halves let_pass{};  // of what was refused, what passed nevertheless
  std::vector<RangeUse> ranges;
  bool operator==(const ResourceUse&) const = default;
};

// By tablet. What was little used may be left out.
using Use = std::map<uint32_t, ResourceUse>;

struct Report {
  // How many ticks the allocator may miss and still hear of all that was used.
  static constexpr size_t kMostTicks = 4;
  struct Tick {
    int64_t micros = 0;  // how long it was
    Use use;
    bool operator==(const Tick&) const = default;
  };

  uint64_t session = 0;  // rises when the process has let its grant end: it holds nothing since
  uint64_t ask = 0;      // rises with every report
  uint64_t holds = 0;    // generation of the grant in force; 0: none
  std::map<uint32_t, Units> surrendered;  // by tablet: unused capacity that it gave up for that one
  std::vector<Tick> ticks;                // the newest first

  std::string Encode() const;
  static Result<Report> Decode(std::string_view bytes);
  bool operator==(const Report&) const = default;
};

// --- What a process may do

struct Grant {
  struct RangeParts {
    KeyRange range;
    Parts parts{};
    bool operator==(const RangeParts&) const = default;
  };
  struct OfResource {
    std::optional<Parts> whole;      // of the table's or index's own capacity; absent: base
    std::vector<RangeParts> ranges;  // of partitions' maxima: disjoint, ascending; elsewhere base
    bool operator==(const OfResource&) const = default;
  };

  double base = 0;                           // of each limit that is not named
  std::map<uint32_t, OfResource> resources;  // by tablet

  Parts Whole(uint32_t tablet) const;
  // The most, and the least, that it grants anywhere in a range.
  Parts Most(uint32_t tablet, const KeyRange& range) const;
  Parts Least(uint32_t tablet, const KeyRange& range) const;
  bool operator==(const Grant&) const = default;
};

struct GrantRecord {
  uint64_t session = 0;
  uint64_t answers = 0;      // an ask
  int64_t valid_micros = 0;  // from when that was asked
  uint64_t generation = 0;   // rises when the grant changes
  uint64_t confirmed = 0;    // the last generation that the process has reported
  Grant grant;
  std::optional<Grant> before;      // while `generation` is not confirmed
  std::map<uint32_t, Units> moved;  // by tablet: unused capacity that comes with `generation`, once

  std::string Encode() const;
  static Result<GrantRecord> Decode(std::string_view bytes);
  bool operator==(const GrantRecord&) const = default;
};

// The allocator's record in the store: all processes read it, and the next allocator continues from
// it.
struct SharePlan {
  // The allocator's decisions on one resource that are not in the catalog.
  struct OfResource {
    Units ready{};                 // what an on-demand table has grown to
    std::vector<KeyBound> bounds;  // of partitions inside item collections, ascending
    bool operator==(const OfResource&) const = default;
  };

  std::string allocator;  // its name; empty: it has resigned
  uint64_t round = 0;
  std::map<uint32_t, Units> pool;  // by tablet: unused capacity that was given up and not moved yet
  std::map<uint32_t, OfResource> resources;  // by tablet

  std::string Encode() const;
  static Result<SharePlan> Decode(std::string_view bytes);
  bool operator==(const SharePlan&) const = default;
};

// The limits of one table or index for all processes together.
struct SharedLimits {
  Units whole{};              // units per second; 0: no limit
  double window_seconds = 0;  // for which unused units are kept
  Units partition{};          // units per second of one partition
};

bool Overlap(const KeyRange& a, const KeyRange& b);

struct ShareSettings {
  int64_t valid_micros = 10'000'000;    // of a grant
  int64_t silent_micros = 3'000'000;    // without a new report: nothing can be moved from or to it
  int64_t takeover_micros = 3'000'000;  // without a new plan: the allocator is taken for dead
  // How much longer than `valid_micros` the allocator waits: clocks do not run equally fast.
  double clock_tolerance = 0.02;
  // The part of a fully used limit that is reserved, in equal shares, for processes that ask for
  // little.
  double floor = 0.05;
  double headroom = 0.15;       // beyond what is asked for, before the rest is divided evenly
  double smooth_seconds = 1.5;  // demand is averaged over
  double listed_above = 0.5;    // part of an even share whose use has a limit divided by demand,
  double listed_below = 0.25;   // and no longer
  double least_change = 0.02;   // of a part, that is worth a new grant
};

}  // namespace stator::throughput
