// Secrets at rest and in session tokens: AES-256-GCM under a master key.
//
//   sealed = 01 key-id [8] nonce [12] ciphertext tag [16]
//
// `key-id` is the beginning of the SHA-256 of "stator master key" and the key, so that a wrong key
// is told from damage.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "base/result.h"

namespace stator::access {

// The master key in use and those before it. Immutable; thread-safe.
class Keyring {
 public:
  // Each key has 32 bytes; the first one seals. kValidation for keys of another length.
  static Result<Keyring> FromKeys(std::vector<std::string> keys);
  // Reads a key as 64 hex digits or as base64 of 32 bytes, with white space around it.
  static Result<std::string> ParseKey(std::string_view text);

  // Returns the sealed form of `plain`. `purpose` (SecretPurpose of a key, for example) binds it to
  // its place: Unseal needs the same, so that sealed texts cannot be swapped.
  std::string Seal(std::string_view plain, std::string_view purpose, SecureRandom* random) const;
  // Returns the plain text. kValidation, naming the key's id, if no key of the ring sealed it;
  // kCorruption if the bytes or the purpose are not those that were sealed.
  Result<std::string> Unseal(std::string_view sealed, std::string_view purpose) const;
  // Returns true if `sealed` was sealed with a key that is not the first one any more, and should
  // be sealed again.
  bool IsOutdated(std::string_view sealed) const;

  // Returns the id of the sealing key as 16 hexadecimal digits.
  std::string key_id() const { return Hex(keys_.front().id); }

 private:
  struct Key {
    std::string id;
    std::string bytes;
  };
  std::vector<Key> keys_;
};

}  // namespace stator::access
