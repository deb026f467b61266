// Every constant of the throughput model, with its source. Tags are those of the reference: [G]
// Amazon's developer guide, [W] other pages of Amazon, [A] assumption, because Amazon publishes no
// figure. [model] of a scenario or of stator.toml sets them; docs/throughput.md lists them for
// people.
#pragma once

#include <cstddef>
#include <cstdint>

namespace stator::throughput {

// How a partition may use more than its even share of provisioned capacity.
enum class Adaptive : uint8_t {
  kOff,      // never: the even division of the guide's older chapters
  kInstant,  // at once, within the table's total and the partition's maximum [G]
  kDelayed,  // after it was throttled for adaptive_delay_seconds, as before 2019
};

struct ModelSettings {
  // What one partition can do.
  double partition_read_units = 3000;   // per second [G]
  double partition_write_units = 1000;  // per second [G]
  double eventual_partition_read_units =
      3000;  // the same limit for eventually consistent reads [G]; Amazon measured 4500 [W]
  double partition_bytes = 10.0 * (1 << 30);  // [G]
  // Unused time that a partition's own maximum keeps. [A]: the maximum is given per second.
  double partition_burst_seconds = 1;

  // Unused capacity that a table, an index and (without adaptive capacity) a partition's share
  // keep. [G]
  double burst_seconds = 300;
  // Of it, what is there when capacity is new: nothing was unused yet. [A]
  double initial_burst_seconds = 1;
  Adaptive adaptive = Adaptive::kInstant;
  double adaptive_delay_seconds = 300;  // [A]; kDelayed only

  // On-demand.
  double on_demand_read_units = 12000;  // what a new table serves at once [G][W]
  double on_demand_write_units = 4000;  // [G][W]
  double growth_factor = 2;  // capacity is made ready for this many times the previous peak [G]
  double growth_seconds =
      1800;  // and that long after the peak: going beyond double in less may throttle [G]
  double maximum_burst_seconds =
      1;  // unused time that OnDemandThroughput's maxima keep [A]: "best effort"

  // A split makes two; no table gets more partitions than this. [A], against absurd capacities.
  int64_t most_partitions = 4096;

  // Quotas.
  double table_quota_read_units = 40000;     // per table or index, in either mode [G]
  double table_quota_write_units = 40000;    // [G]
  double account_quota_read_units = 80000;   // all provisioned tables and indexes together [G]
  double account_quota_write_units = 80000;  // [G]
  int64_t decreases_per_day = 4;             // of one table or index, at any time of a UTC day [G]
  // After `decreases_per_day` decreases, one more is allowed whenever this time has passed since
  // the last one: at most 27 a day. [G]
  double decrease_pause_seconds = 3600;
  int64_t on_demand_switches = 4;  // of one table from provisioned to on demand, in 24 hours [W]

  // Observation: consumption and heat are averaged over windows.
  double window_seconds =
      60;  // [A], also the time over which a peak of an on-demand table is averaged
  // The time for which the requests of one moment stand. 0 for a running clock; in a simulation,
  // which plays all requests of a step at its beginning, the length of a step.
  double moment_seconds = 0;
  // The explanation of the worst second is kept for this time, unless a worse one comes. [A]
  double worst_kept_seconds = 86400;
  // Split for heat. Amazon says "sustained traffic near the limit" and gives no figures: all of
  // these are [A].
  bool split_for_heat = true;
  double heat_threshold = 0.9;    // consumed part of the partition's maximum that counts as hot
  int heat_windows = 5;           // hot windows in a row before the split
  double heat_min_side = 0.1;     // a bound must leave at least this part of the heat on each side
  double isolation_share = 0.25;  // a key with this part of the heat is cut off exactly at its edge
  size_t heat_min_samples = 32;   // requests seen before a bound is chosen

  // Memory of what was seen, per partition.
  size_t sample_points = 128;      // keys in the order of time, for the choice of a bound
  size_t sample_sort_bytes = 128;  // of a sort key that is remembered
  size_t hot_keys = 16;            // counters of each sketch of hot keys
  size_t lifetime_hot_keys = 64;   // the same per table or index, for its whole life
  size_t key_label_bytes = 64;     // of a partition key that is remembered for people
  // The model samples the keys of all requests up to `looks_per_second` in a second of a partition.
  // Beyond that it samples one request in a number of half units, at most `observe_every_halves`,
  // and weights of keys are estimates.
  double looks_per_second = 500;
  int64_t observe_every_halves = 32;  // 1 looks at each request, whatever there are
};

}  // namespace stator::throughput
