#include "kv_rocks/disk_space.h"

#include <fcntl.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <filesystem>
#include <system_error>

#include "base/log.h"

namespace stator::kv_rocks {
namespace {

namespace fs = std::filesystem;

}  // namespace

DiskSpace::DiskSpace(const RocksOptions& options)
    : options_(options), file_(options.path + "/BALLAST") {}

std::optional<uint64_t> DiskSpace::Free() const {
  if (options_.free_bytes) return options_.free_bytes(options_.path);
  struct statvfs stat;
  if (::statvfs(options_.path.c_str(), &stat) != 0) return std::nullopt;
  return static_cast<uint64_t>(stat.f_bavail) * stat.f_frsize;
}

bool DiskSpace::GiveUpBallast() const {
  std::error_code error;
  fs::remove(file_ + ".new", error);
  const bool removed = fs::remove(file_, error);
  if (removed) LogWarn("ballast_given_up", {{"file", file_}});
  return removed;
}

void DiskSpace::KeepBallast(uint64_t free) const {
  std::error_code error;
  if (options_.ballast_bytes == 0 ||
      free < options_.reserve_free_bytes + 2 * options_.ballast_bytes)
    return;
  // An empty file is what a process left that was killed before it had reserved the space.
  if (const uintmax_t size = fs::file_size(file_, error); !error && size > 0) return;
  // The file gets its name when the space is there. Space that is never written: a file system that
  // cannot reserve it gets no ballast, because a file of zeros takes long to write.
  const std::string unfinished = file_ + ".new";
  const int fd = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return;
  const bool reserved = ::fallocate(fd, 0, 0, static_cast<off_t>(options_.ballast_bytes)) == 0;
  ::close(fd);
  if (reserved) fs::rename(unfinished, file_, error);
  if (!reserved || error) fs::remove(unfinished, error);
}

uint64_t DiskSpace::NeedOfStart(const std::string& path) {
  uint64_t need = 2 * kLeastFreeBytes;
  std::error_code error;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    std::error_code gone;
    if (it->path().extension() != ".log") continue;
    if (const uintmax_t size = it->file_size(gone); !gone) need += size;
  }
  return need;
}

}  // namespace stator::kv_rocks
