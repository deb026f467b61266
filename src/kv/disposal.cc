#include "kv/disposal.h"

#include <cstddef>
#include <cstdint>
#include <memory>

#include "base/executor.h"
#include "base/mutex.h"

namespace stator::kv {

struct Disposal::Parts {
  Mutex mutex;
  std::unique_ptr<WorkerPool> thread GUARDED_BY(mutex);
};

Disposal::Disposal() : parts_(std::make_unique<Parts>()) {}
Disposal::~Disposal() = default;

void Disposal::Add(UniqueFunction<void()> last) {
  const MutexLock lock(parts_->mutex);
  if (parts_->thread == nullptr) parts_->thread = std::make_unique<WorkerPool>(1, SIZE_MAX);
  parts_->thread->TryPost(last);
}

}  // namespace stator::kv
