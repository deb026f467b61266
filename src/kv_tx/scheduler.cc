#include "kv_tx/scheduler.h"

#include <chrono>

#include "base/mutex_wait.h"

namespace stator::kv_tx {

ThreadScheduler::ThreadScheduler(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { Run(); });
}

void ThreadScheduler::Post(UniqueFunction<void()> task, int64_t delay_micros) {
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    if (delay_micros > 0 && !hurrying_) {
      delayed_.emplace(std::chrono::steady_clock::now() + std::chrono::microseconds(delay_micros),
                       std::move(task));
    } else {
      tasks_.push_back(std::move(task));
    }
  }
  wake_.notify_one();
}

void ThreadScheduler::Await(FunctionRef<bool()> ready) {
  UniqueMutexLock lock(waiting_mutex_);
  waiting_.wait(lock, [&] { return ready(); });
}

void ThreadScheduler::Wake() {
  // The lock makes sure that a thread which has found `ready` false already waits.
  { MutexLock lock(waiting_mutex_); }
  waiting_.notify_all();
}

void ThreadScheduler::Hurry() {
  {
    MutexLock lock(mutex_);
    hurrying_ = true;
    for (auto& [time, task] : delayed_) tasks_.push_back(std::move(task));
    delayed_.clear();
  }
  wake_.notify_all();
}

void ThreadScheduler::Stop() {
  std::deque<UniqueFunction<void()>> dropped;
  std::multimap<Time, UniqueFunction<void()>> late;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
    late.swap(delayed_);
  }
  wake_.notify_all();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ThreadScheduler::Run() {
  UniqueMutexLock lock(mutex_);
  while (true) {
    for (const Time now = std::chrono::steady_clock::now();
         !delayed_.empty() && delayed_.begin()->first <= now;) {
      tasks_.push_back(std::move(delayed_.begin()->second));
      delayed_.erase(delayed_.begin());
    }
    if (!tasks_.empty()) {
      UniqueFunction<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    } else if (stopped_) {
      return;
    } else if (delayed_.empty()) {
      wake_.wait(lock);
    } else {
      const Time next = delayed_.begin()->first;
      wake_.wait_until(lock, next);
    }
  }
}

}  // namespace stator::kv_tx
