#include "base/printable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>

namespace stator {
namespace {

bool IsPlainAscii(char c) { return c >= 0x20 && c < 0x7f; }

struct Character {
  uint32_t code = 0;
  size_t bytes = 0;  // 0: not UTF-8
};

// The character at the front of the text, which is not empty.
Character Decode(std::string_view text) {
  const auto byte = [text](size_t i) { return static_cast<uint8_t>(text[i]); };
  const uint8_t first = byte(0);
  if (first < 0x80) return {first, 1};
  const size_t bytes = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < bytes) return {};
  uint32_t code = first & (0xffu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return {};
    code = code << 6 | (byte(i) & 0x3fu);
  }
  static constexpr uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  if (code < kLeast[bytes] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return {};
  return {code, bytes};
}

bool IsHidden(uint32_t code) {
  return code < 0x20 || (code >= 0x7f && code < 0xa0) || code == 0x61c || code == 0x200e ||
         code == 0x200f || (code >= 0x2028 && code <= 0x202e) || (code >= 0x2066 && code <= 0x2069);
}

void AppendEscape(std::string* out, uint32_t code) {
  switch (code) {
    case '\n': out->append("\\n"); return;
    case '\r': out->append("\\r"); return;
    case '\t': out->append("\\t"); return;
    default:
      out->append(code < 0x80 ? fmt::format("\\x{:02x}", code) : fmt::format("\\u{:04x}", code));
  }
}

}  // namespace

bool IsPrintable(std::string_view text) {
  if (std::all_of(text.begin(), text.end(), IsPlainAscii)) return true;
  while (!text.empty()) {
    const Character next = Decode(text);
    if (next.bytes == 0 || IsHidden(next.code)) return false;
    text.remove_prefix(next.bytes);
  }
  return true;
}

void AppendPrintable(std::string* out, std::string_view text) {
  while (!text.empty()) {
    const Character next = Decode(text);
    if (next.bytes == 0) {
      out->append(fmt::format("\\x{:02x}", static_cast<uint8_t>(text.front())));
      text.remove_prefix(1);
      continue;
    }
    if (IsHidden(next.code)) {
      AppendEscape(out, next.code);
    } else {
      out->append(text.substr(0, next.bytes));
    }
    text.remove_prefix(next.bytes);
  }
}

std::string Printable(std::string_view text) {
  std::string out;
  AppendPrintable(&out, text);
  return out;
}

std::string PrintableLines(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    AppendPrintable(&out, text.substr(0, end));
    if (end < text.size()) out.push_back('\n');
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

}  // namespace stator
