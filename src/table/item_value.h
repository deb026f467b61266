// The value of an item (or of a catalog entry) in the store:
//
//   value := stamp format item
//   stamp := 8 bytes, filled in by the engine (kv/engine.h)
//   format := 0x01
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "kv/engine.h"

namespace stator::table {

inline constexpr char kItemFormat = 0x01;
inline constexpr size_t kItemValueHeader = kv::kStampBytes + 1;

// With room for the stamp.
inline std::string EncodeItemValue(std::string_view item) {
  std::string value;
  value.reserve(kItemValueHeader + item.size());
  value.append(kv::kStampBytes, '\0');
  value.push_back(kItemFormat);
  value.append(item);
  return value;
}

// The item in a stored value. kCorruption if it is none or of a newer format.
inline Result<std::string_view> DecodeItemValue(std::string_view value) {
  if (value.size() <= kItemValueHeader)
    return CorruptionError("a stored value is too short to be an item");
  if (value[kv::kStampBytes] != kItemFormat)
    return CorruptionError("a stored value has an unknown item format");
  return value.substr(kItemValueHeader);
}

}  // namespace stator::table
