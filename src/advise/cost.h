// What the units of a table or index would have been billed as: provisioned with auto scaling, or
// provisioned for the busiest minute. Bounded memory, deterministic. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "throughput/auto_scaling.h"
#include "throughput/resource.h"

namespace stator::advise {

// Seconds that have begun from one request to another: of 20 moments of a manual clock, a second
// apart, each is a second.
double SecondsOf(int64_t from_micros, int64_t to_micros);

struct CostSummary {
  double seconds = 0;         // of the recording
  throughput::Rates average;  // units per second that were served
  // Units per second that were asked for, refused ones included. Minutes count from the first
  // request; none is lower than the average of all.
  throughput::Rates busiest_minute;
  throughput::Rates busiest_second;
  throughput::Rates quietest_minute;
  // Average capacity under auto scaling, each minute at least the units used in it: unused capacity
  // of earlier minutes is no plan.
  throughput::Rates scaled;
  // The capacity for fixed provisioning: the busiest minute divided by the target utilisation, but
  // at least the busiest second.
  throughput::Rates fixed;
};

class CostMeter {
 public:
  // Adds units at a time, which must not go back. `refused`: the units were asked for but not
  // consumed.
  void Add(int64_t at_micros, throughput::Access access, double units, bool refused = false);
  // `end_micros`: of the whole recording.
  CostSummary Finish(int64_t start_micros, int64_t end_micros);

 private:
  void CloseMinute(double seconds);
  void CloseSecond();
  void PassTo(int64_t minute);

  int64_t MinuteOf(int64_t at_micros) const;

  std::optional<int64_t> origin_micros_;  // the first request
  std::optional<int64_t> minute_;         // since then
  std::optional<int64_t> second_;
  throughput::Rates second_units_;  // this second
  throughput::Rates busiest_second_;
  throughput::Rates now_;     // units, this minute, refused ones included
  throughput::Rates asked_;   // all units
  throughput::Rates served_;  // without the refused ones
  throughput::Rates busiest_;
  std::optional<throughput::Rates> quietest_;
  std::optional<throughput::Rates> capacity_;
  throughput::Rates capacity_seconds_;
  double seconds_ = 0;
  throughput::DecreaseHistory decreases_;
  throughput::AutoScalingPolicy policies_[2] = {
      throughput::AutoScalingPolicy(throughput::AutoScalingSettings{}),
      throughput::AutoScalingPolicy(throughput::AutoScalingSettings{})};
};

}  // namespace stator::advise
