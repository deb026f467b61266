// An object store in a directory.
#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "exchange/object_store.h"
#include "s3/connect.h"
#include "transfer/file_object.h"

namespace stator::exchange {
namespace {

using transfer::FileError;
using transfer::FileHandle;
using transfer::ObjectReader;
using transfer::ObjectWriter;

// While an object is being written its file is called ".stator-NAME"; when it is complete the file
// is renamed to NAME. CheckKey refuses keys with a segment that begins with ".stator-".
constexpr std::string_view kPartial = ".stator-";
constexpr size_t kMostSegmentBytes = 200;
constexpr size_t kMostKeyBytes = 1024;
constexpr int kDirectoryFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

Error NoBucket(const std::string& bucket) {
  return Error(ErrorCode::kResourceNotFound,
               fmt::format("There is no bucket {} in the object store.", bucket));
}

// Writes an object under a temporary name. Gives it its name when it is complete; removes an
// incomplete one.
class WholeWriter final : public ObjectWriter {
 public:
  WholeWriter(FileHandle folder, std::string name, std::string path,
              std::unique_ptr<ObjectWriter> file)
      : folder_(std::move(folder)),
        name_(std::move(name)),
        path_(std::move(path)),
        file_(std::move(file)) {}
  ~WholeWriter() override {
    file_ = nullptr;
    if (!whole_) ::unlinkat(folder_.fd(), Partial().c_str(), 0);
  }
  Status Append(std::string_view bytes) override { return file_->Append(bytes); }
  Status Finish() override {
    TRY(file_->Finish());
    if (::renameat(folder_.fd(), Partial().c_str(), folder_.fd(), name_.c_str()) != 0)
      return FileError("rename", path_, errno);
    whole_ = true;
    if (::fsync(folder_.fd()) != 0) return FileError("sync the folder of", path_, errno);
    return OkStatus();
  }

 private:
  std::string Partial() const { return std::string(kPartial) + name_; }

  const FileHandle folder_;
  const std::string name_;
  const std::string path_;
  std::unique_ptr<ObjectWriter> file_;
  bool whole_ = false;
};

std::vector<std::string> SegmentsOf(std::string_view key) {
  std::vector<std::string> segments;
  for (;;) {
    const size_t slash = key.find('/');
    segments.emplace_back(key.substr(0, slash));
    if (slash == std::string_view::npos) return segments;
    key.remove_prefix(slash + 1);
  }
}

class DirectoryObjects final : public ObjectStore {
 public:
  DirectoryObjects(std::string directory, uint64_t least_free_bytes)
      : directory_(std::move(directory)), least_free_bytes_(least_free_bytes) {}

  Status CheckBucket(const std::string& bucket) override {
    const Result<FileHandle> folder = OpenBucket(bucket);
    return folder.ok() ? OkStatus() : Status(folder.error());
  }

  Status MakeBucket(const std::string& bucket) override {
    TRY(CheckBucketName(bucket));
    std::error_code error;
    std::filesystem::create_directories(directory_, error);
    if (error) return FileError("create the directory", directory_, error.value());
    const std::string path = directory_ + "/" + bucket;
    if (::mkdir(path.c_str(), 0750) != 0 && errno != EEXIST)
      return FileError("create", path, errno);
    TRY(transfer::SyncDirectory(directory_));
    return CheckBucket(bucket);
  }

  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& bucket,
                                              const std::string& key) override {
    TRY(CheckKey(key));
    ASSIGN_OR_RETURN(FileHandle folder, OpenBucket(bucket));
    std::vector<std::string> segments = SegmentsOf(key);
    std::string name = std::move(segments.back());
    segments.pop_back();
    const std::string path = PathOf(bucket, key);
    for (const std::string& segment : segments) {
      if (::mkdirat(folder.fd(), segment.c_str(), 0750) == 0) {
        if (::fsync(folder.fd()) != 0) return FileError("sync the folders of", path, errno);
      } else if (errno != EEXIST) {
        return FileError("create the folders of", path, errno);
      }
      FileHandle next(::openat(folder.fd(), segment.c_str(), kDirectoryFlags));
      if (next.fd() < 0) return FileError("open the folders of", path, errno);
      folder = std::move(next);
    }
    const std::string partial = std::string(kPartial) + name;
    FileHandle file(::openat(folder.fd(), partial.c_str(),
                             O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0640));
    if (file.fd() < 0) return FileError("create", path, errno);
    auto writer = transfer::MakeFileWriter(
        std::move(file), path, {least_free_bytes_, "exported objects", "--object-store"});
    return std::unique_ptr<ObjectWriter>(
        std::make_unique<WholeWriter>(std::move(folder), std::move(name), path, std::move(writer)));
  }

  Result<std::unique_ptr<ObjectReader>> Read(const std::string& bucket,
                                             const std::string& key) override {
    TRY(CheckKey(key));
    ASSIGN_OR_RETURN(FileHandle folder, OpenBucket(bucket));
    std::vector<std::string> segments = SegmentsOf(key);
    const std::string path = PathOf(bucket, key);
    for (size_t i = 0; i < segments.size(); ++i) {
      const bool last = i + 1 == segments.size();
      FileHandle next(
          ::openat(folder.fd(), segments[i].c_str(),
                   last ? O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC : kDirectoryFlags));
      if (next.fd() < 0 && errno == ENOENT) {
        return Error(ErrorCode::kResourceNotFound,
                     fmt::format("The object {} of the bucket {} is missing.", key, bucket));
      }
      if (next.fd() < 0) return FileError("open", path, errno);
      folder = std::move(next);
    }
    struct stat status;
    if (::fstat(folder.fd(), &status) != 0) return FileError("look at", path, errno);
    if (!S_ISREG(status.st_mode)) return FileError("read", path, EINVAL);
    return transfer::MakeFileReader(std::move(folder), path);
  }

  Result<std::vector<ObjectInfo>> List(const std::string& bucket, std::string_view prefix,
                                       size_t most) override {
    ASSIGN_OR_RETURN(FileHandle folder, OpenBucket(bucket));
    std::vector<ObjectInfo> found;
    TRY(ListFolder(bucket, std::move(folder), "", prefix, most, &found));
    std::ranges::sort(found, {}, &ObjectInfo::key);
    return found;
  }

  std::string place() const override { return directory_; }

 private:
  std::string PathOf(const std::string& bucket, const std::string& key) const {
    return fmt::format("{}/{}/{}", directory_, bucket, key);
  }

  Result<FileHandle> OpenBucket(const std::string& bucket) const {
    if (!CheckBucketName(bucket).ok()) return NoBucket(bucket);
    const FileHandle root(::open(directory_.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (root.fd() < 0 && errno == ENOENT) return NoBucket(bucket);
    if (root.fd() < 0) return FileError("open", directory_, errno);
    FileHandle folder(::openat(root.fd(), bucket.c_str(), kDirectoryFlags));
    if (folder.fd() >= 0) return folder;
    if (errno == ENOENT || errno == ENOTDIR || errno == ELOOP) return NoBucket(bucket);
    return FileError("open", directory_ + "/" + bucket, errno);
  }

  // `path`: of the folder in its bucket, with a slash behind it unless it is empty.
  Status ListFolder(const std::string& bucket, FileHandle folder, const std::string& path,
                    std::string_view prefix, size_t most, std::vector<ObjectInfo>* found) const {
    // The stream closes the descriptor that it is made of.
    DIR* const stream = ::fdopendir(::dup(folder.fd()));
    if (stream == nullptr) return FileError("list", PathOf(bucket, path), errno);
    std::vector<std::string> folders;
    Status outcome;
    for (;;) {
      errno = 0;
      const dirent* const entry = ::readdir(stream);
      if (entry == nullptr) {
        if (errno != 0) outcome = FileError("list", PathOf(bucket, path), errno);
        break;
      }
      const std::string name = entry->d_name;
      const std::string key = path + name;
      if (!CheckKey(key).ok()) continue;
      struct stat status;
      if (::fstatat(folder.fd(), name.c_str(), &status, AT_SYMLINK_NOFOLLOW) != 0) continue;
      if (S_ISDIR(status.st_mode)) {
        const std::string below = key + "/";
        if (below.starts_with(prefix) || prefix.starts_with(below)) folders.push_back(name);
      } else if (S_ISREG(status.st_mode) && key.starts_with(prefix)) {
        if (found->size() == most) {
          outcome = Error(ErrorCode::kLimitExceeded,
                          fmt::format("The prefix has more than {} objects.", most));
          break;
        }
        found->push_back({key, static_cast<uint64_t>(status.st_size)});
      }
    }
    ::closedir(stream);
    TRY(outcome);
    for (const std::string& name : folders) {
      FileHandle next(::openat(folder.fd(), name.c_str(), kDirectoryFlags));
      if (next.fd() < 0) return FileError("open", PathOf(bucket, path + name), errno);
      TRY(ListFolder(bucket, std::move(next), path + name + "/", prefix, most, found));
    }
    return OkStatus();
  }

  const std::string directory_;
  const uint64_t least_free_bytes_;
};

}  // namespace

Status CheckKey(std::string_view key) {
  if (key.empty() || key.size() > kMostKeyBytes)
    return ValidationError("A key has 1 to 1024 bytes in the object store.");
  if (key.find('\0') != std::string_view::npos)
    return ValidationError("A key has no zero byte in the object store.");
  for (const std::string& segment : SegmentsOf(key)) {
    if (segment.empty() || segment == "." || segment == ".." ||
        segment.size() > kMostSegmentBytes || segment.starts_with(kPartial)) {
      return ValidationError(fmt::format(
          "The object store is a directory, where the part '{}' of a key cannot be a name.",
          segment));
    }
  }
  return OkStatus();
}

Status CheckBucketName(std::string_view bucket) {
  if (s3::IsBucketName(bucket)) return OkStatus();
  return ValidationError(fmt::format("'{}' is no name of a bucket.", bucket));
}

std::unique_ptr<ObjectStore> MakeDirectoryObjects(std::string directory,
                                                  uint64_t least_free_bytes) {
  return std::make_unique<DirectoryObjects>(std::move(directory), least_free_bytes);
}

}  // namespace stator::exchange
