#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <rocksdb/system_clock.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <vector>

#include "base/mutex.h"
#include "kv_rocks/power_cut_disk.h"

namespace stator::kv_rocks {
namespace {

using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;
namespace fs = std::filesystem;

constexpr uint64_t kPage = 4096;

IOStatus NoPower() { return IOStatus::IOError("the power is off"); }

// What is known of the disk. Paths are those that RocksDB uses.
class Books {
 public:
  explicit Books(std::string directory) : shadow_(directory + ".unsynced") {
    fs::create_directories(shadow_);
  }
  ~Books() { fs::remove_all(shadow_); }

  // False when the power is off. Every operation that changes something asks first.
  bool Operate() {
    MutexLock lock(mutex_);
    if (cut_) return false;
    ++operations_;
    if (left_ > 0 && --left_ == 0) cut_ = true;
    return !cut_;
  }
  bool FailLogSync() {
    MutexLock lock(mutex_);
    if (failing_ == 0) return false;
    --failing_;
    return true;
  }

  void Created(const std::string& path) {
    MutexLock lock(mutex_);
    changes_[Parent(path)].push_back({Change::kCreate, path, {}, {}});
    synced_[path] = 0;
    size_[path] = 0;
  }
  void Appended(const std::string& path, uint64_t bytes) {
    MutexLock lock(mutex_);
    size_[path] += bytes;
  }
  void Truncated(const std::string& path, uint64_t size) {
    MutexLock lock(mutex_);
    size_[path] = size;
    synced_[path] = std::min(synced_[path], size);
  }
  void Synced(const std::string& path) {
    MutexLock lock(mutex_);
    synced_[path] = size_[path];
  }
  void DirectorySynced(const std::string& path) {
    MutexLock lock(mutex_);
    changes_.erase(Normal(path));
  }
  // Before the real deletion; the file stays in the shadow until the directory is synced.
  void Deleting(const std::string& path) {
    MutexLock lock(mutex_);
    changes_[Parent(path)].push_back({Change::kDelete, path, {}, Keep(path)});
  }
  void Renaming(const std::string& from, const std::string& to) {
    MutexLock lock(mutex_);
    changes_[Parent(to)].push_back({Change::kRename, to, from, Keep(to)});
    size_[to] = size_[from];
    synced_[to] = synced_[from];
  }

  void CutAfter(uint64_t operations) {
    MutexLock lock(mutex_);
    left_ = operations;
  }
  void CutNow() {
    MutexLock lock(mutex_);
    cut_ = true;
  }
  bool cut() const {
    MutexLock lock(mutex_);
    return cut_;
  }
  void FailLogSyncs(int count) {
    MutexLock lock(mutex_);
    failing_ = count;
  }
  uint64_t operations() const {
    MutexLock lock(mutex_);
    return operations_;
  }

  void Lose(Random& random, bool holes) {
    MutexLock lock(mutex_);
    for (auto& [directory, changes] : changes_) {
      const size_t kept = random.Below(changes.size() + 1);
      while (changes.size() > kept) {
        Undo(changes.back());
        changes.pop_back();
      }
    }
    for (const auto& [path, size] : size_) {
      const uint64_t synced = synced_[path];
      if (size == synced || !fs::exists(path)) continue;
      if (holes && random.Below(3) != 0) {
        Hole(path, synced, size, random);
      } else {
        fs::resize_file(path, synced + random.Below(size - synced + 1));
      }
    }
    changes_.clear();
    size_.clear();
    synced_.clear();
    cut_ = false;
    left_ = 0;
  }

 private:
  struct Change {
    enum Kind { kCreate, kDelete, kRename } kind;
    std::string path;
    std::string from;  // of a rename
    std::string kept;  // where the file that was at `path` is; empty: there was none
  };

  static std::string Normal(const std::string& path) {
    std::string normal = fs::path(path).lexically_normal().string();
    if (normal.size() > 1 && normal.back() == '/') normal.pop_back();
    return normal;
  }
  static std::string Parent(const std::string& path) {
    return Normal(fs::path(path).parent_path().string());
  }

  std::string Keep(const std::string& path) {
    if (!fs::exists(path)) return {};
    const std::string kept = shadow_ + "/" + std::to_string(++kept_);
    fs::create_hard_link(path, kept);
    return kept;
  }

  void Undo(const Change& change) {
    if (change.kind == Change::kRename) {
      fs::rename(change.path, change.from);
      size_[change.from] = size_[change.path];
      synced_[change.from] = synced_[change.path];
      size_.erase(change.path);
    } else if (change.kind == Change::kCreate) {
      fs::remove(change.path);
      size_.erase(change.path);
    }
    if (!change.kept.empty()) fs::rename(change.kept, change.path);
  }

  // Pages reach a disk in any order: the file has its full length, and some pages since the last
  // sync are zeros.
  static void Hole(const std::string& path, uint64_t synced, uint64_t size, Random& random) {
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (uint64_t at = synced; at < size;) {
      const uint64_t end = std::min(size, (at / kPage + 1) * kPage);
      if (random.Below(2) == 0) {
        file.seekp(static_cast<std::streamoff>(at));
        file << std::string(end - at, '\0');
      }
      at = end;
    }
  }

  const std::string shadow_;
  mutable Mutex mutex_;
  std::map<std::string, std::vector<Change>> changes_ GUARDED_BY(mutex_);  // by directory
  std::map<std::string, uint64_t> size_ GUARDED_BY(mutex_);
  std::map<std::string, uint64_t> synced_ GUARDED_BY(mutex_);
  uint64_t kept_ GUARDED_BY(mutex_) = 0;
  uint64_t operations_ GUARDED_BY(mutex_) = 0;
  uint64_t left_ GUARDED_BY(mutex_) = 0;
  int failing_ GUARDED_BY(mutex_) = 0;
  bool cut_ GUARDED_BY(mutex_) = false;
};

class File final : public rocksdb::FSWritableFileOwnerWrapper {
 public:
  File(std::unique_ptr<rocksdb::FSWritableFile> file, std::string path, Books* books)
      : FSWritableFileOwnerWrapper(std::move(file)), path_(std::move(path)), books_(books) {}

  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  IODebugContext* debug) override {
    if (!books_->Operate()) return NoPower();
    IOStatus status = target()->Append(data, options, debug);
    if (status.ok()) books_->Appended(path_, data.size());
    return status;
  }
  IOStatus Append(const rocksdb::Slice& data, const IOOptions& options,
                  const rocksdb::DataVerificationInfo&, IODebugContext* debug) override {
    return Append(data, options, debug);
  }
  IOStatus Truncate(uint64_t size, const IOOptions& options, IODebugContext* debug) override {
    if (!books_->Operate()) return NoPower();
    IOStatus status = target()->Truncate(size, options, debug);
    if (status.ok()) books_->Truncated(path_, size);
    return status;
  }
  IOStatus Sync(const IOOptions&, IODebugContext*) override {
    if (!books_->Operate()) return NoPower();
    if (path_.ends_with(".log") && books_->FailLogSync())
      return IOStatus::IOError("the disk does not answer");
    books_->Synced(path_);
    return IOStatus::OK();
  }
  IOStatus Fsync(const IOOptions& options, IODebugContext* debug) override {
    return Sync(options, debug);
  }
  IOStatus RangeSync(uint64_t, uint64_t, const IOOptions&, IODebugContext*) override {
    return books_->cut() ? NoPower() : IOStatus::OK();  // a hint, no promise
  }

 private:
  const std::string path_;
  Books* const books_;
};

class Directory final : public rocksdb::FSDirectoryWrapper {
 public:
  Directory(std::unique_ptr<rocksdb::FSDirectory> directory, std::string path, Books* books)
      : FSDirectoryWrapper(std::move(directory)), path_(std::move(path)), books_(books) {}

  IOStatus Fsync(const IOOptions&, IODebugContext*) override {
    if (!books_->Operate()) return NoPower();
    books_->DirectorySynced(path_);
    return IOStatus::OK();
  }
  IOStatus FsyncWithDirOptions(const IOOptions& options, IODebugContext* debug,
                               const rocksdb::DirFsyncOptions&) override {
    return Fsync(options, debug);
  }

 private:
  const std::string path_;
  Books* const books_;
};

class Files final : public rocksdb::FileSystemWrapper {
 public:
  explicit Files(Books* books) : FileSystemWrapper(rocksdb::FileSystem::Default()), books_(books) {}
  const char* Name() const override { return "PowerCutDisk"; }

  IOStatus NewWritableFile(const std::string& path, const rocksdb::FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* result,
                           IODebugContext* debug) override {
    if (!books_->Operate()) return NoPower();
    const bool existed = fs::exists(path);
    if (existed) books_->Deleting(path);
    if (existed) fs::remove(path);  // a new inode, so that the old one can come back
    std::unique_ptr<rocksdb::FSWritableFile> file;
    IOStatus status = FileSystemWrapper::NewWritableFile(path, options, &file, debug);
    if (!status.ok()) return status;
    books_->Created(path);
    *result = std::make_unique<File>(std::move(file), path, books_);
    return status;
  }
  IOStatus ReopenWritableFile(const std::string&, const rocksdb::FileOptions&,
                              std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return IOStatus::NotSupported("PowerCutDisk: ReopenWritableFile");
  }
  IOStatus ReuseWritableFile(const std::string&, const std::string&, const rocksdb::FileOptions&,
                             std::unique_ptr<rocksdb::FSWritableFile>*, IODebugContext*) override {
    return IOStatus::NotSupported("PowerCutDisk: ReuseWritableFile");
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* result,
                        IODebugContext* debug) override {
    std::unique_ptr<rocksdb::FSDirectory> directory;
    IOStatus status = FileSystemWrapper::NewDirectory(path, options, &directory, debug);
    if (status.ok()) *result = std::make_unique<Directory>(std::move(directory), path, books_);
    return status;
  }
  IOStatus DeleteFile(const std::string& path, const IOOptions& options,
                      IODebugContext* debug) override {
    if (!books_->Operate()) return NoPower();
    books_->Deleting(path);
    return FileSystemWrapper::DeleteFile(path, options, debug);
  }
  IOStatus RenameFile(const std::string& from, const std::string& to, const IOOptions& options,
                      IODebugContext* debug) override {
    if (!books_->Operate()) return NoPower();
    if (from.find("/LOG") == std::string::npos)
      books_->Renaming(from, to);  // RocksDB's own messages do not matter
    return FileSystemWrapper::RenameFile(from, to, options, debug);
  }

 private:
  Books* const books_;
};

// RocksDB waits a second after a failed flush or compaction; after a cut there is nothing to wait
// for.
class ImpatientClock final : public rocksdb::SystemClockWrapper {
 public:
  explicit ImpatientClock(const Books* books)
      : SystemClockWrapper(rocksdb::SystemClock::Default()), books_(books) {}
  const char* Name() const override { return "ImpatientClock"; }
  void SleepForMicroseconds(int micros) override {
    target_->SleepForMicroseconds(books_->cut() ? 1 : micros);
  }

 private:
  const Books* const books_;
};

class DiskEnv final : public rocksdb::EnvWrapper {
 public:
  explicit DiskEnv(Books* books)
      : EnvWrapper(rocksdb::NewCompositeEnv(std::make_shared<Files>(books))) {
    system_clock_ = std::make_shared<ImpatientClock>(books);
  }
};

class Disk final : public PowerCutDisk {
 public:
  explicit Disk(const std::string& directory) : books_(directory), env_(&books_) {}
  rocksdb::Env* env() override { return &env_; }
  void CutAfter(uint64_t operations) override { books_.CutAfter(operations); }
  void CutNow() override { books_.CutNow(); }
  bool cut() const override { return books_.cut(); }
  void LoseUnsynced(Random& random, bool holes) override { books_.Lose(random, holes); }
  void FailLogSyncs(int count) override { books_.FailLogSyncs(count); }
  uint64_t operations() const override { return books_.operations(); }

 private:
  Books books_;
  DiskEnv env_;
};

}  // namespace

std::unique_ptr<PowerCutDisk> PowerCutDisk::Make(const std::string& directory) {
  return std::make_unique<Disk>(directory);
}

}  // namespace stator::kv_rocks
