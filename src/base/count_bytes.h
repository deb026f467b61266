// Counts bytes of a kind, sixteen at a time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace stator {

// Returns the number of bytes for which `matches` holds. `matches` compares its argument with
// uint8_t constants and joins comparisons by | and &; it is called with one byte, and with a vector
// of sixteen.
template <typename Matches>
size_t CountBytes(std::string_view bytes, Matches matches) {
  using Vector = uint8_t __attribute__((vector_size(16)));
  size_t count = 0;
  const char* at = bytes.data();
  size_t left = bytes.size();
  while (left >= sizeof(Vector)) {
    // A lane counts to 255.
    const size_t rounds = std::min<size_t>(left / sizeof(Vector), 255);
    Vector lanes{};
    for (size_t i = 0; i < rounds; ++i, at += sizeof(Vector)) {
      Vector some;
      std::memcpy(&some, at, sizeof(some));
      lanes -= reinterpret_cast<Vector>(matches(some));  // a lane that matches is -1
    }
    for (size_t lane = 0; lane < sizeof(Vector); ++lane) count += lanes[lane];
    left -= rounds * sizeof(Vector);
  }
  for (; left > 0; --left, ++at) count += matches(static_cast<uint8_t>(*at)) ? 1 : 0;
  return count;
}

}  // namespace stator
