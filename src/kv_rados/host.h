// The threads of an engine and how they wait, so that a simulation can run several engines in one
// thread of the machine (fake_cluster.h). Internal to the room.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "base/executor.h"
#include "base/mutex.h"
#include "base/mutex_wait.h"
#include "base/unique_function.h"

namespace stator::kv_rados {

// Replaces the machine's threads, for simulations. Where a function takes a Host, null means the
// machine's own threads.
class Host {
 public:
  virtual ~Host() = default;
  // Runs `body` later, as a thread would.
  virtual void Start(UniqueFunction<void()> body) = 0;
  // Lets others run until Notify of the same address or until `micros` have passed; without
  // `micros` there is no limit. May return early.
  virtual void Wait(const void* at, std::optional<int64_t> micros) = 0;
  // Ends the Wait of one caller, or of all. Does not let others run.
  virtual void Notify(const void* at, bool all) = 0;
};

// A condition variable. With a Host it costs one branch more.
class Signal {
 public:
  explicit Signal(Host* host) : host_(host) {}
  Signal(const Signal&) = delete;
  Signal& operator=(const Signal&) = delete;

  void NotifyOne() {
    if (host_ == nullptr) return machine_.notify_one();
    host_->Notify(this, false);
  }
  void NotifyAll() {
    if (host_ == nullptr) return machine_.notify_all();
    host_->Notify(this, true);
  }
  // Waits once, without a condition.
  void Wait(UniqueMutexLock& lock) {
    if (host_ == nullptr) return machine_.wait(lock);
    WaitOn(lock, std::nullopt);
  }
  void WaitFor(UniqueMutexLock& lock, int64_t micros) {
    if (host_ != nullptr) return WaitOn(lock, micros);
    machine_.wait_for(lock, std::chrono::microseconds(micros));
  }
  // Waits until `ready` returns true, which is asked under the lock.
  template <typename Ready>
  void Wait(UniqueMutexLock& lock, Ready ready) NO_THREAD_SAFETY_ANALYSIS {
    while (!ready()) Wait(lock);
  }

 private:
  void WaitOn(UniqueMutexLock& lock, std::optional<int64_t> micros) NO_THREAD_SAFETY_ANALYSIS {
    lock.unlock();
    host_->Wait(this, micros);
    lock.lock();
  }

  Host* const host_;
  std::condition_variable_any machine_;
};

// A thread, which must be joined before it is destroyed.
class Thread {
 public:
  Thread() = default;
  Thread(Host* host, UniqueFunction<void()> body) : host_(host) {
    if (host == nullptr) {
      machine_ = std::thread([body = std::move(body)]() mutable { body(); });
      return;
    }
    ended_ = std::make_shared<bool>(false);
    host->Start([host, ended = ended_, body = std::move(body)]() mutable {
      body();
      body = nullptr;
      *ended = true;
      host->Notify(ended.get(), true);
    });
  }
  Thread(Thread&&) = default;
  Thread& operator=(Thread&&) = default;

  bool joinable() const { return machine_.joinable() || ended_ != nullptr; }
  void Join() {
    if (host_ == nullptr) return machine_.join();
    while (!*ended_) host_->Wait(ended_.get(), std::nullopt);
    ended_ = nullptr;
  }

 private:
  Host* host_ = nullptr;
  std::thread machine_;
  std::shared_ptr<bool> ended_;  // with a Host
};

// A WorkerPool (base/executor.h), or as many threads of a Host.
class Workers {
 public:
  Workers(Host* host, int threads, size_t max_queued);
  ~Workers() { Stop(); }
  // As those of WorkerPool.
  bool TryPost(UniqueFunction<void()>& task);
  void Stop();

 private:
  void Run();

  std::optional<WorkerPool> machine_;
  // For a Host. One thread of the machine runs all of its threads.
  const size_t max_queued_;
  Mutex mutex_;
  Signal wake_;
  std::deque<UniqueFunction<void()>> queue_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::vector<Thread> threads_;
};

}  // namespace stator::kv_rados
