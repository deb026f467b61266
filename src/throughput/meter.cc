#include "throughput/meter.h"

#include <cstdlib>

#include "throughput/units.h"

namespace stator::throughput {

std::string_view ThrottlingText(Throttling mode) {
  switch (mode) {
    case Throttling::kOff: return "off";
    case Throttling::kObserve: return "observe";
    case Throttling::kEnforce: return "enforce";
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

int64_t Meter::TakeUnlogged(Access access, Limit limit, int64_t ticks_micros,
                            int64_t interval_micros) {
  Logged& logged = logged_[static_cast<size_t>(access)][static_cast<size_t>(limit)];
  int64_t last = logged.at_ticks.load(std::memory_order_relaxed);
  if (last != INT64_MIN && ticks_micros - last < interval_micros) return 0;
  const int64_t all = refusals(access, limit);
  if (all == logged.refusals.load(std::memory_order_relaxed)) return 0;
  if (!logged.at_ticks.compare_exchange_strong(last, ticks_micros)) return 0;
  return all - logged.refusals.exchange(all);
}

std::string Meter::Explained(const Verdict& refusal, int64_t now_micros, int64_t ticks_micros,
                             const std::function<std::string()>& make) {
  const size_t access = static_cast<size_t>(refusal.access);
  const size_t limit = static_cast<size_t>(refusal.limit);
  {
    const MutexLock lock(mutex_);
    if (explained_ == nullptr) explained_ = std::make_unique<Explanations>();
    const Explanation& last = (*explained_)[access][limit];
    if (last.at_ticks != INT64_MIN && last.partition == refusal.partition &&
        ticks_micros - last.at_ticks < kExplanationMicros &&
        std::abs(now_micros - last.at_micros) < kExplanationMicros) {
      return last.text;
    }
  }
  std::string text = make();
  const MutexLock lock(mutex_);
  (*explained_)[access][limit] = {now_micros, ticks_micros, refusal.partition, text};
  return text;
}

void Meter::RecordSplits(const std::vector<SplitEvent>& events) {
  if (events.empty()) return;
  {
    const MutexLock lock(mutex_);
    for (const SplitEvent& event : events) {
      if (splits_.size() == kMaxSplits) splits_.erase(splits_.begin());
      splits_.push_back(event);
    }
  }
  SetSplitsPending();
}

std::vector<SplitEvent> Meter::splits() const {
  const MutexLock lock(mutex_);
  return splits_;
}

}  // namespace stator::throughput
