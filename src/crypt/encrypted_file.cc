#include "crypt/encrypted_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

namespace stator::crypt {
namespace {

Error Failed(std::string_view what, const std::string& path) {
  return Error(ErrorCode::kUnavailable,
               fmt::format("Cannot {} {}: {}.", what, path, std::strerror(errno)));
}

Status ReadAt(int fd, const std::string& path, uint64_t offset, size_t bytes, std::string* out) {
  out->resize(bytes);
  size_t done = 0;
  while (done < bytes) {
    const ssize_t got =
        ::pread(fd, out->data() + done, bytes - done, static_cast<off_t>(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) break;
    done += static_cast<size_t>(got);
  }
  out->resize(done);
  return OkStatus();
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

}  // namespace

FileReader::FileReader(FileReader&& other) noexcept
    : path_(std::move(other.path_)),
      fd_(std::exchange(other.fd_, -1)),
      size_(other.size_),
      header_bytes_(other.header_bytes_),
      cipher_(std::move(other.cipher_)) {}

FileReader::~FileReader() {
  if (fd_ >= 0) ::close(fd_);
}

Result<FileReader> FileReader::Open(const std::string& path, const FileKeys* keys) {
  FileReader reader;
  reader.path_ = path;
  reader.fd_ = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  struct stat status;
  if (reader.fd_ < 0 || ::fstat(reader.fd_, &status) != 0) return Failed("read", path);
  reader.size_ = static_cast<uint64_t>(status.st_size);
  if (keys == nullptr) return Result<FileReader>(std::move(reader));
  std::string header;
  TRY(ReadAt(reader.fd_, path, 0, kHeaderBytes, &header));
  reader.header_bytes_ = kHeaderBytes;
  if (FormOf(header) == Form::kEmpty) {
    reader.size_ = 0;
    return Result<FileReader>(std::move(reader));
  }
  ASSIGN_OR_RETURN(const DataKey key, keys->Open(header, path));
  reader.cipher_ = std::make_unique<FileCipher>(key);
  reader.size_ -= kHeaderBytes;
  return Result<FileReader>(std::move(reader));
}

Status FileReader::Read(uint64_t offset, size_t bytes, std::string* out, std::string* raw) const {
  out->clear();
  if (raw != nullptr) raw->clear();
  if (offset >= size_) return OkStatus();
  TRY(ReadAt(fd_, path_, header_bytes_ + offset, bytes, out));
  if (raw != nullptr) *raw = *out;
  if (cipher_ != nullptr) cipher_->Apply(offset, out->data(), out->size(), out->data());
  return OkStatus();
}

Result<std::string> ReadBeginning(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return Failed("read", path);
  std::string beginning;
  TRY(ReadAt(file.fd, path, 0, kHeaderBytes, &beginning));
  return beginning;
}

Result<bool> RenewHeader(const std::string& path, const FileKeys& keys) {
  ASSIGN_OR_RETURN(const std::string header, ReadBeginning(path));
  if (FormOf(header) != Form::kEncrypted) return false;
  ASSIGN_OR_RETURN(const std::optional<std::string> renewed, keys.Renew(header, path));
  if (!renewed) return false;
  const Descriptor file{::open(path.c_str(), O_WRONLY | O_CLOEXEC)};
  if (file.fd < 0) return Failed("write", path);
  if (::pwrite(file.fd, renewed->data(), renewed->size(), 0) !=
      static_cast<ssize_t>(renewed->size()))
    return Failed("write", path);
  return true;
}

}  // namespace stator::crypt
