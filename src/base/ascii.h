// Letters and blanks of ASCII, whatever the locale, for the words of protocols and files.
#pragma once

#include <strings.h>

#include <algorithm>
#include <string>
#include <string_view>

namespace stator {

constexpr char LowerAscii(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; }

inline std::string LowerAscii(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = LowerAscii(c);
  return lower;
}

// True if both are equal but for the case of ASCII letters. By the C library, which compares many
// bytes at a time: each header of a request is looked for in this way. No part of Stator sets a
// locale.
inline bool EqualsIgnoringCase(std::string_view a, std::string_view b) {
  return a.size() == b.size() && ::strncasecmp(a.data(), b.data(), a.size()) == 0;
}

// True if `text` in lower case is `lower`.
constexpr bool EqualsLower(std::string_view text, std::string_view lower) {
  return std::equal(text.begin(), text.end(), lower.begin(), lower.end(),
                    [](char x, char y) { return LowerAscii(x) == y; });
}

// Returns `text` without the characters of `blanks` at both ends.
constexpr std::string_view Trim(std::string_view text, std::string_view blanks) {
  const auto is_blank = [blanks](char c) {
    for (const char blank : blanks) {
      if (c == blank) return true;
    }
    return false;
  };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

}  // namespace stator
