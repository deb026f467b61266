// Encryption at rest: each file has a random data key, which a master key wraps in its header.
//
//   file       := header ciphertext
//   header     := "STATENC1" key-id:16 nonce:12 sealed:48 tag:16 zero*      4096 bytes in all
//   sealed     := AES-256-GCM of data-key:32 counter:16 under the wrapping key; `nonce` is its
//                 nonce, `tag` its tag, and all other bytes of the header are authenticated
//   ciphertext := AES-256-CTR under the data key; its first block has the number `counter`
//
// The key-id and the wrapping key are HKDF-SHA256 of the master key, each with a label of its own,
// so that a master key may serve other purposes too. A header is renewed in place: what changes
// stands in its first 512 bytes, which a disk writes whole or not at all.
#pragma once

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "access/crypto.h"
#include "base/result.h"

namespace stator::crypt {

// A page, so that pages and sectors of the content are those of the file.
inline constexpr size_t kHeaderBytes = 4096;
inline constexpr size_t kMasterKeyBytes = 32;

// The key of one file's content. Wiped when it goes.
struct DataKey {
  DataKey() = default;
  DataKey(const DataKey&) = default;
  DataKey& operator=(const DataKey&) = default;
  ~DataKey();

  std::array<char, 32> key{};
  std::array<char, 16> counter{};
};

// The form of a file by its beginning.
enum class Form {
  kEmpty,  // the header was never written, not whole, or did not reach the disk: no content
  kPlain,
  kEncrypted,
};
// Returns the form of a file from its first kHeaderBytes, or from all its bytes if it is shorter.
Form FormOf(std::string_view beginning);

// The master keys. Immutable; thread-safe.
class FileKeys {
 public:
  // Each key has kMasterKeyBytes bytes; the first one wraps, the others open what they wrapped
  // before. Keys and nonces come from `random`, which must outlive the object. kValidation for keys
  // of another length, and for none.
  static Result<std::shared_ptr<const FileKeys>> Make(const std::vector<std::string>& master_keys,
                                                      access::SecureRandom& random);
  // Likewise, with random bytes of the operating system.
  static Result<std::shared_ptr<const FileKeys>> Make(const std::vector<std::string>& master_keys);

  // Draws a data key and writes the header of its file.
  DataKey NewFile(std::string* header) const;
  // Returns the data key of a header. kValidation if none of the keys wrapped it: the message names
  // the key that did. kCorruption if any byte of the header is not as it was written. Messages
  // begin with `file`.
  Result<DataKey> Open(std::string_view header, std::string_view file) const;
  // Returns the header with its data key wrapped by the first key; nullopt if it is that already.
  // Errors as of Open.
  Result<std::optional<std::string>> Renew(std::string_view header, std::string_view file) const;

  // The id of the first key, as 32 hex digits.
  std::string key_id() const;

 private:
  struct Key {
    std::string id;
    std::string wrapping;
  };
  explicit FileKeys(access::SecureRandom& random) : random_(random) {}
  void Seal(const DataKey& data, std::string* header) const;

  access::SecureRandom& random_;
  std::vector<Key> keys_;
};

}  // namespace stator::crypt
