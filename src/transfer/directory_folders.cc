// Folders of backups in a directory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "base/mutex.h"
#include "transfer/file_object.h"
#include "transfer/folders.h"

namespace stator::transfer {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";
constexpr std::string_view kRemoved = ".removed";
constexpr const char* kLockFile = "LOCK";
// Folders as directories DIRECTORY/NAME. A folder is called NAME.partial until it is published, and
// NAME.removed while it is being deleted.
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
    if (error) return FileError("list", directory_, error.value());
    for (const std::string& name : left) TRY(RemoveTree(PathOf(name)));
    return found;
  }

  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& folder,
                                              const std::string& object) override {
    TRY(MakeDirectory());
    const std::string in = PathOf(folder, kPartial);
    if (::mkdir(in.c_str(), 0700) != 0 && errno != EEXIST) return FileError("create", in, errno);
    std::string path = fmt::format("{}/{}", in, object);
    FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (file.fd() < 0) return FileError("create", path, errno);
    return MakeFileWriter(std::move(file), std::move(path),
                          {least_free_bytes_, "backups", "--backup-dir"});
  }

  Status Publish(const std::string& folder) override {
    const std::string partial = PathOf(folder, kPartial);
    TRY(SyncDirectory(partial));
    if (::rename(partial.c_str(), PathOf(folder).c_str()) != 0)
      return FileError("rename", partial, errno);
    return SyncDirectory(directory_);
  }

  Result<std::unique_ptr<ObjectReader>> Read(const std::string& folder,
                                             const std::string& object) override {
    std::string path = fmt::format("{}/{}", PathOf(folder), object);
    FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.fd() < 0 && errno == ENOENT)
      return Error(ErrorCode::kResourceNotFound, fmt::format("The file {} is missing.", path));
    if (file.fd() < 0) return FileError("open", path, errno);
    return MakeFileReader(std::move(file), std::move(path));
  }

  Status Remove(const std::string& folder) override {
    TRY(RemoveTree(PathOf(folder, kPartial)));
    const std::string published = PathOf(folder);
    const std::string removed = PathOf(folder, kRemoved);
    if (::rename(published.c_str(), removed.c_str()) != 0) {
      if (errno == ENOENT) return OkStatus();
      return FileError("rename", published, errno);
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
    if (error) return FileError("remove", path, error.value());
    return OkStatus();
  }

  Status MakeDirectory() {
    std::error_code error;
    const bool made = fs::create_directories(directory_, error);
    if (error) return FileError("create the directory", directory_, error.value());
    if (made) TRY(SyncDirectory(fs::absolute(directory_).parent_path().string()));
    return Lock();
  }

  Status Lock() {
    const MutexLock held(mutex_);
    if (lock_) return OkStatus();
    const std::string path = PathOf(kLockFile);
    FileHandle file(::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
    if (file.fd() < 0) return FileError("create", path, errno);
    if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return FileError("lock", path, errno);
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
  std::optional<FileHandle> lock_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Folders> MakeDirectoryFolders(std::string directory, uint64_t least_free_bytes) {
  return std::make_unique<DirectoryFolders>(std::move(directory), least_free_bytes);
}

}  // namespace stator::transfer
