#include "kv_rocks/store_keys.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <vector>

#include "base/log.h"
#include "crypt/encrypted_file.h"
#include "kv_rocks/store_directory.h"

namespace stator::kv_rocks {
namespace {

namespace fs = std::filesystem;

struct StoreFile {
  std::string path;
  bool messages;  // RocksDB's own messages, which hold nothing of the store
};

// The files that RocksDB wrote.
Result<std::vector<StoreFile>> ListFiles(const std::string& directory) {
  std::vector<StoreFile> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    const std::string extension = it->path().extension().string();
    const bool messages = name == "LOG" || name.starts_with("LOG.old");
    const bool ours = messages || name == "CURRENT" || name == "IDENTITY" ||
                      name.starts_with("MANIFEST-") || name.starts_with("OPTIONS-") ||
                      extension == ".sst" || extension == ".log";
    if (ours) files.push_back({it->path().string(), messages});
  }
  if (error) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("Cannot list the data directory {}: {}.", directory, error.message()));
  }
  std::sort(files.begin(), files.end(),
            [](const StoreFile& a, const StoreFile& b) { return a.path < b.path; });
  return files;
}

Error Refuse(std::string message) { return Error(ErrorCode::kUnavailable, std::move(message)); }

Error NotOpened(const std::string& directory, const Error& why) {
  if (why.code() == ErrorCode::kCorruption) {
    return CorruptionError(fmt::format(
        "The store in {} was not opened: {}. Restore it from a backup.", directory, why.message()));
  }
  return Refuse(fmt::format(
      "The store in {} was not opened: {}. Give the key of the store with --encryption-key-file; "
      "while a new key takes over, the file holds the new one and, on the next line, the old one.",
      directory, why.message()));
}

// Durably, for all files at once.
Status SyncFiles(const std::string& directory) {
  const int fd = ::open(directory.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  const bool synced = fd >= 0 && ::syncfs(fd) == 0;
  if (fd >= 0) ::close(fd);
  if (synced) return OkStatus();
  return Refuse(fmt::format("Cannot sync the files in {}.", directory));
}

// Every header is looked at before the first is changed.
Status CheckHeaders(const std::string& directory, const std::vector<StoreFile>& files,
                    const crypt::FileKeys& keys) {
  for (const StoreFile& file : files) {
    if (file.messages) continue;
    ASSIGN_OR_RETURN(const std::string beginning, crypt::ReadBeginning(file.path));
    if (crypt::FormOf(beginning) == crypt::Form::kEmpty) continue;
    const Result<crypt::DataKey> key = keys.Open(beginning, file.path);
    if (!key.ok()) return NotOpened(directory, key.error());
  }
  return OkStatus();
}

Status RenewHeaders(const std::string& directory, const std::vector<StoreFile>& files,
                    const crypt::FileKeys& keys) {
  size_t renewed = 0;
  for (const StoreFile& file : files) {
    const Result<bool> done = crypt::RenewHeader(file.path, keys);
    if (done.ok()) {
      renewed += *done ? 1 : 0;
    } else if (!file.messages) {
      // The keys open the file all the same: a disk that takes no writes can still be read.
      LogWarn("encryption_key_not_renewed",
              {{"file", file.path}, {"error", done.error().message()}});
      return OkStatus();
    }
  }
  if (renewed == 0) return OkStatus();
  TRY(SyncFiles(directory));
  LogInfo("encryption_key_renewed",
          {{"store", directory}, {"files", renewed}, {"key", keys.key_id()}});
  return OkStatus();
}

}  // namespace

Status SettleKeys(const RocksOptions& options, kv::Features* features) {
  const std::string& directory = options.path;
  const bool encrypted = features->find(kEncryptionFeature) != features->end();
  if (options.keys == nullptr) {
    if (!encrypted) return OkStatus();
    return Refuse(fmt::format(
        "The store in {} is encrypted. Give its key with --encryption-key-file.", directory));
  }
  if (!encrypted) {
    std::error_code error;
    if (fs::exists(directory + "/CURRENT", error) || error) {
      return Refuse(fmt::format(
          "The store in {} is not encrypted, and a key for encryption was given. Copy it into an "
          "encrypted one with `stator copy --from {} --to NEW --to-encryption-key-file FILE`, or "
          "start without the key.",
          directory, directory));
    }
    kv::Features needed = *features;
    needed.emplace(kEncryptionFeature);
    TRY(WriteFormat(directory, needed));
    *features = std::move(needed);
  }
  ASSIGN_OR_RETURN(const std::vector<StoreFile> files, ListFiles(directory));
  TRY(CheckHeaders(directory, files, *options.keys));
  return RenewHeaders(directory, files, *options.keys);
}

}  // namespace stator::kv_rocks
