#include "kv_tx/scheduler.h"

#include <utility>

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
      UniqueFunction<void()> post = [this, task = std::move(task)]() mutable {
        Post(std::move(task));
      };
      // Give the task to the timer under the lock, so that Hurry finds it. If the timer gets no
      // thread from the system, the task runs at once.
      if (timer_.After(delay_micros, std::move(post))) return;
      task = std::move(post);
    }
    tasks_.push_back(std::move(task));
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
  }
  for (UniqueFunction<void()>& post : timer_.TakeAll()) post();
}

void ThreadScheduler::Stop() {
  std::deque<UniqueFunction<void()>> dropped;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    dropped.swap(tasks_);
  }
  wake_.notify_all();
  const Timer::Tasks late = timer_.Stop();
  for (std::thread& thread : threads_) {
    if (thread.joinable()) thread.join();
  }
}

void ThreadScheduler::Run() {
  UniqueMutexLock lock(mutex_);
  while (true) {
    if (!tasks_.empty()) {
      UniqueFunction<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    } else if (stopped_) {
      return;
    } else {
      wake_.wait(lock);
    }
  }
}

}  // namespace stator::kv_tx
