#include "kv_rocks/spare_descriptors.h"

#include <fcntl.h>
#include <rocksdb/env.h>
#include <rocksdb/file_system.h>
#include <unistd.h>

#include <vector>

#include "base/log.h"
#include "base/mutex.h"

namespace stator::kv_rocks {
namespace {

using rocksdb::FileOptions;
using rocksdb::IODebugContext;
using rocksdb::IOOptions;
using rocksdb::IOStatus;

class Spares {
 public:
  static Spares& Get() {
    static auto* const spares = new Spares;  // stores may end after other statics
    return *spares;
  }
  // Opens what is missing, as far as there are descriptors.
  void Fill() {
    MutexLock lock(mutex_);
    while (spares_.size() < kSpareDescriptors) {
      const int fd = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (fd < 0) return;
      spares_.push_back(fd);
    }
  }
  // Closes one. Returns false if there is none.
  bool GiveUpOne() {
    MutexLock lock(mutex_);
    if (spares_.empty()) return false;
    LogWarn("descriptor_taken_from_reserve", {{"left", spares_.size() - 1}});
    ::close(spares_.back());
    spares_.pop_back();
    return true;
  }

 private:
  Mutex mutex_;
  std::vector<int> spares_ GUARDED_BY(mutex_);
};

bool LacksDescriptors(const IOStatus& status) {
  // RocksDB keeps the text of errno and not its number.
  return status.IsIOError() && status.ToString().find("Too many open files") != std::string::npos;
}

class Files final : public rocksdb::FileSystemWrapper {
 public:
  Files() : FileSystemWrapper(rocksdb::FileSystem::Default()) {}
  const char* Name() const override { return "stator::SpareDescriptors"; }

  IOStatus NewSequentialFile(const std::string& path, const FileOptions& options,
                             std::unique_ptr<rocksdb::FSSequentialFile>* file,
                             IODebugContext* debug) override {
    return Try([&] { return FileSystemWrapper::NewSequentialFile(path, options, file, debug); });
  }
  IOStatus NewRandomAccessFile(const std::string& path, const FileOptions& options,
                               std::unique_ptr<rocksdb::FSRandomAccessFile>* file,
                               IODebugContext* debug) override {
    return Try([&] { return FileSystemWrapper::NewRandomAccessFile(path, options, file, debug); });
  }
  IOStatus NewWritableFile(const std::string& path, const FileOptions& options,
                           std::unique_ptr<rocksdb::FSWritableFile>* file,
                           IODebugContext* debug) override {
    return Try([&] { return FileSystemWrapper::NewWritableFile(path, options, file, debug); });
  }
  IOStatus ReopenWritableFile(const std::string& path, const FileOptions& options,
                              std::unique_ptr<rocksdb::FSWritableFile>* file,
                              IODebugContext* debug) override {
    return Try([&] { return FileSystemWrapper::ReopenWritableFile(path, options, file, debug); });
  }
  IOStatus NewDirectory(const std::string& path, const IOOptions& options,
                        std::unique_ptr<rocksdb::FSDirectory>* directory,
                        IODebugContext* debug) override {
    return Try([&] { return FileSystemWrapper::NewDirectory(path, options, directory, debug); });
  }
  IOStatus GetChildren(const std::string& path, const IOOptions& options,
                       std::vector<std::string>* names, IODebugContext* debug) override {
    return Try([&] { return FileSystemWrapper::GetChildren(path, options, names, debug); });
  }

 private:
  template <typename Open>
  static IOStatus Try(Open open) {
    IOStatus status = open();
    while (LacksDescriptors(status) && Spares::Get().GiveUpOne()) status = open();
    if (status.ok()) Spares::Get().Fill();
    return status;
  }
};

class SpareEnv final : public rocksdb::EnvWrapper {
 public:
  SpareEnv() : EnvWrapper(rocksdb::NewCompositeEnv(std::make_shared<Files>())) {}
  const char* Name() const override { return "stator::SpareDescriptors"; }
};

}  // namespace

std::unique_ptr<rocksdb::Env> MakeEnvWithSpares() {
  Spares::Get().Fill();
  return std::make_unique<SpareEnv>();
}

}  // namespace stator::kv_rocks
