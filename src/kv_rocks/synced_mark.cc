#include "kv_rocks/synced_mark.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/fnv.h"
#include "base/log.h"
#include "kv/fixed_bytes.h"

namespace stator::kv_rocks {
namespace {

constexpr std::string_view kMagic = "STATSYNC";
constexpr size_t kBytes = 32;

std::string FileOf(const std::string& path) { return path + "/SYNCED"; }

}  // namespace

std::optional<SyncedMark::Content> SyncedMark::Read(const std::string& path) {
  const std::string file = FileOf(path);
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  char bytes[kBytes];
  const ssize_t size = ::pread(fd, bytes, kBytes, 0);
  ::close(fd);
  // Before the first write.
  if (size == 0) return std::nullopt;
  if (size != kBytes || std::string_view(bytes, kMagic.size()) != kMagic ||
      kv::LoadLittle64(bytes + 24) != Fnv1a({bytes, 24})) {
    LogWarn("mark_of_synced_log_damaged", {{"file", file}});
    return std::nullopt;
  }
  return Content{kv::LoadLittle64(bytes + 8), kv::LoadLittle64(bytes + 16) != 0};
}

SyncedMark::SyncedMark(const std::string& path)
    : fd_(::open(FileOf(path).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0644)) {
  if (fd_ < 0) {
    LogWarn("mark_of_synced_log_not_kept",
            {{"file", FileOf(path)}, {"error", std::strerror(errno)}});
  }
}

SyncedMark::~SyncedMark() {
  if (fd_ >= 0) ::close(fd_);
}

void SyncedMark::Write(Content content) {
  if (fd_ < 0) return;
  char bytes[kBytes];
  std::memcpy(bytes, kMagic.data(), kMagic.size());
  kv::StoreLittle64(bytes + 8, content.stamp);
  kv::StoreLittle64(bytes + 16, content.synced ? 1 : 0);
  kv::StoreLittle64(bytes + 24, Fnv1a({bytes, 24}));
  // A failure leaves an older mark.
  (void)!::pwrite(fd_, bytes, kBytes, 0);
}

}  // namespace stator::kv_rocks
