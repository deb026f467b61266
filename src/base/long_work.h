// Runs long computation on the threads of a pool whose tasks mostly wait for I/O.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator {

// Runs tasks on a few threads of a WorkerPool at a time; the pool's other threads stay free for
// reads that wait. Tasks of one length keep their order, the lengths take turns, and one thread is
// kept for short ones: nothing waits for more than what is under way and tasks like itself.
// Thread-safe. The pool outlives it and is stopped first.
class LongWork {
 public:
  // How long a task takes at most, on one thread: a few milliseconds, a tenth of a second, longer.
  enum class Length : uint8_t { kShort, kMiddle, kLong };

  static constexpr size_t kLengths = 3;
  // Tasks that may wait, by length. Each length waits for a second or a few at most.
  using Bounds = std::array<size_t, kLengths>;

  explicit LongWork(WorkerPool& pool, size_t at_once = 3, Bounds most_queued = {512, 128, 64})
      : pool_(pool), at_once_(at_once), most_queued_(most_queued) {}

  // Queues a task. Returns false and leaves `task` untouched if too many of its length wait or the
  // pool takes nothing.
  bool TryPost(UniqueFunction<void()>& task, Length length = Length::kShort) {
    return Queue(task, length, most_queued_[static_cast<size_t>(length)]);
  }
  // The same for the short end of work that was taken on, whose result would be lost otherwise:
  // however many wait.
  bool TryPostEnd(UniqueFunction<void()>& task) { return Queue(task, Length::kShort, SIZE_MAX); }

 private:
  bool Queue(UniqueFunction<void()>& task, Length length, size_t most);

  void RunQueued();
  // Takes the task whose turn it is. Returns false if there is none for one thread more.
  bool Take(UniqueFunction<void()>* task, Length* length) REQUIRES(mutex_);

  WorkerPool& pool_;
  const size_t at_once_;
  const Bounds most_queued_;
  Mutex mutex_;
  std::array<std::deque<UniqueFunction<void()>>, kLengths> queues_ GUARDED_BY(mutex_);
  size_t threads_ GUARDED_BY(mutex_) = 0;  // that run tasks, or are about to
  size_t longer_ GUARDED_BY(mutex_) = 0;   // tasks that run and are not short
  size_t last_ GUARDED_BY(mutex_) = 0;     // the length whose turn was the last
};

}  // namespace stator
