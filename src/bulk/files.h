// Files that survive a crash of the process or the machine.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "transfer/folders.h"

namespace stator::bulk {

// Replaces the file, whole: a crash leaves the old text or the new one. Errors name the file.
Status ReplaceFile(const std::string& path, std::string_view text);
// Returns the text of a small file; nothing if there is no such file.
Result<std::optional<std::string>> ReadSmallFile(const std::string& path);
// Removes the file, if there is one.
Status RemoveFile(const std::string& path);

// A file that grows at its end. Not thread-safe.
class AppendedFile {
 public:
  // Opens or makes the file and cuts it to `bytes`, what an earlier run has made durable.
  // kCorruption if it is shorter. kUnavailable, which names the file, if the file cannot be opened
  // or another process is writing to it.
  static Result<std::unique_ptr<AppendedFile>> Open(const std::string& path, uint64_t bytes);
  ~AppendedFile();
  AppendedFile(const AppendedFile&) = delete;
  AppendedFile& operator=(const AppendedFile&) = delete;

  // Appends, and makes all durable. An error, which names the file, leaves it as it was.
  Status Append(std::string_view text);
  uint64_t bytes() const { return bytes_; }
  const std::string& path() const { return path_; }

 private:
  AppendedFile(std::string path, int fd, uint64_t bytes)
      : path_(std::move(path)), fd_(fd), bytes_(bytes) {}

  const std::string path_;
  const int fd_;
  uint64_t bytes_;
  bool broken_ = false;
};

// A file that is read, and how much of it was read so far.
class InputFile final : public transfer::ObjectReader {
 public:
  // kUnavailable if it cannot be read.
  static Result<std::unique_ptr<InputFile>> Open(const std::string& path);
  ~InputFile() override;
  uint64_t size() const override { return size_; }
  Status Read(uint64_t offset, size_t bytes, std::string* out) override;
  int64_t changed_micros() const { return changed_micros_; }
  // Adds the bytes of each Read to *sum, which must outlive the object.
  void CountInto(std::atomic<int64_t>* sum) { sum_ = sum; }

 private:
  InputFile(std::string path, int fd) : path_(std::move(path)), fd_(fd) {}

  const std::string path_;
  const int fd_;
  uint64_t size_ = 0;
  int64_t changed_micros_ = 0;
  std::atomic<int64_t>* sum_ = nullptr;
};

}  // namespace stator::bulk
