// Where archives are: a directory, or a bucket of S3.
#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "s3/connect.h"
#include "triggers/archive.h"

namespace stator::triggers {
namespace {

Error DiskError(const std::string& path, int error) {
  return Error(ErrorCode::kUnavailable, fmt::format("{}: {}", path, std::strerror(error)));
}

Status WriteAll(int fd, const std::string& path, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return DiskError(path, errno);
    bytes.remove_prefix(static_cast<size_t>(written));
  }
  if (fsync(fd) != 0) return DiskError(path, errno);
  return OkStatus();
}

Status SyncDirectory(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0) return DiskError(path, errno);
  const int synced = fsync(fd);
  const int error = errno;
  close(fd);
  return synced == 0 ? OkStatus() : Status(DiskError(path, error));
}

// Makes a directory and those above it, each of them durable.
Status MakeDirectories(const std::filesystem::path& path) {
  std::error_code error;
  if (std::filesystem::is_directory(path, error)) return OkStatus();
  if (path.has_parent_path() && path.parent_path() != path)
    TRY(MakeDirectories(path.parent_path()));
  if (mkdir(path.c_str(), 0750) != 0 && errno != EEXIST) return DiskError(path.string(), errno);
  return SyncDirectory(path.has_parent_path() ? path.parent_path().string() : ".");
}

Status WriteFile(const std::string& directory, const std::string& name, std::string_view bytes) {
  TRY(MakeDirectories(directory));
  const std::string path = directory + "/" + name;
  // The name has the process's id, because another process may run the same mapping for a moment.
  const std::string aside = fmt::format("{}/.{}.{}", directory, name, getpid());
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0640);
  if (fd < 0) return DiskError(aside, errno);
  Status written = WriteAll(fd, aside, bytes);
  close(fd);
  if (written.ok() && rename(aside.c_str(), path.c_str()) != 0) written = DiskError(path, errno);
  if (written.ok()) return SyncDirectory(directory);
  unlink(aside.c_str());
  return written;
}

class Directory final : public ArchivePlace {
 public:
  explicit Directory(std::string directory) : directory_(std::move(directory)) {}

  Result<std::optional<uint64_t>> SizeOf(const std::string& name) override {
    struct stat status;
    if (stat(PathOf(name).c_str(), &status) == 0)
      return std::optional<uint64_t>(static_cast<uint64_t>(status.st_size));
    if (errno == ENOENT) return std::optional<uint64_t>();
    return DiskError(PathOf(name), errno);
  }
  Result<std::string> Read(const std::string& name, uint64_t) override {
    std::ifstream file(PathOf(name), std::ios::binary);
    if (!file) return DiskError(PathOf(name), errno);
    return std::string{std::istreambuf_iterator<char>(file), {}};
  }
  Result<std::vector<std::string>> List(const std::string& prefix) override {
    const size_t slash = prefix.rfind('/') + 1;
    std::vector<std::string> names;
    std::error_code error;
    std::filesystem::directory_iterator it(PathOf(prefix.substr(0, slash)), error);
    for (; !error && it != std::filesystem::directory_iterator(); it.increment(error)) {
      std::string name = prefix.substr(0, slash) + it->path().filename().string();
      if (name.starts_with(prefix)) names.push_back(std::move(name));
    }
    if (!error || error == std::errc::no_such_file_or_directory) return names;
    return DiskError(PathOf(prefix.substr(0, slash)), error.value());
  }
  Status Write(const std::string& name, std::string_view bytes) override {
    const std::filesystem::path path(PathOf(name));
    return WriteFile(path.parent_path().string(), path.filename().string(), bytes);
  }

 private:
  std::string PathOf(const std::string& name) const { return directory_ + "/" + name; }
  const std::string directory_;
};

class Bucket final : public ArchivePlace {
 public:
  // Far above the files that a shard fills in an hour.
  static constexpr size_t kMostNames = 100'000;

  Bucket(s3::Options options, s3::Place place, const Clock& clock)
      : client_(std::move(options), clock), place_(std::move(place)) {}

  Result<std::optional<uint64_t>> SizeOf(const std::string& name) override {
    const Result<s3::Properties> found = client_.Describe(place_.bucket, place_.prefix + name);
    if (found.ok()) return std::optional<uint64_t>(found->bytes);
    if (found.error().code() == ErrorCode::kResourceNotFound) return std::optional<uint64_t>();
    return found.error();
  }
  Result<std::string> Read(const std::string& name, uint64_t size) override {
    return client_.Get(place_.bucket, place_.prefix + name, 0, size, "");
  }
  Result<std::vector<std::string>> List(const std::string& prefix) override {
    std::vector<std::string> names;
    TRY(client_.ListAll(place_.bucket, place_.prefix + prefix, kMostNames,
                        [&](const s3::Object& object) {
                          names.push_back(object.key.substr(place_.prefix.size()));
                          return OkStatus();
                        }));
    return names;
  }
  Status Write(const std::string& name, std::string_view bytes) override {
    return client_.Put(place_.bucket, place_.prefix + name, bytes);
  }
  void Cancel() override { client_.Cancel(); }

 private:
  s3::Client client_;
  const s3::Place place_;
};

}  // namespace

std::unique_ptr<ArchivePlace> MakeDirectory(std::string directory) {
  return std::make_unique<Directory>(std::move(directory));
}

Result<std::unique_ptr<ArchivePlace>> MakeBucket(const FunctionSettings& function,
                                                 const Clock& clock) {
  ASSIGN_OR_RETURN(s3::Place place, s3::ParsePlace(function.bucket));
  ASSIGN_OR_RETURN(s3::Options options, s3::OptionsFor(place.endpoint, function.authorities_file));
  options.tries = 1;  // batches are tried again by their lane
  options.limits.total_micros = function.timeout_micros;
  return std::unique_ptr<ArchivePlace>(
      std::make_unique<Bucket>(std::move(options), std::move(place), clock));
}

}  // namespace stator::triggers
