#include "triggers/crew.h"

#include <utility>

#include "base/mutex_wait.h"

namespace stator::triggers {

void Crew::Run(UniqueFunction<void()> task) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  queue_.push_back(std::move(task));
  if (queue_.size() > idle_) {
    threads_.emplace_back([this] { Loop(); });
  } else {
    wake_.notify_one();
  }
}

void Crew::Loop() {
  UniqueMutexLock lock(mutex_);
  while (true) {
    while (!queue_.empty()) {
      UniqueFunction<void()> task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
    if (stopped_) return;
    ++idle_;
    wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_ || !queue_.empty(); });
    --idle_;
  }
}

void Crew::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    threads = std::move(threads_);
    threads_.clear();
    wake_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace stator::triggers
