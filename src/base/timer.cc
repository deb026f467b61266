#include "base/timer.h"

#include <utility>

#include "base/start_thread.h"

namespace stator {

bool Timer::After(int64_t micros, UniqueFunction<void()>&& task) {
  MutexLock lock(mutex_);
  if (stopped_) return false;
  if (!thread_.joinable() && !StartThread("timer", &thread_, [this] { Run(); })) return false;
  const auto added = waiting_.emplace(
      std::chrono::steady_clock::now() + std::chrono::microseconds(micros), std::move(task));
  if (added == waiting_.begin()) wake_.notify_one();
  return true;
}

void Timer::After(int64_t micros, Executor& executor, UniqueFunction<void()> task) {
  UniqueFunction<void()> post = [&executor, task = std::move(task)]() mutable {
    executor.Post(std::move(task));
  };
  if (!After(micros, std::move(post)) && !stopped()) post();
}

bool Timer::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

Timer::Tasks Timer::TakeAll() {
  Tasks tasks;
  MutexLock lock(mutex_);
  tasks.reserve(waiting_.size());
  for (auto& [due, task] : waiting_) tasks.push_back(std::move(task));
  waiting_.clear();
  return tasks;
}

Timer::Tasks Timer::Stop() {
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    thread.swap(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
  return TakeAll();
}

void Timer::Run() {
  while (true) {
    UniqueFunction<void()> due;
    {
      MutexLock lock(mutex_);
      while (!stopped_ &&
             (waiting_.empty() || waiting_.begin()->first > std::chrono::steady_clock::now())) {
        if (waiting_.empty()) {
          wake_.wait(mutex_);
        } else {
          // A copy: the entry may be removed during the wait.
          const Time until = waiting_.begin()->first;
          wake_.wait_until(mutex_, until);
        }
      }
      if (stopped_) return;
      due = std::move(waiting_.begin()->second);
      waiting_.erase(waiting_.begin());
    }
    due();
  }
}

}  // namespace stator
