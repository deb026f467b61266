// An object store in memory.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/mutex.h"
#include "exchange/object_store.h"

namespace stator::exchange {
namespace {

using Bytes = std::shared_ptr<const std::string>;
using Name = std::pair<std::string, std::string>;  // bucket and key

// The objects. Their writers and readers share it.
struct Objects {
  explicit Objects(uint64_t most) : most_bytes(most) {}
  const uint64_t most_bytes;
  Mutex mutex;
  std::map<Name, Bytes> objects GUARDED_BY(mutex);
  uint64_t bytes GUARDED_BY(mutex) = 0;  // those being written included
};

class MemoryWriter final : public transfer::ObjectWriter {
 public:
  MemoryWriter(std::shared_ptr<Objects> all, Name name)
      : all_(std::move(all)), name_(std::move(name)) {}
  ~MemoryWriter() override {
    const MutexLock lock(all_->mutex);
    all_->bytes -= bytes_.size();
  }
  Status Append(std::string_view bytes) override {
    {
      const MutexLock lock(all_->mutex);
      if (all_->bytes + bytes.size() > all_->most_bytes) {
        return Error(ErrorCode::kUnavailable,
                     fmt::format("Cannot write {}/{}: objects in memory have {} MB at most. Name a "
                                 "directory (--object-store).",
                                 name_.first, name_.second, all_->most_bytes >> 20));
      }
      all_->bytes += bytes.size();
    }
    bytes_.append(bytes);
    return OkStatus();
  }
  Status Finish() override {
    const MutexLock lock(all_->mutex);
    Bytes& place = all_->objects[name_];
    if (place != nullptr) all_->bytes -= place->size();
    place = std::make_shared<const std::string>(std::exchange(bytes_, {}));
    return OkStatus();
  }

 private:
  const std::shared_ptr<Objects> all_;
  const Name name_;
  std::string bytes_;
};

class MemoryReader final : public transfer::ObjectReader {
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

class MemoryObjects final : public ObjectStore {
 public:
  explicit MemoryObjects(uint64_t most_bytes) : all_(std::make_shared<Objects>(most_bytes)) {}

  Status CheckBucket(const std::string& bucket) override { return CheckBucketName(bucket); }
  Status MakeBucket(const std::string& bucket) override { return CheckBucketName(bucket); }
  Result<std::unique_ptr<transfer::ObjectWriter>> Write(const std::string& bucket,
                                                        const std::string& key) override {
    TRY(CheckBucketName(bucket));
    TRY(CheckKey(key));
    return std::unique_ptr<transfer::ObjectWriter>(
        std::make_unique<MemoryWriter>(all_, Name(bucket, key)));
  }
  Result<std::unique_ptr<transfer::ObjectReader>> Read(const std::string& bucket,
                                                       const std::string& key) override {
    const MutexLock lock(all_->mutex);
    const auto found = all_->objects.find(Name(bucket, key));
    if (found == all_->objects.end()) {
      return Error(ErrorCode::kResourceNotFound,
                   fmt::format("The object {} of the bucket {} is missing.", key, bucket));
    }
    return std::unique_ptr<transfer::ObjectReader>(std::make_unique<MemoryReader>(found->second));
  }
  Result<std::vector<ObjectInfo>> List(const std::string& bucket, std::string_view prefix,
                                       size_t most) override {
    std::vector<ObjectInfo> list;
    const MutexLock lock(all_->mutex);
    for (auto it = all_->objects.lower_bound(Name(bucket, std::string(prefix)));
         it != all_->objects.end() && it->first.first == bucket &&
         it->first.second.starts_with(prefix);
         ++it) {
      if (list.size() == most) {
        return Error(ErrorCode::kLimitExceeded,
                     fmt::format("The prefix has more than {} objects.", most));
      }
      list.push_back({it->first.second, it->second->size()});
    }
    return list;
  }
  std::string place() const override { return "memory"; }

 private:
  const std::shared_ptr<Objects> all_;
};

}  // namespace

std::unique_ptr<ObjectStore> MakeMemoryObjects(uint64_t most_bytes) {
  return std::make_unique<MemoryObjects>(most_bytes);
}

}  // namespace stator::exchange
