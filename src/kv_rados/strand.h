// Runs tasks one after the other, without a thread of its own: the thread that adds a task runs it
// at once, with those that other threads add meanwhile. So no task waits for a thread to wake up.
// Internal to the room.
#pragma once

#include <functional>
#include <vector>

#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator::kv_rados {

// Thread-safe.
class Strand {
 public:
  // `after` runs on the strand behind tasks, once for those that were there. `hand_over` has Go
  // called on another thread, soon; it is called by any thread, and must not call the strand
  // itself.
  Strand(std::function<void()> after, std::function<void()> hand_over)
      : after_(std::move(after)), hand_over_(std::move(hand_over)) {}

  // Runs the task now, or leaves it to the thread that is running tasks. In the first case it also
  // runs tasks that other threads add meanwhile, so only threads without other work should call it.
  void Run(UniqueFunction<void()> task);
  // Runs `after` once now, or leaves it to the thread that is running tasks. It leaves tasks that
  // are added meanwhile to another thread, so threads for which others wait may call it.
  void RunAfter();
  // Runs what is left.
  void Go();
  // True if nothing runs and nothing is left.
  bool idle() const;

 private:
  // Runs the tasks that are there, and again those that were added meanwhile, in at most `rounds`
  // rounds. Does nothing if another thread is running tasks.
  void RunSome(size_t rounds);

  const std::function<void()> after_;
  const std::function<void()> hand_over_;
  mutable Mutex mutex_;
  std::vector<UniqueFunction<void()>> tasks_ GUARDED_BY(mutex_);
  bool after_due_ GUARDED_BY(mutex_) = false;
  bool running_ GUARDED_BY(mutex_) = false;
};

}  // namespace stator::kv_rados
