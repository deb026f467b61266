// AES-256-CTR at any place of a file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "crypt/file_keys.h"

namespace stator::crypt {

// Thread-safe. Calls that go on where an earlier one ended cost least.
class FileCipher {
 public:
  explicit FileCipher(const DataKey& key);
  ~FileCipher();
  FileCipher(const FileCipher&) = delete;
  FileCipher& operator=(const FileCipher&) = delete;

  // Encrypts or decrypts, which is the same, `size` bytes that stand at `offset` of the content.
  // `in` and `out` are the same, or do not overlap. Different texts must never be encrypted at one
  // offset: their difference would show.
  void Apply(uint64_t offset, const char* in, size_t size, char* out) const;

 private:
  class Context;
  std::unique_ptr<Context> Take(uint64_t offset) const;

  DataKey key_;
  mutable Mutex mutex_;
  mutable std::vector<std::unique_ptr<Context>> idle_ GUARDED_BY(mutex_);
};

}  // namespace stator::crypt
