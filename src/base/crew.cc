#include "base/crew.h"

#include <system_error>
#include <utility>

#include "base/mutex_wait.h"

namespace stator {

bool Crew::Run(UniqueFunction<void()> task) {
  MutexLock lock(mutex_);
  if (stopped_) return false;
  queue_.push_back(std::move(task));
  if (queue_.size() <= idle_) {
    wake_.notify_one();
    return true;
  }
  try {
    threads_.emplace_back([this] { Loop(); });
  } catch (const std::system_error&) {
    if (threads_.empty()) queue_.pop_back();
    return !threads_.empty();
  }
  return true;
}

void Crew::Loop() {
  UniqueMutexLock lock(mutex_);
  while (true) {
    while (!queue_.empty()) {
      UniqueFunction<void()> task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    }
    if (stopped_) return;
    ++idle_;
    wake_.wait(lock, [this]() REQUIRES(mutex_) { return stopped_ || !queue_.empty(); });
    --idle_;
  }
}

void Crew::Stop() {
  std::vector<std::thread> threads;
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    threads = std::move(threads_);
    threads_.clear();
    wake_.notify_all();
  }
  for (std::thread& thread : threads) thread.join();
}

}  // namespace stator
