// Asks the processor for memory that will be read soon, without waiting for it.
#pragma once

#include <algorithm>
#include <cstddef>

namespace stator {

// For the first 2 KB of [at, at + bytes), any address: reading on, the processor goes ahead by
// itself, if only to the end of a page.
inline void Prefetch(const void* at, size_t bytes) {
  constexpr size_t kLine = 64;
  constexpr size_t kMost = 2048;
  const char* const p = static_cast<const char*>(at);
  for (size_t i = 0; i < std::min(bytes, kMost); i += kLine) __builtin_prefetch(p + i);
  // GCC 12 takes a function that only prefetches for one without effect, and leaves out calls of
  // it.
  asm volatile("");
}

}  // namespace stator
