// Threads for requests that take long to decode. A request takes its steps on them one after the
// other; while it waits, for a latch or for the store, it has no thread.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <memory>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/unique_function.h"

namespace stator::server {

// Thread-safe.
class RequestThreads {
 public:
  struct Options {
    int threads = 1;
    size_t most_waiting = 1024;  // requests that have not begun
    // Bytes of the bodies of requests that have begun and not ended, unless one alone has more.
    // Requests beyond that wait: copies of a decoded body are in no account of memory.
    size_t most_begun_bytes = 64 << 20;
    // Whether a step may wait for another request's. If none does, work that goes on and on can
    // leave its thread to others in between (base/go_on_later.h).
    bool steps_wait = false;
  };
  explicit RequestThreads(Options options);
  ~RequestThreads() { Stop(); }

  // The executor of one request's steps: runs them one at a time, on any of the threads. The
  // request lasts as long as this object. A step that runs out of memory is dropped.
  class Steps final : public Executor, public std::enable_shared_from_this<Steps> {
   public:
    ~Steps() override { threads_.Ended(bytes_); }
    // The caller, or what it acts for, has a reference to this object.
    void Post(UniqueFunction<void()> step) override;
    // Whether the caller runs inside a step of this request.
    bool IsCurrent() const override { return current_ == this; }

   private:
    friend class RequestThreads;
    Steps(RequestThreads& threads, size_t bytes) : threads_(threads), bytes_(bytes) {}
    void RunOne();

    static inline thread_local const Steps* current_ = nullptr;
    RequestThreads& threads_;
    const size_t bytes_;
    Mutex mutex_;
    std::deque<UniqueFunction<void()>> steps_ GUARDED_BY(mutex_);
    bool scheduled_ GUARDED_BY(mutex_) = false;
  };

  // Runs `begin` as the first step of a request with a body of `bytes`, behind the requests that
  // wait already. Returns false and leaves it untouched if too many do.
  using Begin = UniqueFunction<void(const std::shared_ptr<Steps>& steps)>;
  bool TryBegin(size_t bytes, Begin& begin);
  // Waits for the end of all requests, and ends the threads. No request may come later. Idempotent.
  void Stop();

  // Requests that have begun and not ended; for tests.
  size_t begun();

 private:
  struct Waiting {
    size_t bytes;
    Begin begin;
  };
  // Runs `task` before requests that have not begun; leaves it untouched if the threads have ended.
  bool TryGoOn(UniqueFunction<void()>& task);
  // Has a thread call RunOne. Returns false if the threads have ended.
  bool Wake();
  void RunOne();
  bool MayBegin() const REQUIRES(mutex_);
  void Ended(size_t bytes);

  const Options options_;
  Mutex mutex_;
  std::condition_variable_any changed_;
  std::deque<UniqueFunction<void()>> ready_
      GUARDED_BY(mutex_);  // steps of requests that have begun
  std::deque<Waiting> waiting_ GUARDED_BY(mutex_);
  size_t begun_ GUARDED_BY(mutex_) = 0;
  size_t begun_bytes_ GUARDED_BY(mutex_) = 0;
  // Each of its tasks runs at most one of ready_ and waiting_; there is one for each that may run.
  WorkerPool pool_;
};

}  // namespace stator::server
