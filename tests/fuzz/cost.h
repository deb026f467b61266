// Judges what one input costs: CPU time and allocated bytes, against a bound that is linear in the
// input's size. A run that is over its bound is repeated, so that a busy machine condemns nothing.
#pragma once

#include <sanitizer/allocator_interface.h>
#include <time.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

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

// Runs `run`, which must do the same each time, on an input of `size` bytes, and aborts if each of
// three runs is over the bound.
template <typename Run>
void JudgeCost(const char* what, size_t size, const CostBound& bound, Run run) {
  CountAllocations();
  const uint64_t most_nanos = bound.nanos_per_byte * size + bound.nanos;
  const uint64_t most_bytes = bound.bytes_per_byte * size + bound.bytes;
  uint64_t nanos = UINT64_MAX;
  uint64_t bytes = UINT64_MAX;
  for (int i = 0; i < 3; ++i) {
    const uint64_t bytes_before = allocated_bytes;
    const uint64_t nanos_before = ThreadNanos();
    run();
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

}  // namespace stator::fuzz
