// Numbers in bytes that are stored: seven bits a byte, the lowest first, and a check at the end.
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/compress.h"

namespace stator::throughput {

inline void AppendNumber(std::string* out, uint64_t value) {
  for (; value >= 0x80; value >>= 7) out->push_back(static_cast<char>(value | 0x80));
  out->push_back(static_cast<char>(value));
}
// Negative ones as 0.
inline void AppendNumber(std::string* out, int64_t value) {
  AppendNumber(out, static_cast<uint64_t>(std::max<int64_t>(0, value)));
}
inline void AppendText(std::string* out, std::string_view text) {
  AppendNumber(out, uint64_t{text.size()});
  *out += text;
}
inline void AppendReal(std::string* out, double value) {
  const uint64_t bits = std::bit_cast<uint64_t>(value);
  for (int shift = 0; shift < 64; shift += 8) out->push_back(static_cast<char>(bits >> shift));
}

inline constexpr size_t kCheckBytes = 4;
// The check of all that is there.
inline void AppendCheck(std::string* out) {
  const uint32_t crc = Crc32(*out);
  for (int shift = 0; shift < 32; shift += 8) out->push_back(static_cast<char>(crc >> shift));
}
// What is before the check; nullopt if that does not agree.
inline std::optional<std::string_view> WithoutCheck(std::string_view bytes) {
  if (bytes.size() < kCheckBytes) return std::nullopt;
  const std::string_view body = bytes.substr(0, bytes.size() - kCheckBytes);
  std::string expected(body);
  AppendCheck(&expected);
  if (expected != bytes) return std::nullopt;
  return body;
}

// Reads until the first thing that cannot be; then ok() is false and all numbers are 0.
class NumberReader {
 public:
  explicit NumberReader(std::string_view in) : in_(in) {}

  uint64_t Number(uint64_t most = UINT64_MAX) {
    uint64_t value = 0;
    for (int shift = 0; ok_ && shift < 64; shift += 7) {
      if (in_.empty()) break;
      const uint8_t byte = static_cast<uint8_t>(in_.front());
      in_.remove_prefix(1);
      if (shift == 63 && byte > 1) break;
      value |= static_cast<uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) {
        ok_ = value <= most;
        return ok_ ? value : 0;
      }
    }
    ok_ = false;
    return 0;
  }
  int64_t Whole(uint64_t most = INT64_MAX) { return static_cast<int64_t>(Number(most)); }
  double Real() {
    if (!ok_ || in_.size() < 8) {
      ok_ = false;
      return 0;
    }
    uint64_t bits = 0;
    for (int i = 0; i < 8; ++i)
      bits |= uint64_t{static_cast<uint8_t>(in_[static_cast<size_t>(i)])} << (8 * i);
    in_.remove_prefix(8);
    return std::bit_cast<double>(bits);
  }
  std::string Text(size_t most) {
    const size_t length = Number(most);
    if (!ok_ || in_.size() < length) {
      ok_ = false;
      return {};
    }
    std::string text(in_.substr(0, length));
    in_.remove_prefix(length);
    return text;
  }
  void Require(bool holds) { ok_ = ok_ && holds; }
  bool ok() const { return ok_; }
  bool AtEnd() const { return ok_ && in_.empty(); }

 private:
  std::string_view in_;
  bool ok_ = true;
};

}  // namespace stator::throughput
