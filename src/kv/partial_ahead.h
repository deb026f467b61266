// What engines in memory, for tests, give as read ahead.
#pragma once

#include <cstddef>
#include <string>
#include <utility>

#include "kv/engine.h"

namespace stator::kv {

class PartialAhead final : public Ahead {
 public:
  // The first `keys` keys of the range, said to be of so many bytes.
  PartialAhead(const Range& range, size_t keys, size_t bytes)
      : tablet_(range.tablet),
        begin_(range.begin),
        end_(range.end),
        reverse_(range.reverse),
        keys_(keys),
        bytes_(bytes) {}

  size_t bytes() const override { return bytes_; }
  // How many keys a Scan of the range has of it (Range::ahead, perhaps null). Once; then it has
  // none.
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
