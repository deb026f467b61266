// Reads a recording line by line. Trusts no input: a line may be damaged or made by an attacker.
#pragma once

#include <memory>
#include <string_view>

#include "base/result.h"
#include "request_log/record.h"

namespace stator::request_log {

// The longest line that is accepted. The recorder's own lines are shorter: a batch of 100 keys of
// the largest size, escaped, is about 2 MB.
inline constexpr size_t kMaxLineBytes = 4u << 20;

// Decodes lines into records. Not thread-safe.
class LineReader {
 public:
  LineReader();
  ~LineReader();

  // Returns the record in `line`, which must not contain its line feed. kValidation with a sentence
  // if it is not a record of this version. Unknown members are ignored, so that later versions can
  // add some.
  Result<Record> Read(std::string_view line);

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
};

}  // namespace stator::request_log
