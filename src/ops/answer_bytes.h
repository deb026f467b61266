// Counts the memory of an answer in the server's account of memory (base/memory_account.h) while
// the answer is collected.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/count_bytes.h"
#include "base/memory_account.h"
#include "model/value.h"

namespace stator::ops {

// Returns about how many bytes an encoded item has as JSON, rather more than less: a control
// character becomes six (\u0001), binary grows by a third, and the one byte of a null is 14 in a
// list.
inline int64_t RenderedBound(std::string_view encoded) {
  const size_t nulls =
      CountBytes(encoded, [](auto c) { return c == static_cast<uint8_t>(model::Type::kNull); });
  const size_t control = CountBytes(encoded, [](auto c) { return c < uint8_t{0x20}; });
  const size_t escaped =
      CountBytes(encoded, [](auto c) { return (c == uint8_t{'"'}) | (c == uint8_t{'\\'}); });
  return static_cast<int64_t>(encoded.size() + encoded.size() / 3 + 5 * control + 8 * nulls +
                              escaped);
}

// Not thread-safe; each step of an operation may be on another thread.
class AnswerBytes {
 public:
  // `lease`: of the request; null: nothing is counted.
  explicit AnswerBytes(MemoryLease* lease) : lease_(lease) {}

  // Whether anything is counted.
  bool counts() const { return lease_ != nullptr; }

  // Counts an item that will be rendered. Up to kFreeBytes of items only their encoded sizes are
  // added up, because such an answer cannot become large.
  bool AddItem(std::string_view encoded) {
    if (lease_ == nullptr) return true;
    encoded_bytes_ += static_cast<int64_t>(encoded.size());
    return encoded_bytes_ <= kFreeBytes || Add(RenderedBound(encoded));
  }

  // Counts `bytes` more. Small answers are not worth the counting: the lease grows in steps. False:
  // the account has no room, and the answer should end before these bytes.
  bool Add(int64_t bytes) {
    if (lease_ == nullptr || (bytes_ += bytes) <= counted_ + kStep) return true;
    if (lease_->TryGrow(bytes_ - counted_)) {
      counted_ = bytes_;
      return true;
    }
    bytes_ -= bytes;
    return false;
  }

  // Gives everything that was counted back to the lease.
  void GiveBack() {
    if (lease_ != nullptr && counted_ > 0) lease_->Shrink(counted_);
    encoded_bytes_ = bytes_ = counted_ = 0;
  }

 private:
  static constexpr int64_t kStep = 64 << 10;
  static constexpr int64_t kFreeBytes = 8 << 10;
  MemoryLease* lease_;
  int64_t encoded_bytes_ = 0;
  int64_t bytes_ = 0;
  int64_t counted_ = 0;
};

}  // namespace stator::ops
