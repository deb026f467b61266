#include "kv_rados/host.h"

namespace stator::kv_rados {

Workers::Workers(Host* host, int threads, size_t max_queued)
    : max_queued_(max_queued), wake_(host) {
  if (host == nullptr) {
    machine_.emplace(threads, max_queued);
    return;
  }
  for (int i = 0; i < threads; ++i) threads_.emplace_back(host, [this] { Run(); });
}

bool Workers::TryPost(UniqueFunction<void()>& task) {
  if (machine_) return machine_->TryPost(task);
  MutexLock lock(mutex_);
  if (stopped_ || queue_.size() >= max_queued_) return false;
  queue_.push_back(std::move(task));
  wake_.NotifyOne();
  return true;
}

void Workers::Stop() {
  if (machine_) return machine_->Stop();
  {
    MutexLock lock(mutex_);
    stopped_ = true;
    wake_.NotifyAll();
  }
  for (Thread& thread : threads_) {
    if (thread.joinable()) thread.Join();
  }
}

void Workers::Run() {
  UniqueMutexLock lock(mutex_);
  while (true) {
    if (!queue_.empty()) {
      UniqueFunction<void()> task = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      task();
      task = nullptr;
      lock.lock();
    } else if (stopped_) {
      return;
    } else {
      wake_.Wait(lock);
    }
  }
}

}  // namespace stator::kv_rados
