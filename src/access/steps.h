// Bounds the cost of evaluating policies. It needs a bound because each pattern may be compared
// with each value, and both the request and the caller's policies choose their numbers.
#pragma once

#include <cstdint>

namespace stator::access {

// Steps: characters that patterns are compared with, and values of conditions. One takes about 5
// ns.
//
// A policy that is evaluated while no steps are left may say anything, so Authorize allows nothing
// then.
class PolicySteps {
 public:
  explicit PolicySteps(int64_t most) : left_(most) {}
  bool exhausted() const { return left_ < 0; }

  // While a Scope lives, evaluations on its thread spend steps from `steps`. Without a Scope their
  // steps are not counted.
  class Scope {
   public:
    explicit Scope(PolicySteps* steps) : before_(current_) { current_ = steps; }
    ~Scope() { current_ = before_; }
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    PolicySteps* const before_;
  };

  // Returns false if the steps of this thread are exhausted: the evaluation may end.
  static bool Spend(int64_t steps) {
    return current_ == nullptr || (current_->left_ -= steps) >= 0;
  }

 private:
  int64_t left_;
  static inline thread_local PolicySteps* current_ = nullptr;
};

// The steps of one request, shared by all its authorization checks: of each table of a batch, each
// statement, each action of a transaction. A request that needs more is not allowed. This is
// enough to compare an item of 36,000 attributes with fifty patterns.
inline constexpr int64_t kMostStepsOfRequest = 4'000'000;
// The steps of one request on the thread of an I/O loop, about a millisecond. If they run out,
// Check::Require returns kWouldBlock and a worker authorizes the request again, with all its steps.
inline constexpr int64_t kMostStepsInLoop = 200'000;
// The bound of one call that simulates policies.
inline constexpr int64_t kMostStepsOfSimulation = 40'000'000;

}  // namespace stator::access
