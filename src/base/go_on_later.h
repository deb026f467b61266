// Lets work that goes on and on give its thread back in between.
#pragma once

#include "base/unique_function.h"

namespace stator {

// While a GoOnLater lives, tasks of its thread can be queued behind whatever else waits for that
// thread. It is for threads that never wait: in a pool whose threads do, all of them could wait for
// a task that is queued behind them.
class GoOnLater {
 public:
  // Queues `task` at `owner` and returns true, or returns false and leaves it untouched.
  using Post = bool (*)(void* owner, UniqueFunction<void()>& task);

  GoOnLater(void* owner, Post post) : outer_(current_), owner_(owner), post_(post) {
    current_ = this;
  }
  ~GoOnLater() { current_ = outer_; }
  GoOnLater(const GoOnLater&) = delete;
  GoOnLater& operator=(const GoOnLater&) = delete;

  // Returns false and leaves `task` untouched if this thread has nothing else to turn to.
  static bool TryPost(UniqueFunction<void()>& task) {
    return current_ != nullptr && current_->post_(current_->owner_, task);
  }

 private:
  static inline thread_local GoOnLater* current_ = nullptr;
  GoOnLater* const outer_;
  void* const owner_;
  const Post post_;
};

}  // namespace stator
