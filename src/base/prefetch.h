// Asks the processor to load memory that will be read soon, without waiting for it.
#pragma once

#include <algorithm>
#include <cstddef>

namespace stator {

// Prefetches the first 2 KB of [at, at + bytes); any address is allowed. For later bytes the
// hardware prefetcher takes over, up to the end of a page.
inline void Prefetch(const void* at, size_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kMost = 2048;
  const char* const p = static_cast<const char*>(at);
  for (size_t i = 0; i < std::min(bytes, kMost); i += kLine) __builtin_prefetch(p + i);
  // Without this, GCC 12 treats a function that only prefetches as one without effect and removes
  // the calls.
  asm volatile("");
}

}  // namespace stator
