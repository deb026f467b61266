#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "transfer/folders.h"

namespace stator::transfer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kRemoved = ".removed";
constexpr const char* kLockFile = "LOCK";
// The kernel begins to write a file in steps of this size, so that the sync at its end holds up no
// other sync of the disk.
constexpr uint64_t kFlushBytes = 1 << 20;

Error Failed(std::string_view what, const std::string& path, int error) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("Cannot {} {}: {}.", what, path, std::strerror(error)));
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  File& operator=(File&&) = delete;
  ~File() {
    if (fd_ >= 0) ::close(fd_);
  }
  int fd() const { return fd_; }

 private:
  int fd_;
};

Status SyncDirectory(const std::string& path) {
  const File directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (directory.fd() < 0) return Failed("open", path, errno);
  if (::fsync(directory.fd()) != 0) return Failed("sync", path, errno);
  return OkStatus();
}

class FileWriter final : public ObjectWriter {
 public:
  FileWriter(File file, std::string path, uint64_t least_free_bytes)
      : file_(std::move(file)), path_(std::move(path)), least_free_bytes_(least_free_bytes) {}

  Status Append(std::string_view bytes) override {
    TRY(CheckSpace(bytes.size()));
    while (!bytes.empty()) {
      const ssize_t written = ::write(file_.fd(), bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return Failed("write", path_, errno);
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
    if (::fsync(file_.fd()) != 0) return Failed("sync", path_, errno);
    // The file will not be read soon: its pages give way to others.
    ::posix_fadvise(file_.fd(), 0, 0, POSIX_FADV_DONTNEED);
    return OkStatus();
  }

 private:
  // The store may be on this file system, and refuses writes when there is little space.
  Status CheckSpace(size_t bytes) const {
    struct statvfs system;
    if (::fstatvfs(file_.fd(), &system) != 0) return Failed("look at the disk of", path_, errno);
    const uint64_t free = uint64_t{system.f_bavail} * system.f_frsize;
    if (free >= least_free_bytes_ + bytes) return OkStatus();
    return Error(ErrorCode::kUnavailable,
                 fmt::format("Cannot write {}: the disk has {} MB free, and {} MB of them are not "
                             "for backups. Free space, or name another directory (--backup-dir).",
                             path_, free >> 20, least_free_bytes_ >> 20));
  }

  const File file_;
  const std::string path_;
  const uint64_t least_free_bytes_;
  uint64_t size_ = 0;
  uint64_t flushed_ = 0;
};

class FileReader final : public ObjectReader {
 public:
  FileReader(File file, std::string path, uint64_t size)
      : file_(std::move(file)), path_(std::move(path)), size_(size) {}
  uint64_t size() const override { return size_; }
  Status Read(uint64_t offset, size_t bytes, std::string* out) override {
    out->resize(bytes);
    size_t done = 0;
    while (done < bytes) {
      const ssize_t got =
          ::pread(file_.fd(), out->data() + done, bytes - done, static_cast<off_t>(offset + done));
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) return Failed("read", path_, errno);
      if (got == 0) break;
      done += static_cast<size_t>(got);
    }
    out->resize(done);
    return OkStatus();
  }

 private:
  const File file_;
  const std::string path_;
  const uint64_t size_;
};

// A folder is DIRECTORY/NAME; NAME.partial until it is published, NAME.removed while it goes.
class DirectoryFolders final : public Folders {
 public:
  DirectoryFolders(std::string directory, uint64_t least_free_bytes)
      : directory_(std::move(directory)), least_free_bytes_(least_free_bytes) {}

  Result<std::vector<std::string>> Open() override {
    std::vector<std::string> found;
    std::error_code error;
    if (!fs::exists(directory_, error) && !error) return found;
    TRY(Lock());
    std::vector<std::string> left;
    for (fs::directory_iterator it(directory_, error), end; !error && it != end;
         it.increment(error)) {
      std::string name = it->path().filename().string();
      if (!it->is_directory(error)) continue;
      if (name.ends_with(kPartial) || name.ends_with(kRemoved)) {
        left.push_back(std::move(name));
      } else {
        found.push_back(std::move(name));
      }
    }
    if (error) return Failed("list", directory_, error.value());
    for (const std::string& name : left) TRY(RemoveTree(PathOf(name)));
    return found;
  }

  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& folder,
                                              const std::string& object) override {
    TRY(MakeDirectory());
    const std::string in = PathOf(folder, kPartial);
    if (::mkdir(in.c_str(), 0700) != 0 && errno != EEXIST) return Failed("create", in, errno);
    std::string path = fmt::format("{}/{}", in, object);
    File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.fd() < 0) return Failed("create", path, errno);
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<FileWriter>(std::move(file), std::move(path), least_free_bytes_));
  }

  Status Publish(const std::string& folder) override {
    const std::string partial = PathOf(folder, kPartial);
    TRY(SyncDirectory(partial));
    if (::rename(partial.c_str(), PathOf(folder).c_str()) != 0)
      return Failed("rename", partial, errno);
    return SyncDirectory(directory_);
  }

  Result<std::unique_ptr<ObjectReader>> Read(const std::string& folder,
                                             const std::string& object) override {
    std::string path = fmt::format("{}/{}", PathOf(folder), object);
    File file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd() < 0 && errno == ENOENT)
      return Error(ErrorCode::kResourceNotFound, fmt::format("The file {} is missing.", path));
    if (file.fd() < 0) return Failed("open", path, errno);
    struct stat status;
    if (::fstat(file.fd(), &status) != 0) return Failed("look at", path, errno);
    ::posix_fadvise(file.fd(), 0, 0, POSIX_FADV_SEQUENTIAL);
    return std::unique_ptr<ObjectReader>(std::make_unique<FileReader>(
        std::move(file), std::move(path), static_cast<uint64_t>(status.st_size)));
  }

  Status Remove(const std::string& folder) override {
    TRY(RemoveTree(PathOf(folder, kPartial)));
    const std::string published = PathOf(folder);
    const std::string removed = PathOf(folder, kRemoved);
    if (::rename(published.c_str(), removed.c_str()) != 0) {
      if (errno == ENOENT) return OkStatus();
      return Failed("rename", published, errno);
    }
    TRY(SyncDirectory(directory_));
    static_cast<void>(RemoveTree(removed));  // what is left of it goes at the next start
    return OkStatus();
  }

  std::string place() const override { return directory_; }

 private:
  std::string PathOf(const std::string& folder, std::string_view state = "") const {
    return fmt::format("{}/{}{}", directory_, folder, state);
  }

  static Status RemoveTree(const std::string& path) {
    std::error_code error;
    fs::remove_all(path, error);
    if (error) return Failed("remove", path, error.value());
    return OkStatus();
  }

  Status MakeDirectory() {
    std::error_code error;
    const bool made = fs::create_directories(directory_, error);
    if (error) return Failed("create the directory", directory_, error.value());
    if (made) TRY(SyncDirectory(fs::absolute(directory_).parent_path().string()));
    return Lock();
  }

  Status Lock() {
    const MutexLock held(mutex_);
    if (lock_) return OkStatus();
    const std::string path = PathOf(kLockFile);
    File file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (file.fd() < 0) return Failed("create", path, errno);
    if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return Failed("lock", path, errno);
      return Error(ErrorCode::kUnavailable,
                   fmt::format("Another process keeps its backups in {}. Stop it, or name another "
                               "directory (--backup-dir).",
                               directory_));
    }
    lock_.emplace(std::move(file));
    return OkStatus();
  }

  const std::string directory_;
  const uint64_t least_free_bytes_;
  Mutex mutex_;
  std::optional<File> lock_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Folders> MakeDirectoryFolders(std::string directory, uint64_t least_free_bytes) {
  return std::make_unique<DirectoryFolders>(std::move(directory), least_free_bytes);
}

}  // namespace stator::transfer
