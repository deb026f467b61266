#include "throughput/key_hash.h"

#include <xxhash.h>

#include <string>

namespace stator::throughput {

uint64_t HashOfStringKey(std::string_view text) {
  std::string component;
  component.reserve(text.size() + 2);
  for (const char c : text) {
    component.push_back(c);
    if (c == '\0') component.push_back('\xff');
  }
  component.append("\0\x01", 2);
  return XXH3_128bits(component.data(), component.size()).high64;
}

}  // namespace stator::throughput
