// Objects that are files: what directories of backups and of exported tables have in common.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "transfer/folders.h"

namespace stator::transfer {

// A descriptor that is closed with its owner; below 0: none.
class FileHandle {
 public:
  explicit FileHandle(int fd) : fd_(fd) {}
  FileHandle(FileHandle&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileHandle(const FileHandle&) = delete;
  FileHandle& operator=(const FileHandle&) = delete;
  FileHandle& operator=(FileHandle&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileHandle();
  int fd() const { return fd_; }

 private:
  int fd_;
};

// Returns kUnavailable, "Cannot WHAT PATH: ...", for a value of errno.
Error FileError(std::string_view what, const std::string& path, int error);
// Makes the names in a directory durable.
Status SyncDirectory(const std::string& path);

// The disk space that a writer leaves free, and the words for the error if there is less: what the
// space is not for, and the option that moves the files elsewhere.
struct LeastFree {
  uint64_t bytes = 0;
  std::string_view not_for;  // a literal: "backups"
  std::string_view option;   // a literal: "--backup-dir"
};
// Writes a new file. `path` is for messages.
std::unique_ptr<ObjectWriter> MakeFileWriter(FileHandle file, std::string path, LeastFree least);
// Reads a file.
Result<std::unique_ptr<ObjectReader>> MakeFileReader(FileHandle file, std::string path);

}  // namespace stator::transfer
