#include "store_backup/restore.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/time_text.h"
#include "store_backup/make.h"
#include "transfer/file_object.h"

namespace stator::store_backup {
namespace {

namespace fs = std::filesystem;
using transfer::FileError;
using transfer::FileHandle;

// In a directory that is being filled. FORMAT, without which a directory is no store, comes last.
constexpr std::string_view kMark = "RESTORING";
constexpr std::string_view kFormat = "FORMAT";
// A store that is opened needs some space of its own.
constexpr uint64_t kLeastFreeBytes = 128 << 20;

std::string PathOf(const std::string& directory, std::string_view name) {
  return fmt::format("{}/{}", directory, name);
}

// Leaves an empty directory with the mark in it, which is locked while it is open: so no second
// restore empties the directory, or takes its files for its own.
Result<FileHandle> Prepare(const std::string& directory) {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error) return FileError("create the directory", directory, error.value());
  const bool left =
      fs::exists(PathOf(directory, kMark), error) && !fs::exists(PathOf(directory, kFormat), error);
  std::vector<fs::path> found;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name != "lost+found" && name != kMark) found.push_back(it->path());
  }
  if (error) return FileError("list", directory, error.value());
  if (!found.empty() && !left) {
    return ValidationError(
        fmt::format("{} is not empty: it holds {}. Name a directory that is new or empty.",
                    directory, found.front().filename().string()));
  }
  FileHandle mark(::open(PathOf(directory, kMark).c_str(),
                         O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NONBLOCK, 0600));
  if (mark.fd() < 0) return FileError("create", PathOf(directory, kMark), errno);
  const Error busy(ErrorCode::kUnavailable,
                   fmt::format("Another process restores a backup into {} now.", directory));
  if (::flock(mark.fd(), LOCK_EX | LOCK_NB) != 0)
    return errno == EWOULDBLOCK ? busy : FileError("lock", PathOf(directory, kMark), errno);
  // Look again under the lock: another restore may have completed a store here meanwhile, and a
  // store must not be removed.
  if (fs::exists(PathOf(directory, kFormat), error) || error) return busy;
  TRY(transfer::SyncDirectory(directory));
  for (const fs::path& path : found) {
    fs::remove_all(path, error);
    if (error) return FileError("remove", path.string(), error.value());
  }
  return mark;
}

Status CheckRoom(const std::string& directory, const Backup& backup) {
  struct statvfs system;
  if (::statvfs(directory.c_str(), &system) != 0)
    return FileError("look at the disk of", directory, errno);
  const uint64_t free = uint64_t{system.f_bavail} * system.f_frsize;
  if (free >= backup.bytes() + kLeastFreeBytes) return OkStatus();
  return Error(ErrorCode::kUnavailable,
               fmt::format("The disk of {} has {} MB free, and the store needs {} MB.", directory,
                           free >> 20, (backup.bytes() + kLeastFreeBytes) >> 20));
}

// `as`: the name in the directory.
Status Fetch(Place& place, const File& file, const std::string& directory, std::string_view as,
             Flow& flow) {
  std::string path = PathOf(directory, as);
  FileHandle target(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644));
  if (target.fd() < 0) return FileError("create", path, errno);
  const std::unique_ptr<transfer::ObjectWriter> writer = transfer::MakeFileWriter(
      std::move(target), path, {kLeastFreeBytes, "a store that is restored", "--data-dir"});
  TRY(ReadChecked(place, file, flow,
                  [&](std::string_view piece) { return writer->Append(piece); }));
  return writer->Finish();
}

}  // namespace

Result<Backup> FindBackup(Place& place, const std::string& at) {
  if (at.empty()) return NewestBackup(place);
  if (NumberIn(at) != 0) {
    Result<Backup> backup = ReadBackup(place, at);
    if (backup.ok() || backup.error().code() != ErrorCode::kResourceNotFound) return backup;
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("There is no backup {} in {}.", at, place.name()));
  }
  const std::optional<int64_t> moment = ParseTime(at);
  if (!moment) {
    return ValidationError(fmt::format(
        "{} is neither the id of a backup nor a time such as 2026-11-27T11:00:00Z.", at));
  }
  std::vector<std::string> damaged;
  std::optional<Backup> newest;
  TRY(VisitBackups(place, SIZE_MAX, &damaged, [&](Backup each) {
    if (each.as_of_micros <= *moment) newest = std::move(each);
  }));
  if (newest) return *std::move(newest);
  return Error(ErrorCode::kResourceNotFound,
               fmt::format("There is no backup as old as {} in {}.", at, place.name()));
}

Status VerifyBackup(Place& place, const Backup& backup, const FlowOptions& options) {
  Flow flow(options);
  for (const File& file : backup.files) TRY(ReadChecked(place, file, flow, nullptr));
  return OkStatus();
}

Status RestoreBackup(Place& place, const Backup& backup, const std::string& directory,
                     const FlowOptions& options) {
  ASSIGN_OR_RETURN(const FileHandle mark, Prepare(directory));
  TRY(CheckRoom(directory, backup));
  Flow flow(options);
  const std::string unnamed = fmt::format("{}.restored", kFormat);
  for (const File& file : backup.files)
    TRY(Fetch(place, file, directory, file.name == kFormat ? unnamed : file.name, flow));
  TRY(transfer::SyncDirectory(directory));
  if (::rename(PathOf(directory, unnamed).c_str(), PathOf(directory, kFormat).c_str()) != 0)
    return FileError("rename", PathOf(directory, unnamed), errno);
  TRY(transfer::SyncDirectory(directory));
  if (::unlink(PathOf(directory, kMark).c_str()) != 0)
    return FileError("remove", PathOf(directory, kMark), errno);
  return transfer::SyncDirectory(directory);
}

}  // namespace stator::store_backup
