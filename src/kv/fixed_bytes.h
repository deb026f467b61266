// Integers of fixed width in keys (big-endian, so that they sort) and values (little-endian).
#pragma once

#include <cstdint>
#include <cstring>

namespace stator::kv {

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__);

inline uint64_t LoadLittle64(const char* from) {
  uint64_t value;
  std::memcpy(&value, from, sizeof value);
  return value;
}
inline void StoreLittle64(char* to, uint64_t value) { std::memcpy(to, &value, sizeof value); }

inline void StoreBig64(char* to, uint64_t value) {
  value = __builtin_bswap64(value);
  std::memcpy(to, &value, sizeof value);
}
inline uint64_t LoadBig64(const char* from) { return __builtin_bswap64(LoadLittle64(from)); }
inline void StoreBig32(char* to, uint32_t value) {
  value = __builtin_bswap32(value);
  std::memcpy(to, &value, sizeof value);
}

inline uint32_t LoadBig32(const char* from) {
  uint32_t value;
  std::memcpy(&value, from, sizeof value);
  return __builtin_bswap32(value);
}

}  // namespace stator::kv
