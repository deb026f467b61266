#include "base/timer.h"

#include "base/start_thread.h"

namespace stator {

void Timer::After(int64_t micros, Executor& executor, UniqueFunction<void()> task) {
  MutexLock lock(mutex_);
  if (stopped_) return;
  // Without a thread it is run at once.
  if (!thread_.joinable() && !StartThread("timer", &thread_, [this] { Run(); }))
    return executor.Post(std::move(task));
  waiting_.emplace(std::chrono::steady_clock::now() + std::chrono::microseconds(micros),
                   Waiting{&executor, std::move(task)});
  wake_.notify_one();
}

void Timer::Stop() {
  std::multimap<Time, Waiting> dropped;
  std::thread thread;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(waiting_);
    thread.swap(thread_);
    wake_.notify_one();
  }
  if (thread.joinable()) thread.join();
}

void Timer::Run() {
  while (true) {
    Waiting due;
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
    due.executor->Post(std::move(due.task));
  }
}

}  // namespace stator
