#include "bulk/files.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace stator::bulk {
namespace {

constexpr size_t kMostSmallFile = 64 << 20;
constexpr int kMode = 0600;  // data of people

Error Failed(const std::string& path, std::string_view what) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("{}: cannot {}: {}", path, what, std::strerror(errno)));
}

// Closes a descriptor.
struct Closer {
  int fd;
  ~Closer() {
    if (fd >= 0) close(fd);
  }
};

Status WriteAll(const std::string& path, int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = write(fd, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return Failed(path, "write");
    text.remove_prefix(static_cast<size_t>(written));
  }
  if (fdatasync(fd) != 0) return Failed(path, "write to the disk");
  return OkStatus();
}

Status SyncFolderOf(const std::string& path) {
  std::string folder = std::filesystem::path(path).parent_path().string();
  if (folder.empty()) folder = ".";
  const Closer fd{open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (fd.fd < 0 || fsync(fd.fd) != 0) return Failed(folder, "write to the disk");
  return OkStatus();
}

}  // namespace

Status ReplaceFile(const std::string& path, std::string_view text) {
  const std::string next = path + ".new";
  {
    const Closer fd{open(next.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kMode)};
    if (fd.fd < 0) return Failed(next, "make");
    TRY(WriteAll(next, fd.fd, text));
  }
  if (rename(next.c_str(), path.c_str()) != 0) return Failed(path, "replace");
  return SyncFolderOf(path);
}

Result<std::optional<std::string>> ReadSmallFile(const std::string& path) {
  const Closer fd{open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (fd.fd < 0 && errno == ENOENT) return std::optional<std::string>();
  if (fd.fd < 0) return Failed(path, "open");
  std::string text;
  char piece[64 << 10];
  for (;;) {
    const ssize_t got = read(fd.fd, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path, "read");
    if (got == 0) return std::optional<std::string>(std::move(text));
    text.append(piece, static_cast<size_t>(got));
    if (text.size() > kMostSmallFile) return CorruptionError(path + ": is too large");
  }
}

Status RemoveFile(const std::string& path) {
  if (unlink(path.c_str()) != 0 && errno != ENOENT) return Failed(path, "remove");
  return OkStatus();
}

Result<std::unique_ptr<AppendedFile>> AppendedFile::Open(const std::string& path, uint64_t bytes) {
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, kMode);
  if (fd < 0) return Failed(path, "open");
  std::unique_ptr<AppendedFile> file(new AppendedFile(path, fd, bytes));
  if (flock(fd, LOCK_EX | LOCK_NB) != 0)
    return Error(ErrorCode::kUnavailable, path + ": another process is writing to it");
  struct stat about = {};
  if (fstat(fd, &about) != 0) return Failed(path, "look at");
  if (static_cast<uint64_t>(about.st_size) < bytes) {
    return CorruptionError(
        fmt::format("{}: has {} bytes, and {} were written. It was changed since; remove it and "
                    "its progress file to begin again",
                    path, about.st_size, bytes));
  }
  if (ftruncate(fd, static_cast<off_t>(bytes)) != 0) return Failed(path, "cut");
  if (lseek(fd, static_cast<off_t>(bytes), SEEK_SET) < 0) return Failed(path, "go on in");
  TRY(SyncFolderOf(path));
  return file;
}

AppendedFile::~AppendedFile() { close(fd_); }

Status AppendedFile::Append(std::string_view text) {
  if (broken_)
    return Error(ErrorCode::kUnavailable, path_ + ": could not be cut after an error before");
  const Status written = WriteAll(path_, fd_, text);
  if (!written.ok()) {
    // Cut off the part of `text` that was written, so that a later text does not follow it.
    const auto end = static_cast<off_t>(bytes_);
    if (ftruncate(fd_, end) != 0 || lseek(fd_, end, SEEK_SET) < 0) broken_ = true;
    return written.error();
  }
  bytes_ += text.size();
  return OkStatus();
}

Result<std::unique_ptr<InputFile>> InputFile::Open(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return Failed(path, "open");
  std::unique_ptr<InputFile> file(new InputFile(path, fd));
  struct stat about = {};
  if (fstat(fd, &about) != 0) return Failed(path, "look at");
  if (!S_ISREG(about.st_mode)) return Error(ErrorCode::kUnavailable, path + ": is no file");
  file->size_ = static_cast<uint64_t>(about.st_size);
  file->changed_micros_ =
      int64_t{about.st_mtim.tv_sec} * 1'000'000 + int64_t{about.st_mtim.tv_nsec} / 1000;
  return file;
}

InputFile::~InputFile() { close(fd_); }

Status InputFile::Read(uint64_t offset, size_t bytes, std::string* out) {
  out->resize(bytes);
  size_t have = 0;
  while (have < bytes) {
    const ssize_t got =
        pread(fd_, out->data() + have, bytes - have, static_cast<off_t>(offset + have));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed(path_, "read");
    if (got == 0) break;
    have += static_cast<size_t>(got);
  }
  out->resize(have);
  if (sum_ != nullptr) sum_->fetch_add(static_cast<int64_t>(have), std::memory_order_relaxed);
  return OkStatus();
}

}  // namespace stator::bulk
