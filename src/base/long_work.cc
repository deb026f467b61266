#include "base/long_work.h"

#include <utility>

namespace stator {

bool LongWork::TryPost(UniqueFunction<void()>& task) {
  // It takes what is queued when it comes to run, this task first if no other waits.
  UniqueFunction<void()> runner = [this] { RunQueued(); };
  MutexLock lock(mutex_);
  if (queue_.size() >= max_queued_) return false;
  if (running_ >= at_once_) {
    queue_.push_back(std::move(task));
    return true;
  }
  queue_.emplace_back();  // before the pool promises to run it
  if (!pool_.TryPost(runner)) {
    queue_.pop_back();
    return false;
  }
  queue_.back() = std::move(task);
  ++running_;
  return true;
}

// A task that was queued while this thread was the last to run is seen here: both look under the
// mutex.
void LongWork::RunQueued() {
  while (true) {
    UniqueFunction<void()> task;
    {
      MutexLock lock(mutex_);
      if (queue_.empty()) {
        --running_;
        return;
      }
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    if (task) task();
  }
}

}  // namespace stator
