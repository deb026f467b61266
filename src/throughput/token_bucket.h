// A token bucket in one atomic word: units per second, and a window of seconds for which unused
// units are kept.
//
// It stores not tokens but the time at which they were, or will be, exactly used up (the
// "theoretical arrival time" of GCRA): tokens = (now - empty_at) * rate, at most window * rate. So
// a refill costs nothing, a charge is one addition, and a bucket may be overdrawn: empty_at is then
// in the future.
//
// Times are nanoseconds on one non-decreasing clock. Positive, Affordable, Tokens and Charge may be
// called by any number of threads; the rest by one at a time, beside which a charge under way may
// still count at the old rate.
#pragma once

#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdint>
#include <limits>

namespace stator::throughput {

class TokenBucket {
 public:
  TokenBucket() = default;

  // Starts with `rate` units per second and the tokens of `held_seconds` of it. A rate of 0 or less
  // is unlimited; rates below one unit in 1000 s are taken as that.
  void Configure(int64_t now, double rate, double window_seconds, double held_seconds) {
    SetConstants(rate, window_seconds);
    empty_at_.store(now - static_cast<int64_t>(std::min(held_seconds, window_seconds) * 1e9),
                    std::memory_order_relaxed);
  }
  // Changes the rate and the window. Keeps the tokens, up to the new window's capacity. A bucket
  // that was unlimited starts as with Configure.
  void SetRate(int64_t now, double rate, double window_seconds, double held_seconds) {
    if (unlimited() || rate <= 0) return Configure(now, rate, window_seconds, held_seconds);
    const double tokens = Tokens(now);
    SetConstants(rate, window_seconds);
    const int64_t held = Nanos(tokens, nanos_per_unit_.load(std::memory_order_relaxed));
    empty_at_.store(now - std::min(window_.load(std::memory_order_relaxed), held),
                    std::memory_order_relaxed);
  }
  // Adds tokens that were saved elsewhere, up to the bucket's capacity.
  void Give(int64_t now, double units) { Charge(now, -units); }
  // Takes all tokens away. An overdrawn bucket stays overdrawn.
  void Empty(int64_t now) {
    int64_t empty_at = empty_at_.load(std::memory_order_relaxed);
    while (empty_at < now &&
           !empty_at_.compare_exchange_weak(empty_at, now, std::memory_order_relaxed)) {
    }
  }
  // The other's tokens as seconds of its rate: with half its rate, half its tokens.
  void CopyTime(const TokenBucket& other) {
    empty_at_.store(other.empty_at_.load(std::memory_order_relaxed), std::memory_order_relaxed);
  }

  bool unlimited() const { return nanos_per_unit_.load(std::memory_order_relaxed) == 0; }
  // Units per second; 0 if unlimited.
  double rate() const {
    const double nanos = nanos_per_unit_.load(std::memory_order_relaxed);
    return nanos == 0 ? 0 : 1e9 / nanos;
  }
  // The most tokens the bucket holds; 0 if unlimited.
  double capacity() const {
    return static_cast<double>(window_.load(std::memory_order_relaxed)) / 1e9 * rate();
  }
  // Units that could be used now; negative when overdrawn, infinite when unlimited.
  double Tokens(int64_t now) const {
    const double nanos = nanos_per_unit_.load(std::memory_order_relaxed);
    if (nanos == 0) return std::numeric_limits<double>::infinity();
    const int64_t held = std::min(now - empty_at_.load(std::memory_order_relaxed),
                                  window_.load(std::memory_order_relaxed));
    return static_cast<double>(held) / nanos;
  }
  // Whether a request passes: tokens are positive. It may cost more than there are.
  bool Positive(int64_t now) const {
    return unlimited() || empty_at_.load(std::memory_order_relaxed) < now;
  }
  // How many of `count` requests of `units` each pass, one after the other.
  int64_t Affordable(int64_t now, double units, int64_t count) const {
    const double each = units * nanos_per_unit_.load(std::memory_order_relaxed);
    if (each <= 0) return count;
    const int64_t empty_at = std::max(empty_at_.load(std::memory_order_relaxed),
                                      now - window_.load(std::memory_order_relaxed));
    if (empty_at >= now) return 0;
    // The last request that passes may overdraw the bucket. The small subtraction prevents a
    // rounding error from adding one to a whole quotient.
    const double passing = std::ceil(static_cast<double>(now - empty_at) / each - 1e-6);
    return passing >= static_cast<double>(count)
               ? count
               : std::max<int64_t>(1, static_cast<int64_t>(passing));
  }
  // Takes tokens, whether or not there are enough.
  void Charge(int64_t now, double units) {
    const double nanos = nanos_per_unit_.load(std::memory_order_relaxed);
    if (nanos == 0) return;
    const int64_t cost = Nanos(units, nanos);
    const int64_t earliest = now - window_.load(std::memory_order_relaxed);
    int64_t empty_at = empty_at_.load(std::memory_order_relaxed);
    if (empty_at >= earliest) {
      empty_at_.fetch_add(cost, std::memory_order_relaxed);
      return;
    }
    // Full: what was unused before the window is lost.
    while (!empty_at_.compare_exchange_weak(empty_at, std::max(empty_at, earliest) + cost,
                                            std::memory_order_relaxed)) {
    }
  }

 private:
  static constexpr double kMostNanos = 4e18;  // about 127 years; keeps sums inside 64 bits

  static int64_t Nanos(double units, double nanos_per_unit) {
    const double nanos = std::clamp(units * nanos_per_unit, -kMostNanos, kMostNanos);
    return static_cast<int64_t>(nanos + (nanos < 0 ? -0.5 : 0.5));
  }
  void SetConstants(double rate, double window_seconds) {
    constexpr double kLeastRate = 0.001;
    nanos_per_unit_.store(rate <= 0 ? 0 : 1e9 / std::max(rate, kLeastRate),
                          std::memory_order_relaxed);
    window_.store(static_cast<int64_t>(window_seconds * 1e9), std::memory_order_relaxed);
  }

  std::atomic<int64_t> empty_at_{0};
  std::atomic<double> nanos_per_unit_{0};
  std::atomic<int64_t> window_{0};
};

}  // namespace stator::throughput
