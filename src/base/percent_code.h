// Hex digits and the percent-encoding of URIs.
#pragma once

#include <string>
#include <string_view>

namespace stator {

// Returns the value of a hex digit of either case; -1 for other characters.
constexpr int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

// The meaning of '+': itself in URIs, a space in forms.
enum class PlusSign { kPlus, kSpace };

// Returns `text` with each "%XX" replaced by its byte. A '%' without two hex digits stays.
inline std::string PercentDecode(std::string_view text, PlusSign plus) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && text.size() - i > 2 && HexDigit(text[i + 1]) >= 0 &&
        HexDigit(text[i + 2]) >= 0) {
      out.push_back(static_cast<char>(HexDigit(text[i + 1]) * 16 + HexDigit(text[i + 2])));
      i += 2;
    } else {
      out.push_back(text[i] == '+' && plus == PlusSign::kSpace ? ' ' : text[i]);
    }
  }
  return out;
}

}  // namespace stator
