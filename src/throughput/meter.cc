#include "throughput/meter.h"

#include "throughput/units.h"

namespace stator::throughput {

std::string_view ThrottlingText(Throttling mode) {
  switch (mode) {
    case Throttling::kOff:
      return "off";
    case Throttling::kObserve:
      return "observe";
    case Throttling::kEnforce:
      return "enforce";
  }
  return "";
}

std::optional<Throttling> ThrottlingOf(std::string_view text) {
  for (const Throttling mode : {Throttling::kOff, Throttling::kObserve, Throttling::kEnforce}) {
    if (ThrottlingText(mode) == text) return mode;
  }
  return std::nullopt;
}

Rates Meter::let_pass() const {
  return {HalvesToUnits(let_pass_[0].load(std::memory_order_relaxed)),
          HalvesToUnits(let_pass_[1].load(std::memory_order_relaxed))};
}

void Meter::RecordSplits(const std::vector<SplitEvent>& events) {
  if (events.empty()) return;
  {
    const MutexLock lock(mutex_);
    for (const SplitEvent& event : events) {
      if (splits_.size() == kMaxSplits) splits_.pop_front();
      splits_.push_back(event);
    }
  }
  SetSplitsPending();
}

std::vector<SplitEvent> Meter::splits() const {
  const MutexLock lock(mutex_);
  return {splits_.begin(), splits_.end()};
}

}  // namespace stator::throughput
