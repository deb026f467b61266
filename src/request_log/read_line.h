// Reads a recording line by line. Trusts nothing: lines may be damaged or made by an attacker.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "request_log/record.h"

namespace stator::request_log {

// The longest line that is read. The recorder's own are shorter: a batch of 100 keys of the largest
// size, escaped, is about 2 MB.
inline constexpr size_t kMaxLineBytes = 4u << 20;

// Not thread-safe.
class LineReader {
 public:
  LineReader();
  ~LineReader();

  // `line` is without its line feed. kValidation with a sentence if it is no record of this
  // version. Members that it does not know are passed over, so that records can gain some.
  Result<Record> Read(std::string_view line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace stator::request_log
