#include "kv_rocks/store_directory.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <system_error>

namespace stator::kv_rocks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFormatFile = "FORMAT";
constexpr std::string_view kFormatTemporary = "FORMAT.new";
constexpr std::string_view kFormatWord = "stator-store ";
constexpr std::string_view kFeaturesWord = "features ";

Error Refuse(std::string message) { return Error(ErrorCode::kUnavailable, std::move(message)); }

Status SyncDirectory(const std::string& path) {
  const int fd = ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (fd < 0)
    return Refuse(fmt::format("Cannot open the directory {}: {}.", path, std::strerror(errno)));
  const int failed = ::fsync(fd) != 0 ? errno : 0;
  ::close(fd);
  if (failed != 0)
    return Refuse(fmt::format("Cannot sync the directory {}: {}.", path, std::strerror(failed)));
  return OkStatus();
}

struct Format {
  int version = 0;
  kv::Features features;
};

// Returns what the FORMAT file says. Grammar:
//   file     = "stator-store " decimal newline [ features ]
//   features = "features " name { " " name } newline        of version 3, and only there
Result<Format> ReadFormat(const std::string& file) {
  std::ifstream in(file);
  if (!in) return Refuse(fmt::format("Cannot read {}: {}.", file, std::strerror(errno)));
  std::string line;
  std::getline(in, line);
  Format format;
  if (line.starts_with(kFormatWord)) {
    std::from_chars(line.data() + kFormatWord.size(), line.data() + line.size(), format.version);
  }
  if (format.version <= 0) {
    return CorruptionError(
        fmt::format("{} is damaged: it should say \"{}{}\".", file, kFormatWord, kPlainVersion));
  }
  if (format.version != kFormatVersion) return format;
  // Without the newline the list may have been cut off.
  std::getline(in, line);
  Result<kv::Features> features = !in.eof() && line.starts_with(kFeaturesWord)
                                      ? kv::SplitFeatures(line.substr(kFeaturesWord.size()))
                                      : kv::Features();
  if (!features.ok() || features->empty()) {
    return CorruptionError(fmt::format(
        "{} is damaged: its second line should be \"{}\" and the names of the features that the "
        "store needs.",
        file, kFeaturesWord));
  }
  format.features = *std::move(features);
  return format;
}

bool IsData(const fs::path& file) {
  return file.extension() == ".sst" || file.extension() == ".log";
}

}  // namespace

Status WriteFormat(const std::string& path, const kv::Features& features) {
  const std::string temporary = fmt::format("{}/{}", path, kFormatTemporary);
  const std::string file = fmt::format("{}/{}", path, kFormatFile);
  const std::string text = features.empty()
                               ? fmt::format("{}{}\n", kFormatWord, kPlainVersion)
                               : fmt::format("{}{}\n{}{}\n", kFormatWord, kFormatVersion,
                                             kFeaturesWord, kv::JoinFeatures(features));
  const int fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return Refuse(fmt::format("Cannot create {}: {}.", temporary, std::strerror(errno)));
  const bool written = ::write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
                       ::fsync(fd) == 0;
  const int failed = written ? 0 : errno;
  ::close(fd);
  if (!written)
    return Refuse(fmt::format("Cannot write {}: {}.", temporary, std::strerror(failed)));
  if (::rename(temporary.c_str(), file.c_str()) != 0) {
    return Refuse(fmt::format("Cannot create {}: {}.", file, std::strerror(errno)));
  }
  return SyncDirectory(path);
}

Result<kv::Features> PrepareDirectory(const std::string& path,
                                      std::span<const std::string_view> known) {
  std::error_code error;
  const bool created = fs::create_directory(path, error);
  if (error)
    return Refuse(fmt::format("Cannot create the data directory {}: {}.", path, error.message()));
  if (created) TRY(SyncDirectory(fs::absolute(path).parent_path().string()));

  bool current = false;
  bool format = false;
  std::string data;   // a file that only a store with data has
  std::string other;  // a file that no empty directory has
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name == kFormatFile) {
      format = true;
    } else if (name == "CURRENT") {
      current = true;
    } else if (name != kFormatTemporary && name != "lost+found") {
      other = name;
    }
    if (IsData(it->path())) data = name;
  }
  if (error)
    return Refuse(fmt::format("Cannot list the data directory {}: {}.", path, error.message()));

  if (!format) {
    if (current || !other.empty()) {
      return Refuse(
          fmt::format("{} holds other files ({}) and no Stator store. Name an empty directory or "
                      "one that Stator made.",
                      path, current ? "CURRENT" : other));
    }
    TRY(WriteFormat(path, {}));
    return kv::Features();
  }
  ASSIGN_OR_RETURN(Format found, ReadFormat(fmt::format("{}/{}", path, kFormatFile)));
  if (found.version > kFormatVersion) {
    return Refuse(
        fmt::format("The store in {} has format {}; this version of Stator reads formats up to {}. "
                    "Start the newer Stator that wrote it.",
                    path, found.version, kFormatVersion));
  }
  TRY(kv::CheckFeatures("The store in " + path, found.features, known));
  if (!current && !data.empty()) {
    return CorruptionError(
        fmt::format("The store in {} has lost its file CURRENT but still holds data ({}). "
                    "Restore the directory from a backup.",
                    path, data));
  }
  // From now on there may be things in it that an older Stator would misread.
  if (found.version < kPlainVersion) TRY(WriteFormat(path, {}));
  return std::move(found.features);
}

}  // namespace stator::kv_rocks
