#include "store_backup/make.h"

#include <fcntl.h>
#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <memory>
#include <set>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/log.h"
#include "transfer/file_object.h"

namespace stator::store_backup {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kCheckpoint = "/store-backup.links";
// A file's mark covers the header of its encryption, and of an SST file the properties with its
// unique id.
constexpr size_t kMarkedHead = 4096, kMarkedTail = 64 << 10;

std::string CheckpointOf(const std::string& data_dir) {
  return data_dir + std::string(kCheckpoint);
}

// Ends the writing to a place, and the folder of links, with their owner.
class Ends {
 public:
  Ends(Place& place, std::string data_dir) : place_(place), data_dir_(std::move(data_dir)) {}
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;
  ~Ends() {
    RemoveCheckpoint(data_dir_);
    place_.End();
  }

 private:
  Place& place_;
  const std::string data_dir_;
};

Result<std::unique_ptr<transfer::ObjectReader>> OpenFile(std::string path) {
  transfer::FileHandle file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.fd() < 0) return transfer::FileError("open", path, errno);
  return transfer::MakeFileReader(std::move(file), std::move(path));
}

Result<std::string> MarkOf(transfer::ObjectReader& reader) {
  std::string head, tail;
  const uint64_t size = reader.size();
  TRY(reader.Read(0, std::min<uint64_t>(size, kMarkedHead), &head));
  const uint64_t tail_bytes = std::min<uint64_t>(size, kMarkedTail);
  TRY(reader.Read(size - tail_bytes, tail_bytes, &tail));
  return HashOf(head + tail);
}

// Returns the newest of these backups that can be read.
Result<Backup> NewestOf(Place& place, const std::vector<std::string>& ids) {
  for (auto id = ids.rbegin(); id != ids.rend(); ++id) {
    Result<Backup> backup = ReadBackup(place, *id);
    if (backup.ok() || backup.error().code() != ErrorCode::kCorruption) return backup;
    LogWarn("store_backup_not_read", {{"error", backup.error().message()}});
  }
  return Error(ErrorCode::kResourceNotFound,
               fmt::format("There is no backup of a store in {}.", place.name()));
}

// Takes the files of one checkpoint to a place.
class Carrier {
 public:
  Carrier(Place& place, std::string directory, const MakeOptions& options)
      : place_(place), directory_(std::move(directory)), flow_(options.flow) {}

  // Learns what the place has.
  Status Look(const std::vector<std::string>& ids) {
    ASSIGN_OR_RETURN(const std::vector<Entry> objects, place_.List("objects"));
    for (const Entry& each : objects) there_[each.name] = each.bytes;
    Result<Backup> newest = NewestOf(place_, ids);
    if (!newest.ok()) {
      if (newest.error().code() == ErrorCode::kResourceNotFound) return OkStatus();
      return std::move(newest).error();
    }
    for (File& file : newest->files) earlier_[file.name] = std::move(file);
    return OkStatus();
  }

  Status Carry(File* file, Backup* backup) {
    TRY(flow_.CheckStop());
    ASSIGN_OR_RETURN(const std::unique_ptr<transfer::ObjectReader> reader,
                     OpenFile(fmt::format("{}/{}", directory_, file->name)));
    file->bytes = reader->size();
    ASSIGN_OR_RETURN(file->mark, MarkOf(*reader));
    const auto known = earlier_.find(file->name);
    if (file->name.ends_with(".sst") && known != earlier_.end() &&
        known->second.bytes == file->bytes && known->second.mark == file->mark) {
      file->hash = known->second.hash;
      if (IsThere(*file)) {
        flow_.Skipped(file->bytes);
        return OkStatus();
      }
    }
    // The name of the object is the hash of its content, which is read twice therefore.
    FlowOptions quick;
    Flow hashing(quick);
    ASSIGN_OR_RETURN(file->hash, ReadThrough(*reader, hashing, nullptr));
    if (IsThere(*file)) {
      flow_.Skipped(file->bytes);
      return OkStatus();
    }
    TRY(Copy(*reader, *file));
    there_[ObjectName(*file)] = file->bytes;
    backup->new_bytes += file->bytes;
    ++backup->new_files;
    return OkStatus();
  }

 private:
  bool IsThere(const File& file) const {
    const auto found = there_.find(ObjectName(file));
    return found != there_.end() && found->second == file.bytes;
  }

  Status Copy(transfer::ObjectReader& reader, const File& file) {
    ASSIGN_OR_RETURN(const std::unique_ptr<transfer::ObjectWriter> writer,
                     place_.Write(ObjectName(file)));
    ASSIGN_OR_RETURN(
        const std::string hash,
        ReadThrough(reader, flow_, [&](std::string_view piece) { return writer->Append(piece); }));
    if (hash != file.hash) {
      return CorruptionError(fmt::format(
          "The file {} of the store reads differently each time. Look after the disk.", file.name));
    }
    TRY(writer->Finish());
    if (place_.checks_writes()) {
      ASSIGN_OR_RETURN(const auto written, place_.Read(ObjectName(file)));
      if (written->size() == file.bytes) return OkStatus();
      return CorruptionError(fmt::format("{}/{} has {} bytes, and {} were written.", place_.name(),
                                         ObjectName(file), written->size(), file.bytes));
    }
    FlowOptions quick;
    Flow checking(quick);
    return ReadChecked(place_, file, checking, nullptr);
  }

  Place& place_;
  const std::string directory_;
  Flow flow_;
  std::unordered_map<std::string, uint64_t> there_;
  std::unordered_map<std::string, File> earlier_;  // by name, of the newest backup
};

Result<std::vector<File>> FilesIn(const std::string& directory) {
  std::vector<File> files;
  std::error_code error;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    if (it->is_regular_file(error)) files.push_back({.name = it->path().filename().string()});
  }
  if (error) return transfer::FileError("list", directory, error.value());
  if (files.size() > kMostFiles) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("The store has {} files, more than the {} of a backup.", files.size(),
                             kMostFiles));
  }
  std::sort(files.begin(), files.end(),
            [](const File& a, const File& b) { return a.name < b.name; });
  return files;
}

Status Publish(Place& place, const Backup& backup) {
  const std::string name = ManifestName(backup.id);
  const std::string text = FormatManifest(backup);
  if (text.size() > kMostManifestBytes) {
    return Error(
        ErrorCode::kUnavailable,
        fmt::format("The manifest of the backup has more than {} MB.", kMostManifestBytes >> 20));
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<transfer::ObjectWriter> writer, place.Write(name));
  TRY(writer->Append(text));
  TRY(writer->Finish());
  ASSIGN_OR_RETURN(const Backup read, ReadBackup(place, backup.id));
  static_cast<void>(read);
  return OkStatus();
}

}  // namespace

void RemoveCheckpoint(const std::string& data_dir) {
  // RocksDB makes it under a name of its own.
  for (const char* state : {"", ".tmp"}) {
    std::error_code error;
    const std::string path = CheckpointOf(data_dir) + state;
    fs::remove_all(path, error);
    if (error)
      LogWarn("links_of_backup_not_removed", {{"directory", path}, {"error", error.message()}});
  }
}

Result<Backup> ReadBackup(Place& place, const std::string& id) {
  const std::string name = ManifestName(id);
  Result<std::unique_ptr<transfer::ObjectReader>> reader = place.Read(name);
  if (!reader.ok()) return std::move(reader).error();
  if ((*reader)->size() > kMostManifestBytes)
    return CorruptionError(fmt::format("{} is damaged: it is too long.", name));
  std::string text;
  TRY((*reader)->Read(0, (*reader)->size(), &text));
  return ParseManifest(text, name);
}

Result<std::vector<std::string>> BackupIds(Place& place) {
  ASSIGN_OR_RETURN(const std::vector<Entry> entries, place.List("backups"));
  std::vector<std::string> ids;
  for (const Entry& each : entries) {
    const std::string_view id = IdInName(each.name);
    if (!id.empty()) ids.emplace_back(id);
  }
  return ids;
}

Status VisitBackups(Place& place, size_t most, std::vector<std::string>* damaged,
                    const std::function<void(Backup backup)>& visit) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, BackupIds(place));
  for (size_t i = ids.size() - std::min(most, ids.size()); i < ids.size(); ++i) {
    Result<Backup> backup = ReadBackup(place, ids[i]);
    if (backup.ok()) {
      visit(*std::move(backup));
    } else if (damaged != nullptr && backup.error().code() != ErrorCode::kResourceNotFound) {
      damaged->push_back(backup.error().message());
    } else {
      return std::move(backup).error();
    }
  }
  return OkStatus();
}

Result<Backup> NewestBackup(Place& place) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, BackupIds(place));
  return NewestOf(place, ids);
}

Result<Backup> MakeBackup(kv::Engine& engine, const std::string& data_dir, Place& place,
                          const Clock& clock, const MakeOptions& options) {
  TRY(place.Begin());
  const Ends ends(place, data_dir);
  Backup backup;
  backup.version = options.version;
  backup.key_id = options.key_id;
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, BackupIds(place));
  // A damaged manifest has a number, too.
  for (const std::string& id : ids) backup.number = std::max(backup.number, NumberIn(id));
  if (backup.number == kMostNumber) {
    return Error(ErrorCode::kUnavailable,
                 fmt::format("{} has the last number that a backup may have, in {}. Name another "
                             "place, or remove that manifest.",
                             ManifestName(ids.back()), place.name()));
  }
  ++backup.number;

  const std::string checkpoint = CheckpointOf(data_dir);
  Carrier carrier(place, checkpoint, options);
  TRY(carrier.Look(ids));
  RemoveCheckpoint(data_dir);
  backup.as_of_micros = clock.NowMicros();
  TRY(engine.Checkpoint(checkpoint));
  backup.until_micros = clock.NowMicros();
  backup.id = IdOf(backup.number, backup.as_of_micros);
  ASSIGN_OR_RETURN(backup.files, FilesIn(checkpoint));
  if (options.total) {
    uint64_t bytes = 0;
    std::error_code error;
    for (const File& file : backup.files)
      bytes += fs::file_size(fmt::format("{}/{}", checkpoint, file.name), error);
    options.total(bytes);
  }
  for (File& file : backup.files) TRY(carrier.Carry(&file, &backup));
  TRY(Publish(place, backup));
  return backup;
}

Result<Removed> RemoveOld(Place& place, uint64_t keep) {
  ASSIGN_OR_RETURN(const std::vector<std::string> ids, BackupIds(place));
  const size_t gone = keep == 0 || ids.size() <= keep ? 0 : ids.size() - keep;
  // All manifests are read before the first goes.
  std::set<std::string> needed;
  std::set<std::string> dropped;
  for (size_t i = 0; i < ids.size(); ++i) {
    const Result<Backup> backup = ReadBackup(place, ids[i]);
    if (!backup.ok()) {
      return Error(ErrorCode::kUnavailable,
                   fmt::format("No old backup was removed, because one cannot be read and may need "
                               "any object: {} Remove its manifest if it is of no use.",
                               backup.error().message()));
    }
    for (const File& file : backup->files) (i < gone ? dropped : needed).insert(ObjectName(file));
  }
  Removed removed;
  for (size_t i = 0; i < gone; ++i) {
    TRY(place.Remove(ManifestName(ids[i])));
    ++removed.backups;
  }
  ASSIGN_OR_RETURN(const std::vector<Entry> objects, place.List("objects"));
  for (const Entry& each : objects) {
    if (needed.contains(each.name)) continue;
    if (each.may_be_in_use && !dropped.contains(each.name)) continue;
    TRY(place.Remove(each.name));
    ++removed.objects;
    removed.bytes += each.bytes;
  }
  return removed;
}

}  // namespace stator::store_backup
