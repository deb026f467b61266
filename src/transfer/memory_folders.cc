// Folders of backups in memory.
#include <algorithm>
#include <map>

#include "base/mutex.h"
#include "transfer/folders.h"

namespace stator::transfer {
namespace {

using Bytes = std::shared_ptr<std::string>;

class MemoryWriter final : public ObjectWriter {
 public:
  explicit MemoryWriter(Bytes bytes) : bytes_(std::move(bytes)) {}
  Status Append(std::string_view bytes) override {
    bytes_->append(bytes);
    return OkStatus();
  }
  Status Finish() override { return OkStatus(); }

 private:
  const Bytes bytes_;
};

class MemoryReader final : public ObjectReader {
 public:
  explicit MemoryReader(Bytes bytes) : bytes_(std::move(bytes)) {}
  uint64_t size() const override { return bytes_->size(); }
  Status Read(uint64_t offset, size_t bytes, std::string* out) override {
    out->assign(*bytes_, std::min<uint64_t>(offset, bytes_->size()), bytes);
    return OkStatus();
  }

 private:
  const Bytes bytes_;
};

class MemoryFolders final : public Folders {
 public:
  Result<std::vector<std::string>> Open() override { return std::vector<std::string>(); }
  Result<std::unique_ptr<ObjectWriter>> Write(const std::string& folder,
                                              const std::string& object) override {
    auto bytes = std::make_shared<std::string>();
    const MutexLock lock(mutex_);
    folders_[folder][object] = bytes;
    return std::unique_ptr<ObjectWriter>(std::make_unique<MemoryWriter>(std::move(bytes)));
  }
  Status Publish(const std::string&) override { return OkStatus(); }
  Result<std::unique_ptr<ObjectReader>> Read(const std::string& folder,
                                             const std::string& object) override {
    const MutexLock lock(mutex_);
    const auto objects = folders_.find(folder);
    if (objects != folders_.end()) {
      if (const auto found = objects->second.find(object); found != objects->second.end())
        return std::unique_ptr<ObjectReader>(std::make_unique<MemoryReader>(found->second));
    }
    return Error(ErrorCode::kResourceNotFound, "There is no " + folder + "/" + object + ".");
  }
  Status Remove(const std::string& folder) override {
    const MutexLock lock(mutex_);
    folders_.erase(folder);
    return OkStatus();
  }
  std::string place() const override { return "memory"; }

 private:
  Mutex mutex_;
  std::map<std::string, std::map<std::string, Bytes>> folders_ GUARDED_BY(mutex_);
};

}  // namespace

std::unique_ptr<Folders> MakeMemoryFolders() { return std::make_unique<MemoryFolders>(); }

}  // namespace stator::transfer
