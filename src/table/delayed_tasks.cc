#include "table/delayed_tasks.h"

#include "base/start_thread.h"

#include <utility>

namespace stator::table {
namespace {

// How soon a full pool is asked again.
constexpr auto kFullPause = std::chrono::milliseconds(1);

}  // namespace

void DelayedTasks::Post(UniqueFunction<void()> work, std::chrono::microseconds delay) {
  {
    MutexLock lock(mutex_);
    ++running_;
  }
  UniqueFunction<void()> task = [this, work = std::move(work)]() mutable {
    work();
    work = nullptr;
    Ended();
  };
  if (delay.count() == 0 && workers_.TryPost(task)) return;
  {
    MutexLock lock(mutex_);
    // Without a thread it is run at once.
    if (!stopped_ &&
        (thread_.joinable() || StartThread("delayed tasks", &thread_, [this] { Run(); }))) {
      waiting_.emplace(std::chrono::steady_clock::now() + delay, std::move(task));
      wake_.notify_all();
      return;
    }
  }
  task();
}

void DelayedTasks::Stop() {
  std::thread thread;
  std::multimap<Time, UniqueFunction<void()>> left;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    thread = std::move(thread_);
    left.swap(waiting_);
    wake_.notify_all();
  }
  if (thread.joinable()) thread.join();
  for (auto& [due, task] : left) task();
  MutexLock lock(mutex_);
  while (running_ > 0) wake_.wait(mutex_);
}

void DelayedTasks::Ended() {
  MutexLock lock(mutex_);
  if (--running_ == 0) wake_.notify_all();
}

bool DelayedTasks::stopped() const {
  MutexLock lock(mutex_);
  return stopped_;
}

void DelayedTasks::Run() {
  MutexLock lock(mutex_);
  while (!stopped_) {
    if (waiting_.empty()) {
      wake_.wait(mutex_);
      continue;
    }
    const auto first = waiting_.begin();
    const Time now = std::chrono::steady_clock::now();
    if (first->first > now) {
      wake_.wait_for(mutex_, first->first - now);
      continue;
    }
    UniqueFunction<void()> task = std::move(first->second);
    waiting_.erase(first);
    // The pool's lock is taken under ours; it never calls back from within.
    if (workers_.TryPost(task)) continue;
    waiting_.emplace(now + kFullPause, std::move(task));
  }
}

}  // namespace stator::table
