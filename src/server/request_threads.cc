#include "server/request_threads.h"

#include <cstdint>
#include <utility>

#include "base/go_on_later.h"
#include "base/mutex_wait.h"
#include "base/out_of_memory.h"

namespace stator::server {

RequestThreads::RequestThreads(Options options)
    : options_(options), pool_(options.threads, SIZE_MAX) {}

void RequestThreads::Steps::Post(UniqueFunction<void()> step) {
  // Once the step is there it may run and end the request.
  std::shared_ptr<Steps> self = shared_from_this();
  {
    const MutexLock lock(mutex_);
    steps_.push_back(std::move(step));
    if (std::exchange(scheduled_, true)) return;
  }
  UniqueFunction<void()> run = [self = std::move(self)] { self->RunOne(); };
  threads_.TryGoOn(run);
}

void RequestThreads::Steps::RunOne() {
  UniqueFunction<void()> step;
  {
    const MutexLock lock(mutex_);
    step = std::move(steps_.front());
    steps_.pop_front();
  }
  current_ = this;
  RunOrOutOfMemory("a step of a request", [&step] {
    step();
    step = nullptr;
  });
  step = nullptr;
  current_ = nullptr;
  {
    const MutexLock lock(mutex_);
    if (steps_.empty()) {
      scheduled_ = false;
      return;
    }
  }
  UniqueFunction<void()> run = [self = shared_from_this()] { self->RunOne(); };
  threads_.TryGoOn(run);
}

bool RequestThreads::TryBegin(size_t bytes, Begin& begin) {
  {
    const MutexLock lock(mutex_);
    if (waiting_.size() >= options_.most_waiting) return false;
    waiting_.push_back({bytes, std::move(begin)});
  }
  Wake();
  return true;
}

bool RequestThreads::TryGoOn(UniqueFunction<void()>& task) {
  const MutexLock lock(mutex_);
  ready_.push_back(std::move(task));
  if (Wake()) return true;
  task = std::move(ready_.back());
  ready_.pop_back();
  return false;
}

bool RequestThreads::Wake() {
  UniqueFunction<void()> run = [this] { RunOne(); };
  return pool_.TryPost(run);
}

bool RequestThreads::MayBegin() const {
  return !waiting_.empty() &&
         (begun_ == 0 || begun_bytes_ + waiting_.front().bytes <= options_.most_begun_bytes);
}

void RequestThreads::RunOne() {
  UniqueFunction<void()> ready;
  Waiting next{0, nullptr};
  bool begins = false;
  bool more = false;
  {
    const MutexLock lock(mutex_);
    if (!ready_.empty()) {
      ready = std::move(ready_.front());
      ready_.pop_front();
    } else if (MayBegin()) {
      next = std::move(waiting_.front());
      waiting_.pop_front();
      ++begun_;
      begun_bytes_ += next.bytes;
      begins = true;
      more = MayBegin();
    }
  }
  if (more) Wake();
  const auto run = [&] {
    if (ready) return ready();
    if (!begins) return;
    const std::shared_ptr<Steps> steps(new Steps(*this, next.bytes));
    // The task that runs a step has a reference.
    steps->Post([at = steps.get(), begin = std::move(next.begin)]() mutable {
      begin(at->shared_from_this());
    });
  };
  if (options_.steps_wait) return run();
  const GoOnLater later(this, [](void* threads, UniqueFunction<void()>& task) {
    return static_cast<RequestThreads*>(threads)->TryGoOn(task);
  });
  run();
}

void RequestThreads::Ended(size_t bytes) {
  bool more = false;
  {
    const MutexLock lock(mutex_);
    --begun_;
    begun_bytes_ -= bytes;
    more = MayBegin();
    changed_.notify_all();
  }
  if (more) Wake();
}

void RequestThreads::Stop() {
  {
    UniqueMutexLock lock(mutex_);
    changed_.wait(lock, [this]() REQUIRES(mutex_) { return begun_ == 0 && waiting_.empty(); });
  }
  pool_.Stop();
}

size_t RequestThreads::begun() {
  const MutexLock lock(mutex_);
  return begun_;
}

}  // namespace stator::server
