#include "identity/root_key.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string_view>

#include "base/ascii.h"
#include "base/log.h"

namespace stator::identity {
namespace {

constexpr size_t kLongestFile = 64 << 10;
constexpr std::string_view kBlank = " \t\r\n";

Error Failed(std::string_view what, const std::string& path) {
  return ValidationError(fmt::format("cannot {} {}: {}", what, path, std::strerror(errno)));
}

struct Descriptor {
  int fd;
  ~Descriptor() {
    if (fd >= 0) ::close(fd);
  }
};

Result<std::string> ReadFile(const std::string& path) {
  const Descriptor file{::open(path.c_str(), O_RDONLY | O_CLOEXEC)};
  if (file.fd < 0) return Failed("read", path);
  std::string text(kLongestFile + 1, '\0');
  size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.fd, text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return Failed("read", path);
    if (got == 0) break;
    size += static_cast<size_t>(got);
  }
  if (size > kLongestFile)
    return ValidationError(fmt::format("{} is longer than {} bytes", path, kLongestFile));
  text.resize(size);
  return text;
}

// Refuses a file that other users of the machine may read.
Status CheckPrivate(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) != 0) return Failed("read", path);
  if (S_ISREG(status.st_mode) && (status.st_mode & 077) != 0) {
    return ValidationError(
        fmt::format("{} holds a secret and other users may read it: run chmod 600 {}", path, path));
  }
  return OkStatus();
}

// Returns what follows "name =" on a line.
std::string ValueOf(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const size_t end = text.find('\n');
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    const size_t equals = line.find('=');
    if (equals != std::string_view::npos && Trim(line.substr(0, equals), kBlank) == name)
      return std::string(Trim(line.substr(equals + 1), kBlank));
  }
  return {};
}

}  // namespace

Status WriteNewFile(const std::string& path, const std::string& text) {
  const Descriptor made{::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600)};
  if (made.fd < 0) return Failed("make", path);
  const ssize_t written = ::write(made.fd, text.data(), text.size());
  if (written != static_cast<ssize_t>(text.size()) || ::fsync(made.fd) != 0) {
    const Error error = Failed("write", path);
    ::unlink(path.c_str());
    return error;
  }
  return OkStatus();
}

Result<std::string> ReadSecretFile(const std::string& path) {
  Result<std::string> text = ReadFile(path);
  if (!text.ok()) return text;
  // Secrets that a container's platform mounts are often readable for all.
  if (!CheckPrivate(path).ok()) LogWarn("secret_readable_by_others", {{"file", path}});
  std::string secret(Trim(*text, kBlank));
  if (secret.empty()) return ValidationError(fmt::format("{} is empty", path));
  return secret;
}

Result<RootKey> ReadOrMakeRootKey(const std::string& path, access::SecureRandom* random) {
  RootKey key;
  if (::access(path.c_str(), F_OK) == 0) {
    const Status is_private = CheckPrivate(path);
    if (!is_private.ok()) return is_private.error();
    const Result<std::string> text = ReadFile(path);
    if (!text.ok()) return text.error();
    key.pair.id = ValueOf(*text, "aws_access_key_id");
    key.pair.secret = ValueOf(*text, "aws_secret_access_key");
    const Status fits = CheckKeyPair(key.pair);
    if (!fits.ok()) {
      return ValidationError(
          fmt::format("{} holds no key (aws_access_key_id = ..., aws_secret_access_key = ...): {}",
                      path, fits.error().message()));
    }
    return key;
  }
  key.made = true;
  key.pair.id = access::NewId("AKIA", 20, random);
  key.pair.secret = access::NewSecret(random);
  TRY(WriteNewFile(path,
                   fmt::format("[default]\naws_access_key_id = {}\naws_secret_access_key = {}\n",
                               key.pair.id, key.pair.secret)));
  return key;
}

}  // namespace stator::identity
