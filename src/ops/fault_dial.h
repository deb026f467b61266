// The fault dial: which faults strike which requests of which table. Faults are what users of the
// cloud meet anyway; here they come when they are asked for, and a client that sends one request
// after the other meets the same ones again.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/random.h"
#include "base/timer.h"
#include "base/unique_function.h"
#include "ops/fault_rule.h"

namespace stator::ops {

// Thread-safe.
class FaultDial {
 public:
  using Rules = std::vector<FaultRule>;
  using Tables = std::map<std::string, Rules, std::less<>>;  // by name; "*": every table

  // False while no rule is left that could strike: then a request costs this one relaxed load.
  bool active() const { return active_.load(std::memory_order_relaxed); }

  // SetAll replaces all rules, Set those of one table; without rules it removes them. The counters
  // of the new rules begin at 0. The tables need not exist.
  void SetAll(Tables tables);
  void Set(const std::string& table, Rules rules);

  // A rule and what has become of it.
  struct State {
    FaultRule rule;
    int64_t asked = 0;  // requests that it looked at
    int64_t struck = 0;
  };
  std::map<std::string, std::vector<State>, std::less<>> Get() const;
  // Returns, by table, for how long the history must keep replaced values (table::History::Keep).
  std::map<std::string, int64_t, std::less<>> Ages() const;

  // A fault that strikes a request, and 64 random bits for further random choices.
  struct Strike {
    FaultRule rule;
    uint64_t bits = 0;
    // Returns, for a rule with a duration, that duration or a random part of it.
    int64_t Micros() const;
  };
  // Asks the rules of the table, then those of "*", for this fault, until one strikes. `applies`
  // leaves rules out.
  std::optional<Strike> Draw(Fault fault, std::string_view table, std::string_view operation,
                             FunctionRef<bool(const FaultRule&)> applies);
  std::optional<Strike> Draw(Fault fault, std::string_view table, std::string_view operation) {
    return Draw(fault, table, operation, [](const FaultRule&) { return true; });
  }

  // For replies that wait.
  Timer& timer() { return timer_; }

 private:
  struct Live {
    Live(FaultRule a_rule, uint64_t seed)
        : state{std::move(a_rule)}, random(std::make_unique<SeededRandom>(seed)) {}
    bool spent() const { return state.rule.count && state.struck >= *state.rule.count; }
    State state;
    std::unique_ptr<SeededRandom> random;  // its own, so that rules do not disturb each other
  };
  using LiveRules = std::vector<Live>;

  static LiveRules Start(std::string_view table, Rules rules);
  void UpdateActive() REQUIRES(mutex_);

  std::atomic<bool> active_{false};
  mutable Mutex mutex_;
  std::map<std::string, LiveRules, std::less<>> tables_ GUARDED_BY(mutex_);
  Timer timer_;
};

}  // namespace stator::ops
