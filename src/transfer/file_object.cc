#include "transfer/file_object.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace stator::transfer {
namespace {

// The kernel begins to write a file in steps of this size, so that the sync at its end holds up no
// other sync of the disk.
constexpr uint64_t kFlushBytes = 1 << 20;

class FileWriter final : public ObjectWriter {
 public:
  FileWriter(FileHandle file, std::string path, LeastFree least)
      : file_(std::move(file)), path_(std::move(path)), least_(least) {}

  Status Append(std::string_view bytes) override {
    TRY(CheckSpace(bytes.size()));
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.fd(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return FileError("write", path_, errno);
      bytes.remove_prefix(static_cast<size_t>(written));
      size_ += static_cast<uint64_t>(written);
    }
    if (size_ - flushed_ >= kFlushBytes) {
      ::sync_file_range(file_.fd(), static_cast<off_t>(flushed_),
                        static_cast<off_t>(size_ - flushed_), SYNC_FILE_RANGE_WRITE);
      flushed_ = size_;
    }
    return OkStatus();
  }

  Status Finish() override {
    if (::fsync(file_.fd()) != 0) return FileError("sync", path_, errno);
    // The file will not be read soon: its pages give way to others.
    ::posix_fadvise(file_.fd(), 0, 0, POSIX_FADV_DONTNEED);
    return OkStatus();
  }

 private:
  // The store may be on this file system, and refuses writes when there is little space.
  Status CheckSpace(size_t bytes) const {
    struct statvfs system;
    if (::fstatvfs(file_.fd(), &system) != 0) return FileError("look at the disk of", path_, errno);
    const uint64_t free = uint64_t{system.f_bavail} * system.f_frsize;
    if (free >= least_.bytes + bytes) return OkStatus();
    return Error(ErrorCode::kUnavailable,
                 fmt::format("Cannot write {}: the disk has {} MB free, and {} MB of them are not "
                             "for {}. Free space, or name another directory ({}).",
                             path_, free >> 20, least_.bytes >> 20, least_.not_for, least_.option));
  }

  const FileHandle file_;
  const std::string path_;
  const LeastFree least_;
  uint64_t size_ = 0;
  uint64_t flushed_ = 0;
};

class FileReader final : public ObjectReader {
 public:
  FileReader(FileHandle file, std::string path, uint64_t size)
      : file_(std::move(file)), path_(std::move(path)), size_(size) {}
  uint64_t size() const override { return size_; }
  Status Read(uint64_t offset, size_t bytes, std::string* out) override {
    out->resize(bytes);
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got =
          ::pread(file_.fd(), out->data() + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return FileError("read", path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    out->resize(done);
    return OkStatus();
  }

 private:
  const FileHandle file_;
  const std::string path_;
  const uint64_t size_;
};

}  // namespace

FileHandle::~FileHandle() {
  if (fd_ >= 0) ::close(fd_);
}

Error FileError(std::string_view what, const std::string& path, int error) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("Cannot {} {}: {}.", what, path, std::strerror(error)));
}

Status SyncDirectory(const std::string& path) {
  const FileHandle directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd() < 0) return FileError("open", path, errno);
  if (::fsync(directory.fd()) != 0) return FileError("sync", path, errno);
  return OkStatus();
}

std::unique_ptr<ObjectWriter> MakeFileWriter(FileHandle file, std::string path, LeastFree least) {
  return std::make_unique<FileWriter>(std::move(file), std::move(path), least);
}

Result<std::unique_ptr<ObjectReader>> MakeFileReader(FileHandle file, std::string path) {
  struct stat status;
  if (::fstat(file.fd(), &status) != 0) return FileError("look at", path, errno);
  ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
  return std::unique_ptr<ObjectReader>(std::make_unique<FileReader>(
      std::move(file), std::move(path), static_cast<uint64_t>(status.st_size)));
}

}  // namespace stator::transfer
