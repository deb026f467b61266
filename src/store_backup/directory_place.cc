// Whole-store backups in a directory.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <optional>
#include <utility>

#include "store_backup/manifest.h"
#include "store_backup/place.h"
#include "transfer/file_object.h"

namespace stator::store_backup {
namespace {

namespace fs = std::filesystem;
using transfer::FileError;
using transfer::FileHandle;

constexpr std::string_view kPartial = ".partial";
constexpr const char* kFolders[] = {"objects", "backups"};

// Writes NAME.partial and gives it its name when it is whole.
class PartialWriter final : public transfer::ObjectWriter {
 public:
  PartialWriter(std::unique_ptr<transfer::ObjectWriter> file, std::string path)
      : file_(std::move(file)), path_(std::move(path)) {}
  ~PartialWriter() override {
    if (!finished_) ::unlink((path_ + std::string(kPartial)).c_str());
  }
  Status Append(std::string_view bytes) override { return file_->Append(bytes); }
  Status Finish() override {
    TRY(file_->Finish());
    const std::string partial = path_ + std::string(kPartial);
    if (::rename(partial.c_str(), path_.c_str()) != 0) return FileError("rename", partial, errno);
    finished_ = true;
    return transfer::SyncDirectory(fs::path(path_).parent_path().string());
  }

 private:
  const std::unique_ptr<transfer::ObjectWriter> file_;
  const std::string path_;
  bool finished_ = false;
};

class DirectoryPlace final : public Place {
 public:
  DirectoryPlace(std::string directory, uint64_t least_free_bytes)
      : directory_(std::move(directory)), least_free_bytes_(least_free_bytes) {}

  Status Begin() override {
    std::error_code error;
    for (const char* folder : kFolders) {
      const bool made = fs::create_directories(PathOf(folder), error);
      if (error) return FileError("create the directory", PathOf(folder), error.value());
      if (made) TRY(transfer::SyncDirectory(directory_));
    }
    TRY(transfer::SyncDirectory(fs::absolute(directory_).parent_path().string()));
    FileHandle file(
        ::open(PathOf("LOCK").c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0600));
    if (file.fd() < 0) return FileError("create", PathOf("LOCK"), errno);
    if (::flock(file.fd(), LOCK_EX | LOCK_NB) != 0) {
      if (errno != EWOULDBLOCK) return FileError("lock", PathOf("LOCK"), errno);
      return Error(ErrorCode::kUnavailable,
                   fmt::format("Another process makes a backup of a store in {} now. Wait for it, "
                               "or name another place.",
                               directory_));
    }
    lock_.emplace(std::move(file));
    for (const char* folder : kFolders) TRY(RemovePartial(PathOf(folder)));
    return OkStatus();
  }

  void End() override { lock_.reset(); }

  Result<std::vector<Entry>> List(std::string_view folder) override {
    std::vector<Entry> found;
    std::error_code error;
    const std::string path = PathOf(folder);
    if (!fs::exists(path, error) && !error) return found;
    for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
      const std::string name = it->path().filename().string();
      std::error_code gone;
      const uintmax_t bytes = it->file_size(gone);
      std::string entry = fmt::format("{}/{}", folder, name);
      if (!gone && IsNameHere(entry)) found.push_back({std::move(entry), bytes});
    }
    if (error) return FileError("list", path, error.value());
    std::sort(found.begin(), found.end(),
              [](const Entry& a, const Entry& b) { return a.name < b.name; });
    return found;
  }

  Result<std::unique_ptr<transfer::ObjectWriter>> Write(const std::string& name) override {
    const std::string path = PathOf(name);
    const std::string partial = path + std::string(kPartial);
    FileHandle file(::open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600));
    if (file.fd() < 0) return FileError("create", partial, errno);
    auto writer = transfer::MakeFileWriter(
        std::move(file), path,
        {least_free_bytes_, "backups of the store", "--store-backup or --to"});
    return std::unique_ptr<transfer::ObjectWriter>(
        std::make_unique<PartialWriter>(std::move(writer), path));
  }

  Result<std::unique_ptr<transfer::ObjectReader>> Read(const std::string& name) override {
    std::string path = PathOf(name);
    // Without waiting: a pipe in the place of an object has no writer.
    FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (file.fd() < 0 && errno == ENOENT)
      return Error(ErrorCode::kResourceNotFound, fmt::format("The file {} is missing.", path));
    if (file.fd() < 0) return FileError("open", path, errno);
    return transfer::MakeFileReader(std::move(file), std::move(path));
  }

  Status Remove(const std::string& name) override {
    if (::unlink(PathOf(name).c_str()) != 0 && errno != ENOENT)
      return FileError("remove", PathOf(name), errno);
    return transfer::SyncDirectory(fs::path(PathOf(name)).parent_path().string());
  }

  bool checks_writes() const override { return false; }
  std::string name() const override { return directory_; }

 private:
  std::string PathOf(std::string_view name) const { return fmt::format("{}/{}", directory_, name); }

  static Status RemovePartial(const std::string& folder) {
    std::error_code error;
    std::vector<fs::path> left;
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
      if (it->path().filename().string().ends_with(kPartial)) left.push_back(it->path());
    }
    if (error) return FileError("list", folder, error.value());
    for (const fs::path& path : left) {
      fs::remove(path, error);
      if (error) return FileError("remove", path.string(), error.value());
    }
    return OkStatus();
  }

  const std::string directory_;
  const uint64_t least_free_bytes_;
  std::optional<FileHandle> lock_;
};

}  // namespace

std::unique_ptr<Place> MakeDirectoryPlace(std::string directory, uint64_t least_free_bytes) {
  while (directory.size() > 1 && directory.back() == '/') directory.pop_back();
  return std::make_unique<DirectoryPlace>(std::move(directory), least_free_bytes);
}

}  // namespace stator::store_backup
