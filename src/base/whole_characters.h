// Cuts UTF-8 between characters.
#pragma once

#include <cstddef>
#include <string_view>

namespace stator {

// Returns the longest beginning of `text` that has at most `bytes` and ends with a whole character.
inline std::string_view Beginning(std::string_view text, size_t bytes) {
  if (text.size() <= bytes) return text;
  while (bytes > 0 && (static_cast<unsigned char>(text[bytes]) & 0xc0) == 0x80) --bytes;
  return text.substr(0, bytes);
}

}  // namespace stator
