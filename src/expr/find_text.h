// Search for one run of bytes in another, in time that is linear in both.
#pragma once

#include <cstring>
#include <string_view>

namespace stator::expr {

// Returns whether `part` occurs in `whole`. std::string_view::find takes the product of both sizes
// for "aaa...a" and "aa...ab"; glibc's memmem does not. It costs a table of 2 KB per call, so small
// products go to find.
inline bool HasPart(std::string_view whole, std::string_view part) {
  constexpr size_t kSmallProduct = 16384;
  if (part.size() > whole.size()) return false;
  if (whole.size() * part.size() <= kSmallProduct || part.size() < 2)
    return whole.find(part) != std::string_view::npos;
  return memmem(whole.data(), whole.size(), part.data(), part.size()) != nullptr;
}

}  // namespace stator::expr
