#include "copy/digest.h"

#include <fmt/format.h>
#include <xxhash.h>

namespace stator::copy {

void Digest::Add(std::string_view key, std::string_view item) {
  std::string text;
  text.reserve(8 + key.size() + item.size());
  for (int shift = 0; shift < 64; shift += 8)
    text.push_back(static_cast<char>(uint64_t{key.size()} >> shift));
  text.append(key).append(item);
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  ++items;
  bytes += static_cast<int64_t>(item.size());
  low += hash.low64;
  high += hash.high64;
}

std::string Digest::Checksum() const { return fmt::format("{:016x}{:016x}", high, low); }

}  // namespace stator::copy
