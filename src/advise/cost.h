// What the units of a table or index would have been billed as: provisioned with auto scaling, or
// provisioned for the busiest minute. Bounded memory, deterministic. Not thread-safe.
#pragma once

#include <cstdint>
#include <optional>

#include "throughput/auto_scaling.h"
#include "throughput/resource.h"

namespace stator::advise {

struct CostSummary {
  double seconds = 0;                // from the first to the last request
  throughput::Rates average;         // units per second
  throughput::Rates busiest_minute;  // units per second
  throughput::Rates quietest_minute;
  throughput::Rates scaled;  // what auto scaling provides, on average
  throughput::Rates fixed;   // the busiest minute at the target utilisation
};

class CostMeter {
 public:
  // Times do not go back.
  void Add(int64_t at_micros, throughput::Access access, double units);
  // `end_micros`: of the whole recording.
  CostSummary Finish(int64_t start_micros, int64_t end_micros);

 private:
  void CloseMinute(double seconds);
  void PassTo(int64_t minute);

  std::optional<int64_t> minute_;
  throughput::Rates now_;  // units, this minute
  throughput::Rates all_;
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
