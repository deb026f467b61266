#include "request_log/keyed_hash.h"

#include <bit>
#include <cstddef>

namespace stator::request_log {
namespace {

struct State {
  uint64_t v0, v1, v2, v3;
  void Round() {
    v0 += v1;
    v1 = std::rotl(v1, 13) ^ v0;
    v0 = std::rotl(v0, 32);
    v2 += v3;
    v3 = std::rotl(v3, 16) ^ v2;
    v0 += v3;
    v3 = std::rotl(v3, 21) ^ v0;
    v2 += v1;
    v1 = std::rotl(v1, 17) ^ v2;
    v2 = std::rotl(v2, 32);
  }
  void Word(uint64_t word) {
    v3 ^= word;
    Round();
    Round();
    v0 ^= word;
  }
};

// Little-endian, of up to eight bytes.
uint64_t WordOf(std::string_view bytes) {
  uint64_t word = 0;
  for (size_t i = 0; i < bytes.size(); ++i) {
    word |= static_cast<uint64_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return word;
}

}  // namespace

uint64_t KeyedHash(const HashSecret& secret, std::string_view bytes) {
  State s{secret[0] ^ 0x736f6d6570736575, secret[1] ^ 0x646f72616e646f6d,
          secret[0] ^ 0x6c7967656e657261, secret[1] ^ 0x7465646279746573};
  const uint64_t length = bytes.size();
  for (; bytes.size() >= 8; bytes.remove_prefix(8)) s.Word(WordOf(bytes.substr(0, 8)));
  s.Word(WordOf(bytes) | length << 56);
  s.v2 ^= 0xff;
  for (int i = 0; i < 4; ++i) s.Round();
  return s.v0 ^ s.v1 ^ s.v2 ^ s.v3;
}

}  // namespace stator::request_log
