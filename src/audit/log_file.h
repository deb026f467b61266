// The file of an audit log: whole lines, rotated by size, with space kept for a full disk.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::audit {

// For one thread, but room().
class LogFile {
 public:
  // Space behind the last line that a file keeps, so that what must be recorded still is when
  // others have filled the disk.
  static constexpr int64_t kReserveBytes = 4 << 20;

  // Makes PATH or goes on with it; a last line that was cut off is ended. When a line would make
  // the file longer than `most_bytes`, PATH becomes PATH.1, PATH.1 becomes PATH.2 and so on, up to
  // PATH.`most_files`-1; the oldest goes. Errors, with a sentence: the file cannot be opened, is no
  // regular file, or another process writes to it.
  static Result<std::unique_ptr<LogFile>> Open(std::string path, int64_t most_bytes,
                                               int most_files);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;

  // Keeps kReserveBytes free behind `bytes` more. An error leaves what is kept as it is.
  Status MakeRoom(int64_t bytes);
  // Appends a line. An error leaves the file as it was.
  Status Append(std::string_view line);
  // Returns when what was appended is on the disk.
  Status Sync();
  // Closes the file, which may have been moved away, and opens PATH again. After an error the file
  // that was open goes on.
  Status Reopen();

  // Bytes that may be appended although the disk is full. Very large where the file system keeps
  // no space.
  int64_t room() const { return kept_end_ < 0 ? INT64_MAX : kept_end_ - size_; }
  const std::string& path() const { return path_; }

 private:
  LogFile(std::string path, int64_t most_bytes, int most_files)
      : path_(std::move(path)), most_bytes_(most_bytes), most_files_(most_files) {}
  // Opens PATH in place of the file that is open, if any.
  Status OpenPath();
  // MakeRoom for a file that goes on without it too: room() tells.
  void KeepWhatThereIs();
  Status Rotate();
  void Close();
  std::string Named(int number) const;
  Error Failure(std::string_view what) const;

  const std::string path_;
  const int64_t most_bytes_;
  const int most_files_;
  int fd_ = -1;
  int64_t size_ = 0;
  int64_t kept_end_ = 0;  // end of the space that is kept; -1: the file system cannot keep any
};

}  // namespace stator::audit
