// Tasks that run one after the other, without a thread of their own: whoever brings one runs it at
// once, and those that others bring meanwhile. So nobody waits for a thread to wake up. Internal to
// the room.
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

  // Runs the task now, or has it run by the thread that runs others. For threads that have nothing
  // else to do: it may have to run what others bring meanwhile.
  void Run(UniqueFunction<void()> task);
  // Runs `after` now, once, or has it run by the thread that runs tasks. For threads that others
  // wait for: what is brought meanwhile is left to another thread.
  void RunAfter();
  // Runs what is left.
  void Go();
  // True if nothing runs and nothing is left.
  bool idle() const;

 private:
  // Runs what there is, so many times at most, unless another thread does.
  void RunSome(size_t rounds);

  const std::function<void()> after_;
  const std::function<void()> hand_over_;
  mutable Mutex mutex_;
  std::vector<UniqueFunction<void()>> tasks_ GUARDED_BY(mutex_);
  bool after_due_ GUARDED_BY(mutex_) = false;
  bool running_ GUARDED_BY(mutex_) = false;
};

}  // namespace stator::kv_rados
