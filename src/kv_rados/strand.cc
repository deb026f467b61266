#include "kv_rados/strand.h"

#include <cstddef>
#include <cstdint>
#include <utility>

#include "base/executor.h"

namespace stator::kv_rados {

void Strand::Run(UniqueFunction<void()> task) {
  {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    if (running_) return;
  }
  RunSome(SIZE_MAX);
}

void Strand::RunAfter() {
  {
    MutexLock lock(mutex_);
    after_due_ = true;
    if (running_ || !tasks_.empty()) return;  // these were handed over
  }
  RunSome(1);
}

void Strand::Go() { RunSome(SIZE_MAX); }

bool Strand::idle() const {
  MutexLock lock(mutex_);
  return !running_ && !after_due_ && tasks_.empty();
}

void Strand::RunSome(size_t rounds) {
  std::vector<UniqueFunction<void()>> tasks;
  {
    MutexLock lock(mutex_);
    if (running_) return;
    running_ = true;
  }
  const WakeUps once;
  while (true) {
    {
      MutexLock lock(mutex_);
      const bool left = after_due_ || !tasks_.empty();
      if (!left || rounds == 0) {
        running_ = false;
        if (left) hand_over_();
        return;
      }
      after_due_ = false;
      tasks.swap(tasks_);
    }
    --rounds;
    for (UniqueFunction<void()>& task : tasks) task();
    tasks.clear();
    after_();
  }
}

}  // namespace stator::kv_rados
