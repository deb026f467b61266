// The source of randomness. A seeded source makes a run repeatable; SystemSeed returns a random
// seed.
#pragma once

#include <atomic>
#include <cstdint>

namespace stator {

// Thread-safe.
class Random {
 public:
  virtual ~Random() = default;
  // Returns 64 uniformly distributed bits.
  virtual uint64_t Next() = 0;
  // Returns a uniform number in [0, bound); 0 if bound is 0.
  uint64_t Below(uint64_t bound) { return bound == 0 ? 0 : Next() % bound; }
  // Returns a uniform number in [0, 1).
  double Unit() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }
};

// SplitMix64 over an atomic counter: lock-free and repeatable from its seed.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(uint64_t seed) : state_(seed) {}
  uint64_t Next() override {
    uint64_t z =
        state_.fetch_add(0x9e3779b97f4a7c15, std::memory_order_relaxed) + 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::atomic<uint64_t> state_;
};

// Returns a seed from the operating system.
uint64_t SystemSeed();

}  // namespace stator
