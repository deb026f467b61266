// Bytes that values take on the heap, for accounts of memory.
#pragma once

#include <cstddef>
#include <string>

namespace stator {

// Returns the bytes that a string keeps beside itself; 0 for a short one.
inline size_t HeapBytes(const std::string& text) {
  static const size_t kInside = std::string().capacity();
  return text.capacity() > kInside ? text.capacity() + 1 : 0;
}

}  // namespace stator
