// The read-ahead results of the engines in memory, for tests.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "kv/engine.h"

namespace stator::kv {

class PartialAhead final : public Ahead {
 public:
  // Covers the first `keys` keys of the range and claims a size of `bytes`.
  PartialAhead(const Range& range, size_t keys, size_t bytes)
      : tablet_(range.tablet),
        begin_(range.begin),
        end_(range.end),
        reverse_(range.reverse),
        keys_(keys),
        bytes_(bytes) {}

  size_t bytes() const override { return bytes_; }
  // Returns how many keys of the range were read ahead (Range::ahead, which may be null) and
  // consumes them: later calls return 0.
  static size_t Take(const Range& range) {
    auto* const ahead = static_cast<PartialAhead*>(range.ahead);
    return ahead != nullptr && ahead->IsFor(range) ? std::exchange(ahead->keys_, 0) : 0;
  }

 private:
  bool IsFor(const Range& range) const {
    return range.tablet == tablet_ && range.begin == begin_ && range.end == end_ &&
           range.reverse == reverse_;
  }

  const Tablet tablet_;
  const std::string begin_, end_;
  const bool reverse_;
  size_t keys_;
  const size_t bytes_;
};

}  // namespace stator::kv
