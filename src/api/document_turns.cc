#include "api/document_turns.h"

#include "base/mutex_wait.h"

namespace stator::api {

DocumentTurns::Turn DocumentTurns::Take(int64_t bytes) {
  if (bytes <= kFreeBytes) return {};
  {
    UniqueMutexLock lock(mutex_);
    const uint64_t mine = next_++;
    changed_.wait(lock, [this, mine, bytes]() REQUIRES(mutex_) {
      return serving_ == mine && (held_ == 0 || held_ + bytes <= kTogetherBytes);
    });
    ++serving_;
    held_ += bytes;
  }
  changed_.notify_all();  // the next may have room too
  return {this, bytes};
}

void DocumentTurns::End(int64_t bytes) {
  {
    MutexLock lock(mutex_);
    held_ -= bytes;
  }
  changed_.notify_all();
}

}  // namespace stator::api
