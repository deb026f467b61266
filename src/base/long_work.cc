#include "base/long_work.h"

#include <algorithm>
#include <utility>

namespace stator {

bool LongWork::Queue(UniqueFunction<void()>& task, Length length, size_t most) {
  // It takes what is queued when it comes to run, this task first if no other waits.
  UniqueFunction<void()> runner = [this] { RunQueued(); };
  MutexLock lock(mutex_);
  std::deque<UniqueFunction<void()>>& queue = queues_[static_cast<size_t>(length)];
  if (queue.size() >= most) return false;
  queue.emplace_back();  // before the pool promises to run it
  if (threads_ < at_once_) {
    if (!pool_.TryPost(runner)) {
      queue.pop_back();
      return false;
    }
    ++threads_;
  }
  queue.back() = std::move(task);
  return true;
}

bool LongWork::Take(UniqueFunction<void()>* task, Length* length) {
  const size_t most_longer = std::max<size_t>(1, at_once_ - 1);
  for (size_t i = 1; i <= kLengths; ++i) {
    const size_t turn = (last_ + i) % kLengths;
    if (queues_[turn].empty() || (turn > 0 && longer_ >= most_longer)) continue;
    last_ = turn;
    *length = static_cast<Length>(turn);
    *task = std::move(queues_[turn].front());
    queues_[turn].pop_front();
    if (*length != Length::kShort) ++longer_;
    return true;
  }
  return false;
}

// A task that was queued while this thread was the last to run is seen here: both look under the
// mutex. Longer tasks for which no thread is left are seen by the threads that run such.
void LongWork::RunQueued() {
  Length length = Length::kShort;
  while (true) {
    UniqueFunction<void()> task;
    {
      MutexLock lock(mutex_);
      if (length != Length::kShort) --longer_;  // the one before has ended
      if (!Take(&task, &length)) {
        --threads_;
        return;
      }
    }
    task();
  }
}

}  // namespace stator
