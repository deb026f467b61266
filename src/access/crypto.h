// SHA-256, HMAC-SHA256, AES-256-GCM and random bytes, on OpenSSL. Algorithms are fetched once per
// process and contexts are kept per thread: in OpenSSL 3.0 a fetch takes a lock and costs more than
// the hash of a short text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/unique_function.h"

namespace stator::access {

using Digest = std::array<uint8_t, 32>;

inline std::string_view AsText(const Digest& digest) {
  return {reinterpret_cast<const char*>(digest.data()), digest.size()};
}

Digest Sha256(std::string_view bytes);
// HMAC of `message`. Keys longer than 64 bytes are hashed first, as RFC 2104 says.
Digest HmacSha256(std::string_view key, std::string_view message);
// HMAC of a message in pieces: `visit` hands each to its argument, and calls nothing else here.
Digest HmacSha256OfPieces(std::string_view key,
                          FunctionRef<void(FunctionRef<void(std::string_view piece)>)> visit);

// Appends lower-case hex digits.
void AppendHex(std::string_view bytes, std::string* out);
std::string Hex(std::string_view bytes);
// Writes 64 lower-case hex digits.
void WriteHex(const Digest& digest, char* out);
// Appends the bytes of an even number of hex digits of either case; false, and `out` unchanged,
// for other text.
bool ParseHex(std::string_view text, std::string* out);

// Compares in time that depends on the lengths only.
bool EqualInConstantTime(std::string_view a, std::string_view b);

inline constexpr size_t kGcmNonceBytes = 12;
inline constexpr size_t kGcmTagBytes = 16;
// Appends the ciphertext of `plain` and its tag. `key` has 32 bytes, `nonce` kGcmNonceBytes; a pair
// of both must never be used for two texts. `associated` is authenticated and not stored.
void EncryptGcm(std::string_view key, std::string_view nonce, std::string_view associated,
                std::string_view plain, std::string* out);
// Appends the plain text of what EncryptGcm appended. False, and `out` unchanged, if the key, the
// nonce, the associated bytes or the text are not those of the encryption.
[[nodiscard]] bool DecryptGcm(std::string_view key, std::string_view nonce,
                              std::string_view associated, std::string_view sealed,
                              std::string* out);

// Random bytes for keys, nonces and identifiers. Thread-safe.
class SecureRandom {
 public:
  virtual ~SecureRandom() = default;
  // Overwrites `size` bytes at `out`.
  virtual void Fill(void* out, size_t size) = 0;

  std::string Bytes(size_t size);
  // Returns a uniform number below `bound`, which is at least 1.
  uint32_t Below(uint32_t bound);
};

// The operating system's random generator. If it fails, it ends the process, because a predictable
// secret would be worse.
class SystemSecureRandom final : public SecureRandom {
 public:
  void Fill(void* out, size_t size) override;
};

}  // namespace stator::access
