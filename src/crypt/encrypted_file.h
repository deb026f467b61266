// Files on this machine, plain or encrypted, read from the side.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/result.h"
#include "crypt/file_cipher.h"
#include "crypt/file_keys.h"

namespace stator::crypt {

// Reads the content of a file. Not thread-safe.
class FileReader {
 public:
  // Opens a file that is encrypted, or, if `keys` is null, a plain one. A file without a whole
  // header has no content. kUnavailable, with a sentence, if it cannot be read; errors of
  // FileKeys::Open.
  static Result<FileReader> Open(const std::string& path, const FileKeys* keys);
  FileReader(FileReader&& other) noexcept;
  ~FileReader();

  // The bytes of the content. A file may grow later.
  uint64_t size() const { return size_; }
  // The bytes in front of the content.
  uint64_t header_bytes() const { return header_bytes_; }
  // Reads up to `bytes` bytes at `offset` of the content into *out: fewer only at its end. `raw`
  // unless null gets the bytes as they stand in the file.
  Status Read(uint64_t offset, size_t bytes, std::string* out, std::string* raw = nullptr) const;

 private:
  FileReader() = default;
  std::string path_;
  int fd_ = -1;
  uint64_t size_ = 0;
  uint64_t header_bytes_ = 0;
  std::unique_ptr<FileCipher> cipher_;  // null: plain
};

// Returns the first kHeaderBytes of the file, or all of a shorter one. kUnavailable if it cannot be
// read.
Result<std::string> ReadBeginning(const std::string& path);

// Writes the header of a file anew, in place, if it names another key than the first one. Returns
// whether it did; the change is not synced. kUnavailable if the file cannot be written; errors of
// FileKeys::Open. Files that are plain or empty are left alone.
Result<bool> RenewHeader(const std::string& path, const FileKeys& keys);

}  // namespace stator::crypt
