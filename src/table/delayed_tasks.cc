#include "table/delayed_tasks.h"

#include <memory>
#include <utility>

namespace stator::table {
namespace {

// How soon a full pool is asked again.
constexpr std::chrono::milliseconds kFullPause(1);

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
  GiveAfter(delay, std::move(task));
}

void DelayedTasks::GiveAfter(std::chrono::microseconds delay, UniqueFunction<void()> task) {
  const auto kept = std::make_shared<UniqueFunction<void()>>(std::move(task));
  UniqueFunction<void()> give = [this, kept] {
    if (stopped()) return (*kept)();
    if (!workers_.TryPost(*kept)) GiveAfter(kFullPause, std::move(*kept));
  };
  if (timer_.After(delay.count(), std::move(give))) return;
  // It is stopped, or the system makes no thread: without the delay.
  if (stopped() || !workers_.TryPost(*kept)) (*kept)();
}

void DelayedTasks::Stop() {
  {
    MutexLock lock(mutex_);
    stopped_ = true;
  }
  for (UniqueFunction<void()>& give : timer_.Stop()) give();
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

}  // namespace stator::table
