// Target tracking, as Application Auto Scaling does it for tables and indexes: a pure policy, for
// server and simulator. Reads and writes of each table and index have a policy of their own. Not
// thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "base/result.h"
#include "throughput/capacity_changes.h"

namespace stator::throughput {

struct AutoScalingSettings {
  double min_units = 1;
  double max_units = 40000;
  double target = 0.7;  // of the capacity; 0.2 to 0.9 [G]
  // One-minute points in a row above the target before capacity is raised, and below before it is
  // lowered. [G]
  int raise_after_points = 2;
  int lower_after_points = 15;
  // A point is low when it is this far under the target, so that a steady load does not lower and
  // raise in turn. [A]
  double lower_margin = 0.2;
  // Pause after a change before the next one in the same direction. [A]
  double raise_cooldown_seconds = 0;
  double lower_cooldown_seconds = 0;
  // True: a minute without consumption counts as a low one. False: such a minute is no data point,
  // and an unused table keeps its capacity. [A]
  bool lower_when_idle = false;

  bool operator==(const AutoScalingSettings&) const = default;
};

class AutoScalingPolicy {
 public:
  // kValidation: min above max, or a target outside of 0.2 to 0.9.
  static Status Check(const AutoScalingSettings& settings);
  explicit AutoScalingPolicy(const AutoScalingSettings& settings) : settings_(settings) {}

  // Takes the data of one minute, which ends at `now_micros`: the units per second that were
  // consumed, and the capacity. Returns the new capacity, or nullopt to keep it. `decreases`: the
  // decreases of this table or index so far, of reads and writes together. A decrease beyond the
  // daily number in `quotas` is postponed. The caller must count the decreases that it carries out.
  // Capacity outside of minimum and maximum is moved there at once, if no forbidden decrease is
  // needed.
  std::optional<double> OnMinute(int64_t now_micros, double consumed, double provisioned,
                                 const DecreaseHistory& decreases,
                                 const ModelSettings& quotas = {});

  const AutoScalingSettings& settings() const { return settings_; }

 private:
  AutoScalingSettings settings_;
  int above_ = 0;
  int below_ = 0;
  double highest_above_ = 0;  // consumed, in the points that are above
  double highest_below_ = 0;
  std::optional<int64_t> raised_micros_;
  std::optional<int64_t> lowered_micros_;
};

}  // namespace stator::throughput
