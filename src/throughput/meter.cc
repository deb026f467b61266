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

bool Meter::Logged::IsYoung(LogTime at) const {
  if (line.ticks_micros == kNever) return false;
  return at.ticks_micros - line.ticks_micros < kBetweenLinesMicros &&
         std::abs(at.now_micros - line.now_micros) < kBetweenLinesMicros;
}

bool Meter::HasUnlogged(Access access, Limit limit, LogTime at) const {
  const int64_t all = refusals(access, limit);
  if (all == 0) return false;
  const MutexLock lock(mutex_);
  if (lines_ == nullptr) return true;
  const Logged& logged = (*lines_)[static_cast<size_t>(access)][static_cast<size_t>(limit)];
  return all != logged.refusals && !(logged.whole && logged.IsYoung(at));
}

int64_t Meter::TakeUnlogged(Access access, Limit limit, LogTime at, bool ended, bool at_end) {
  const int64_t all = refusals(access, limit);
  const MutexLock lock(mutex_);
  if (lines_ == nullptr) lines_ = std::make_unique<Lines>();
  Logged& logged = (*lines_)[static_cast<size_t>(access)][static_cast<size_t>(limit)];
  const int64_t count = all - logged.refusals;
  const bool young = logged.IsYoung(at);
  if (count == 0 || (young && logged.whole && !at_end)) return 0;
  if (logged.seen_ticks == Logged::kNever) logged.seen_ticks = at.ticks_micros;
  if (!ended) {
    logged.ended_ticks = Logged::kNever;
  } else if (logged.ended_ticks == Logged::kNever) {
    logged.ended_ticks = at.ticks_micros;
  }
  const bool whole = at_end || (ended && at.ticks_micros - logged.ended_ticks >= kSettleMicros);
  // One that has ended settles soon.
  if (!whole && (ended || young || at.ticks_micros - logged.seen_ticks < kBetweenLinesMicros)) {
    return 0;
  }
  logged.line = at;
  logged.whole = whole;
  if (!whole) return count;
  logged.refusals = all;
  logged.seen_ticks = logged.ended_ticks = Logged::kNever;
  return count;
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
