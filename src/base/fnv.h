// FNV-1a of 64 bits: a short hash that is the same on every machine and in every version, so that
// it may be stored and compared between processes. It does not withstand chosen input.
#pragma once

#include <cstdint>
#include <string_view>

namespace stator {

inline constexpr uint64_t kFnvBasis = 0xcbf29ce484222325;

// `hash`: that of the bytes before, to go on with.
constexpr uint64_t Fnv1a(std::string_view bytes, uint64_t hash = kFnvBasis) {
  for (const char byte : bytes) hash = (hash ^ static_cast<uint8_t>(byte)) * 0x100000001b3;
  return hash;
}

}  // namespace stator
