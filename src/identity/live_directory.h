// The directory that requests see: a snapshot that is replaced as a whole.
#pragma once

#include <memory>
#include <utility>

#include "access/directory.h"
#include "base/mutex.h"

namespace stator::identity {

// Thread-safe. A request goes on with the snapshot in which it found its key.
class LiveDirectory final : public access::KeySource {
 public:
  explicit LiveDirectory(std::shared_ptr<const access::Directory> directory)
      : directory_(std::move(directory)) {}

  access::KeyLookup Find(std::string_view key_id, std::string_view token) const override {
    return snapshot()->Find(key_id, token);
  }
  std::shared_ptr<const access::Directory> snapshot() const {
    const MutexLock lock(mutex_);
    return directory_;
  }
  void Replace(std::shared_ptr<const access::Directory> directory) {
    {
      const MutexLock lock(mutex_);
      directory_.swap(directory);
    }
    // The former snapshot, if this is its last owner, goes here, outside the lock.
  }

 private:
  mutable Mutex mutex_;
  std::shared_ptr<const access::Directory> directory_ GUARDED_BY(mutex_);
};

}  // namespace stator::identity
