// The sum by which two sets of items are compared.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::copy {

// Summarizes a set of items, independent of the order in which they are added: their number, their
// size, and the sum of their hashes. An item's hash is XXH3-128 of the key's length (8 bytes,
// little-endian), the key (table/key_encoding.h) and the encoded item.
struct Digest {
  int64_t items = 0;
  int64_t bytes = 0;  // of encoded items
  uint64_t low = 0;
  uint64_t high = 0;

  void Add(std::string_view key, std::string_view item);
  // Returns the hash sum as 32 hexadecimal digits.
  std::string Checksum() const;
  bool operator==(const Digest&) const = default;
};

}  // namespace stator::copy
