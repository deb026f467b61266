#include "base/executor.h"

namespace stator {

WorkerPool::WorkerPool(int threads, size_t max_queued) : max_queued_(max_queued) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

WorkerPool::~WorkerPool() { Stop(); }

bool WorkerPool::TryPost(UniqueFunction<void()>& task) {
  {
    MutexLock lock(mutex_);
    if (stopped_ || queue_.size() >= max_queued_) return false;
    queue_.push_back(std::move(task));
  }
  wake_.notify_one();
  return true;
}

void WorkerPool::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void WorkerPool::Run() NO_THREAD_SAFETY_ANALYSIS {
  while (true) {
    UniqueFunction<void()> task;
    {
      std::unique_lock<Mutex> lock(mutex_);
      wake_.wait(lock, [this]() NO_THREAD_SAFETY_ANALYSIS { return stopped_ || !queue_.empty(); });
      if (queue_.empty()) return;
      task = std::move(queue_.front());
      queue_.pop_front();
    }
    task();
  }
}

}  // namespace stator
