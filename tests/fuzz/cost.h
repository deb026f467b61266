// Judges what one input costs: CPU time of the thread and allocated bytes, against a bound that is
// linear in the input's size. A run that is over its bound is repeated with pauses, and the best
// run counts: on a busy machine, above all a virtual one, the same work may take several times as
// long for a while.
#pragma once

#include <sanitizer/allocator_interface.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

// libFuzzer's own mutations.
extern "C" size_t LLVMFuzzerMutate(uint8_t* data, size_t size, size_t max_size);

namespace stator::fuzz {

// At most nanos_per_byte * n + nanos, and bytes_per_byte * n + bytes, for an input of n bytes.
// Constants are ten times what the corpus costs, or more.
struct CostBound {
  uint64_t nanos_per_byte = 0;
  uint64_t nanos = 0;
  uint64_t bytes_per_byte = 0;
  uint64_t bytes = 0;
};

inline thread_local uint64_t allocated_bytes = 0;

inline void CountAllocations() {
  static const int installed = __sanitizer_install_malloc_and_free_hooks(
      [](const volatile void*, size_t size) { allocated_bytes += size; },
      [](const volatile void*) {});
  if (installed == 0) std::abort();
}

inline uint64_t ThreadNanos() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(now.tv_nsec);
}

// The judge is tested by planted faults (./dev fuzz-judge): with STATOR_FUZZ_PLANT=pairs each pair
// of bytes costs about 10 ns, and with STATOR_FUZZ_PLANT=copies each byte a copy of those before
// it.
enum class Plant { kNone, kPairs, kCopies };
inline Plant Planted() {
  static const Plant plant = [] {
    const char* name = std::getenv("STATOR_FUZZ_PLANT");
    if (name == nullptr) return Plant::kNone;
    if (std::strcmp(name, "pairs") == 0) return Plant::kPairs;
    if (std::strcmp(name, "copies") == 0) return Plant::kCopies;
    std::abort();
  }();
  return plant;
}

inline void RunPlanted(size_t size) {
  if (Planted() == Plant::kNone) return;
  volatile uint64_t work = 0;
  for (size_t i = 0; i < size; ++i) {
    if (Planted() == Plant::kCopies) {
      std::vector<char> copy(16 * i);
      work = work + copy.size();
    } else {
      for (size_t j = 0; j < 8 * i; ++j) work = work + j;
    }
  }
}

// How often an input is run before it is guilty, and for how long the judge waits before the n-th
// repetition (n times this).
constexpr int kRuns = 8;
constexpr long kPauseNanos = 10'000'000;

// Runs `run`, which must do the same each time, on an input of `size` bytes, and aborts if each of
// kRuns runs is over the bound. `planted_size`: what a planted fault is quadratic in.
template <typename Run>
void JudgeCost(const char* what, size_t size, const CostBound& bound, Run run,
               size_t planted_size) {
  CountAllocations();
  const uint64_t most_nanos = bound.nanos_per_byte * size + bound.nanos;
  const uint64_t most_bytes = bound.bytes_per_byte * size + bound.bytes;
  uint64_t nanos = UINT64_MAX;
  uint64_t bytes = UINT64_MAX;
  for (int i = 0; i < kRuns; ++i) {
    // No machine is that busy, and libFuzzer has a time limit of its own.
    if (i == 3 && nanos > 16 * most_nanos) break;
    const timespec pause{0, i * kPauseNanos};
    if (i > 0) nanosleep(&pause, nullptr);
    const uint64_t bytes_before = allocated_bytes;
    const uint64_t nanos_before = ThreadNanos();
    run();
    RunPlanted(planted_size);
    nanos = std::min(nanos, ThreadNanos() - nanos_before);
    bytes = std::min(bytes, allocated_bytes - bytes_before);
    if (nanos <= most_nanos && bytes <= most_bytes) return;
  }
  std::fprintf(stderr,
               "%s: an input of %zu bytes cost %llu us (bound %llu) and allocated %llu bytes "
               "(bound %llu)\n",
               what, size, static_cast<unsigned long long>(nanos / 1000),
               static_cast<unsigned long long>(most_nanos / 1000),
               static_cast<unsigned long long>(bytes), static_cast<unsigned long long>(most_bytes));
  std::abort();
}

// A custom mutator: the usual one, and in one of 256 mutations some bytes of the input are repeated
// until it has up to `max_size`, for what is quadratic shows in long inputs, which hardly come up
// otherwise.
inline size_t MutateOrStretch(uint8_t* data, size_t size, size_t max_size, unsigned seed) {
  std::minstd_rand random(seed);
  const auto below = [&random](size_t bound) { return bound == 0 ? 0 : random() % bound; };
  if (size == 0 || below(256) != 0) return LLVMFuzzerMutate(data, size, max_size);
  const size_t begin = below(size);
  const size_t length = 1 + below(std::min<size_t>(size - begin, 32));
  const size_t wanted = size + below(max_size - size + 1);
  const size_t times = (wanted - size) / length;
  // The bytes behind the repeated ones stay behind them.
  std::memmove(data + begin + length * (times + 1), data + begin + length, size - begin - length);
  for (size_t i = 1; i <= times; ++i) std::memcpy(data + begin + i * length, data + begin, length);
  return size + times * length;
}

}  // namespace stator::fuzz
