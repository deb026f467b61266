#include "base/executor.h"

#include "base/mutex_wait.h"

namespace stator {

WorkerPool::WorkerPool(int threads, size_t max_queued)
    : max_queued_(max_queued), sleepers_(static_cast<size_t>(threads)) {
  asleep_.reserve(sleepers_.size());  // a thread that falls asleep must not run out of memory
  for (Sleeper& sleeper : sleepers_) threads_.emplace_back([this, &sleeper] { Run(sleeper); });
}

WorkerPool::~WorkerPool() { Stop(); }

bool WorkerPool::TryPost(UniqueFunction<void()>& task) {
  Sleeper* next = nullptr;
  {
    MutexLock lock(mutex_);
    if (stopped_ || queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(task));
    if (!asleep_.empty()) {
      next = asleep_.back();
      asleep_.pop_back();
      next->woken = true;
    }
  }
  if (next != nullptr) next->wake.notify_one();
  return true;
}

void WorkerPool::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    for (Sleeper* sleeper : asleep_) {
      sleeper->woken = true;
      sleeper->wake.notify_one();
    }
    asleep_.clear();
  }
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkerPool::Run(Sleeper& self) {
  UniqueMutexLock lock(mutex_);
  while (true) {
    if (!queue_.empty()) {
      UniqueFunction<void()> task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    } else if (stopped_) {
      return;
    } else {
      asleep_.push_back(&self);
      self.wake.wait(lock, [&self]() { return self.woken; });
      self.woken = false;
    }
  }
}

}  // namespace stator
