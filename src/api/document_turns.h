// Turns for large JSON documents. The parsed form of a body can have ten times its bytes, so only a
// few of them may exist at a time. Other requests wait for their turn instead of being refused.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <utility>

#include "base/mutex.h"

namespace stator::api {

// Thread-safe. Turns are given in the order of Take.
class DocumentTurns {
 public:
  // A document of at most this many bytes needs no turn.
  static constexpr int64_t kFreeBytes = 8 << 20;
  // The maximum bytes of all documents that have turns. A single document may have more.
  static constexpr int64_t kTogetherBytes = 64 << 20;

  // The right to keep one parsed document in memory. The destructor gives it back.
  class Turn {
   public:
    Turn() = default;
    ~Turn() { End(); }
    Turn(Turn&& other) noexcept
        : turns_(std::exchange(other.turns_, nullptr)), bytes_(other.bytes_) {}
    Turn& operator=(Turn&& other) noexcept {
      End();
      turns_ = std::exchange(other.turns_, nullptr);
      bytes_ = other.bytes_;
      return *this;
    }
    void End() {
      if (turns_ != nullptr) std::exchange(turns_, nullptr)->End(bytes_);
    }

   private:
    friend class DocumentTurns;
    Turn(DocumentTurns* turns, int64_t bytes) : turns_(turns), bytes_(bytes) {}
    DocumentTurns* turns_ = nullptr;
    int64_t bytes_ = 0;
  };

  // Returns the turn of a document of `bytes`. Blocks until the documents before it have ended, or
  // leave it room; a document of kFreeBytes never blocks.
  Turn Take(int64_t bytes);

 private:
  void End(int64_t bytes);

  Mutex mutex_;
  std::condition_variable_any changed_;
  int64_t held_ GUARDED_BY(mutex_) = 0;      // bytes of turns that have not ended
  uint64_t next_ GUARDED_BY(mutex_) = 0;     // number of the next caller of Take
  uint64_t serving_ GUARDED_BY(mutex_) = 0;  // number of the caller whose turn is next
};

}  // namespace stator::api
