#include "base/base64.h"

#include <array>
#include <cstdint>
#include <cstring>

namespace stator {
namespace {

constexpr char kAlphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

// Two characters for every 12 bits: half as many lookups as one character for every 6.
constexpr std::array<char, 8192> MakePairs() {
  std::array<char, 8192> pairs{};
  for (int i = 0; i < 4096; ++i) {
    pairs[2 * i] = kAlphabet[i >> 6];
    pairs[2 * i + 1] = kAlphabet[i & 63];
  }
  return pairs;
}
constexpr std::array<char, 8192> kPairs = MakePairs();

constexpr uint8_t kInvalid = 0x80;
constexpr std::array<uint8_t, 256> MakeReverse() {
  std::array<uint8_t, 256> reverse{};
  for (uint8_t& entry : reverse) entry = kInvalid;
  for (int i = 0; i < 64; ++i)
    reverse[static_cast<uint8_t>(kAlphabet[i])] = static_cast<uint8_t>(i);
  return reverse;
}
constexpr std::array<uint8_t, 256> kReverse = MakeReverse();

// The service prints this, spelling included, for every malformed base64 text of a valid length.
Error BadCharacter() {
  return Error(ErrorCode::kSerialization, "Invalid last non-pad Base64 character dectected");
}

}  // namespace

void EncodeBase64(std::string_view bytes, char* out) {
  const auto* p = reinterpret_cast<const uint8_t*>(bytes.data());
  size_t left = bytes.size();
  for (; left >= 3; p += 3, left -= 3, out += 4) {
    const uint32_t bits = (uint32_t{p[0]} << 16) | (uint32_t{p[1]} << 8) | p[2];
    std::memcpy(out, &kPairs[(bits >> 12) * 2], 2);
    std::memcpy(out + 2, &kPairs[(bits & 0xfff) * 2], 2);
  }
  if (left == 0) return;
  const uint32_t bits = (uint32_t{p[0]} << 16) | (left == 2 ? uint32_t{p[1]} << 8 : 0);
  std::memcpy(out, &kPairs[(bits >> 12) * 2], 2);
  out[2] = left == 2 ? kAlphabet[(bits >> 6) & 63] : '=';
  out[3] = '=';
}

Status DecodeBase64(std::string_view text, std::string* out) {
  if (text.size() % 4 != 0) {
    return Error(ErrorCode::kSerialization,
                 "Base64 encoded length is expected a multiple of 4 bytes but found: " +
                     std::to_string(text.size()));
  }
  if (text.empty()) return OkStatus();
  size_t padding = 0;
  if (text.back() == '=') padding = text[text.size() - 2] == '=' ? 2 : 1;

  const size_t start = out->size();
  const size_t full_groups = text.size() / 4 - (padding > 0 ? 1 : 0);
  out->resize(start + text.size() / 4 * 3 - padding);
  char* to = out->data() + start;
  const auto* p = reinterpret_cast<const uint8_t*>(text.data());
  uint8_t seen = 0;
  for (size_t i = 0; i < full_groups; ++i, p += 4, to += 3) {
    const uint8_t a = kReverse[p[0]], b = kReverse[p[1]], c = kReverse[p[2]], d = kReverse[p[3]];
    seen |= a | b | c | d;
    const uint32_t bits = (uint32_t{a} << 18) | (uint32_t{b} << 12) | (uint32_t{c} << 6) | d;
    to[0] = static_cast<char>(bits >> 16);
    to[1] = static_cast<char>(bits >> 8);
    to[2] = static_cast<char>(bits);
  }
  bool stray_bits = false;
  if (padding > 0) {
    const uint8_t a = kReverse[p[0]], b = kReverse[p[1]], c = padding == 1 ? kReverse[p[2]] : 0;
    seen |= a | b | c;
    to[0] = static_cast<char>((a << 2) | (b >> 4));
    if (padding == 1) to[1] = static_cast<char>((b << 4) | (c >> 2));
    stray_bits = padding == 1 ? (c & 3) != 0 : (b & 15) != 0;
  }
  if ((seen & kInvalid) != 0 || stray_bits) {
    out->resize(start);
    return BadCharacter();
  }
  return OkStatus();
}

}  // namespace stator
