#include "audit/log_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <utility>

namespace stator::audit {

Result<std::unique_ptr<LogFile>> LogFile::Open(std::string path, int64_t most_bytes,
                                               int most_files) {
  std::unique_ptr<LogFile> file(new LogFile(std::move(path), most_bytes, most_files));
  TRY(file->OpenPath());
  file->KeepWhatThereIs();
  return file;
}

LogFile::~LogFile() { Close(); }

Error LogFile::Failure(std::string_view what) const {
  const int error = errno;
  return Error(ErrorCode::kUnavailable,
               fmt::format("{} {}: {}", path_, what, std::strerror(error)));
}

void LogFile::Close() {
  if (fd_ < 0) return;
  // Gives the space that is kept behind the last line back.
  if (ftruncate(fd_, size_) != 0) errno = 0;
  close(fd_);
  fd_ = -1;
}

Status LogFile::OpenPath() {
  // O_NONBLOCK: a pipe without a reader is refused, not waited for.
  const int fd = open(path_.c_str(), O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK, 0600);
  if (fd < 0) return Failure("cannot be opened");
  const auto refuse = [fd](Error error) {
    close(fd);
    return Status(std::move(error));
  };
  struct stat status = {};
  if (fstat(fd, &status) != 0) return refuse(Failure("cannot be read"));
  if (!S_ISREG(status.st_mode)) return refuse(ValidationError(path_ + " is no regular file"));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
    return refuse(Error(ErrorCode::kUnavailable, path_ + " is being written by another process"));
  }
  int64_t size = status.st_size;
  char last = '\n';
  if (size > 0 && pread(fd, &last, 1, size - 1) != 1) return refuse(Failure("cannot be read"));
  if (last != '\n') {
    if (write(fd, "\n", 1) != 1) return refuse(Failure("cannot be written"));
    ++size;
  }
  Close();
  fd_ = fd;
  size_ = size;
  kept_end_ = size;
  return OkStatus();
}

void LogFile::KeepWhatThereIs() {
  if (const Status kept = MakeRoom(0); !kept.ok()) errno = 0;
}

Status LogFile::MakeRoom(int64_t bytes) {
  if (kept_end_ < 0 || room() >= bytes + kReserveBytes) return OkStatus();
  // More than asked for: the next lines need no call.
  const int64_t end = size_ + bytes + kReserveBytes + kReserveBytes / 4;
  if (fallocate(fd_, FALLOC_FL_KEEP_SIZE, size_, end - size_) == 0) {
    kept_end_ = end;
    return OkStatus();
  }
  if (errno == EOPNOTSUPP || errno == ENOSYS) {
    kept_end_ = -1;
    return OkStatus();
  }
  return Failure("has no space left to grow");
}

Status LogFile::Append(std::string_view line) {
  if (size_ > 0 && size_ + static_cast<int64_t>(line.size()) > most_bytes_) TRY(Rotate());
  std::string_view rest = line;
  while (!rest.empty()) {
    const ssize_t written = write(fd_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      Error error = Failure("cannot be written");
      if (ftruncate(fd_, size_) == 0 && kept_end_ > 0) kept_end_ = size_;
      return error;
    }
    rest.remove_prefix(static_cast<size_t>(written));
  }
  size_ += static_cast<int64_t>(line.size());
  return OkStatus();
}

Status LogFile::Sync() {
  return fdatasync(fd_) == 0 ? OkStatus() : Status(Failure("cannot be synced"));
}

std::string LogFile::Named(int number) const {
  return number == 0 ? path_ : fmt::format("{}.{}", path_, number);
}

Status LogFile::Rotate() {
  TRY(Sync());
  if (most_files_ <= 1) {
    // One file alone begins anew.
    if (ftruncate(fd_, 0) != 0) return Failure("cannot be emptied");
    size_ = 0;
    kept_end_ = kept_end_ < 0 ? -1 : 0;
    KeepWhatThereIs();
    return OkStatus();
  }
  if (ftruncate(fd_, size_) != 0) return Failure("cannot be rotated");
  for (int number = most_files_ - 2; number >= 0; --number) {
    // Those that are missing need no name.
    if (std::rename(Named(number).c_str(), Named(number + 1).c_str()) != 0 && errno != ENOENT)
      return Failure("cannot be rotated");
  }
  Status opened = OpenPath();
  if (!opened.ok()) {
    // The file goes on under its name, or the next attempt would push it out.
    if (std::rename(Named(1).c_str(), path_.c_str()) != 0) errno = 0;
    return opened;
  }
  KeepWhatThereIs();
  return OkStatus();
}

Status LogFile::Reopen() {
  struct stat open_now = {}, named = {};
  const bool same = fstat(fd_, &open_now) == 0 && stat(path_.c_str(), &named) == 0 &&
                    open_now.st_dev == named.st_dev && open_now.st_ino == named.st_ino;
  if (same) return OkStatus();
  TRY(OpenPath());
  KeepWhatThereIs();
  return OkStatus();
}

}  // namespace stator::audit
