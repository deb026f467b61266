// Handling of allocations that fail.
//
// Decoding, evaluating and rendering a request may fail: std::bad_alloc ends the request with
// InternalServerError at the seams that call RunOrOutOfMemory. Between the latch of an item and the
// durable batch nothing can be undone: a MustNotFail stands around that code, and the process ends
// with a sentence there. A restart finds every acknowledged write.
#pragma once

#include <new>
#include <utility>

namespace stator {

// While a MustNotFail lives, a failed allocation of this thread ends the process. `what` is a
// literal that completes "out of memory while ...".
class MustNotFail {
 public:
  explicit MustNotFail(const char* what) : outer_(current_) { current_ = what; }
  ~MustNotFail() { current_ = outer_; }
  MustNotFail(const MustNotFail&) = delete;
  MustNotFail& operator=(const MustNotFail&) = delete;

  // Returns what the thread is doing, or null if an allocation may fail.
  static const char* current() { return current_; }

 private:
  friend class MayFail;
  static inline thread_local const char* current_ = nullptr;
  const char* const outer_;
};

// Suspends the MustNotFail around it, for calls of code that may fail.
class MayFail {
 public:
  MayFail() : outer_(MustNotFail::current_) { MustNotFail::current_ = nullptr; }
  ~MayFail() { MustNotFail::current_ = outer_; }
  MayFail(const MayFail&) = delete;
  MayFail& operator=(const MayFail&) = delete;

 private:
  const char* const outer_;
};

// Sets the process's new_handler, which ends it inside of a MustNotFail and throws otherwise, and a
// terminate handler that says so if an exception leaves a thread. Call once, from main.
void HandleOutOfMemory();

// Logs out_of_memory, in memory that was set aside for it.
void NoteOutOfMemory(const char* where);

// Runs `work` and returns true, or false if it ran out of memory; `where` is a literal for the log.
template <typename Work>
bool RunOrOutOfMemory(const char* where, Work&& work) {
  try {
    std::forward<Work>(work)();
    return true;
  } catch (const std::bad_alloc&) {
    NoteOutOfMemory(where);
    return false;
  }
}

}  // namespace stator
