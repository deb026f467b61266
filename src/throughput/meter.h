// The throughput of one table or global index of a server: the model of it, whether it refuses or
// only looks on, and counters of what it did.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "throughput/resource.h"

namespace stator::throughput {

// What becomes of requests beyond a limit.
enum class Throttling : uint8_t {
  kOff,      // nothing is asked or counted
  kObserve,  // they pass, and are counted as what would have been refused
  kEnforce,  // they are refused
};
// "off", "observe", "enforce".
std::string_view ThrottlingText(Throttling mode);
std::optional<Throttling> ThrottlingOf(std::string_view text);

// Thread-safe, as Resource is.
//
// In both modes the resource hears the same: a request that a limit stands against is counted as
// refused and takes no tokens, so that observe shows the partitions, splits and refusals that
// enforce would make of the same requests. What such a request consumed nevertheless is in
// let_pass(): units that clients were told of are consumed() and let_pass() together.
class Meter {
 public:
  static constexpr size_t kMaxSplits = 256;

  Meter(const ModelSettings& settings, ResourceDefinition definition, int64_t now_micros,
        Throttling mode)
      : resource_(settings, std::move(definition), now_micros), mode_(mode) {}

  Resource& resource() { return resource_; }
  const Resource& resource() const { return resource_; }
  Throttling mode() const { return mode_.load(std::memory_order_relaxed); }
  void SetMode(Throttling mode) { mode_.store(mode, std::memory_order_relaxed); }

  // A request beyond a limit. Counted here; its units are counted by the resource.
  void CountRefusal(Access access, Limit limit) {
    refusals_[static_cast<size_t>(access)][static_cast<size_t>(limit)].fetch_add(
        1, std::memory_order_relaxed);
  }
  int64_t refusals(Access access, Limit limit) const {
    return refusals_[static_cast<size_t>(access)][static_cast<size_t>(limit)].load(
        std::memory_order_relaxed);
  }
  // Half units that a request beyond a limit consumed, because nobody stopped it.
  void LetPass(Access access, int64_t halves) {
    let_pass_[static_cast<size_t>(access)].fetch_add(halves, std::memory_order_relaxed);
  }
  // Units, since the meter exists.
  Rates let_pass() const;

  // --- What people are told of refusals

  // Between two lines of the log about one limit.
  static constexpr int64_t kBetweenLinesMicros = 10'000'000;
  // A storm begins in the middle of a second of the model, so that the next second is told of.
  static constexpr int64_t kSettleMicros = 900'000;
  // By one thread at a time. Times are a clock's NowMicros and TicksMicros: a manual clock stands
  // still or jumps.
  struct LogTime {
    int64_t now_micros = 0;
    int64_t ticks_micros = 0;
  };
  // Returns true if a log line about this limit is due: there are refusals that no line has
  // reported, and the last line is not young (kBetweenLinesMicros), or its second had not ended.
  // Costs a few loads if nothing was refused.
  bool HasUnlogged(Access access, Limit limit, LogTime at) const;
  // Returns the number of refusals since the last line if a line is to be written to the log now;
  // 0: not yet. `ended`: the second that explains them has ended (not Explanation::so_far). A line
  // waits for that end, but not longer than kBetweenLinesMicros, because a clock may stand still. A
  // line that did not wait is repeated when the second has ended. `at_end`: the server stops, and
  // nothing is waited for.
  int64_t TakeUnlogged(Access access, Limit limit, LogTime at, bool ended, bool at_end = false);
  // Returns the explanation of a refusal. A text that `make` made for the same limit and partition
  // is used again for kExplanationMicros, by the model's time and by the machine's: making one
  // takes long, and a manual clock jumps.
  static constexpr int64_t kExplanationMicros = 100'000;
  std::string Explained(const Verdict& refusal, int64_t now_micros, int64_t ticks_micros,
                        const std::function<std::string()>& make);

  // Keeps splits of the resource until they are shown to people and written to the catalog.
  void RecordSplits(const std::vector<SplitEvent>& events);
  // Returns the latest splits, at most kMaxSplits, oldest first.
  std::vector<SplitEvent> splits() const;
  // Returns true if splits were recorded since the last call.
  bool TakeSplitsPending() { return splits_pending_.exchange(false); }
  void SetSplitsPending() { splits_pending_.store(true); }

 private:
  Resource resource_;
  std::atomic<Throttling> mode_;
  alignas(64) std::array<std::array<std::atomic<int64_t>, kLimits>, kAccesses> refusals_{};
  std::array<std::atomic<int64_t>, kAccesses> let_pass_{};
  struct Logged {
    static constexpr int64_t kNever = INT64_MIN;
    int64_t refusals = 0;  // that were told with the whole of their second
    LogTime line{0, kNever};
    bool whole = true;             // the last line told of a second that had ended
    int64_t seen_ticks = kNever;   // since when there has been something to tell
    int64_t ended_ticks = kNever;  // since when with a second that has ended
    bool IsYoung(LogTime at) const;
  };
  std::atomic<bool> splits_pending_{false};
  mutable Mutex mutex_;
  using Lines = std::array<std::array<Logged, kLimits>, kAccesses>;
  std::unique_ptr<Lines> lines_ GUARDED_BY(mutex_);  // null until a refusal is looked at
  std::vector<SplitEvent> splits_ GUARDED_BY(mutex_);
  struct Explanation {
    int64_t at_micros = 0;
    int64_t at_ticks = INT64_MIN;
    uint64_t partition = 0;
    std::string text;
  };
  using Explanations = std::array<std::array<Explanation, kLimits>, kAccesses>;
  std::unique_ptr<Explanations> explained_ GUARDED_BY(mutex_);  // null until a refusal is explained
};

}  // namespace stator::throughput
