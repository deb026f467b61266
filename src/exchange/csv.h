// Records of a CSV file: fields between delimiters, quoted as RFC 4180 says; lines end with LF or
// CR LF, and empty lines are no records.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "exchange/byte_source.h"

namespace stator::exchange {

// Not thread-safe.
class CsvRecords {
 public:
  // `most_bytes`: of one record. The source must outlive the object.
  CsvRecords(ByteSource& source, char delimiter, size_t most_bytes)
      : source_(source), delimiter_(delimiter), most_bytes_(most_bytes) {}
  // Returns the fields of the next record; nothing at the end. kSerialization: a quote has no end,
  // or a record is too large; errors of the source.
  Result<std::optional<std::vector<std::string>>> Next();
  // Returns for each field of the last record whether it stood in quotes.
  const std::vector<bool>& quoted() const { return quoted_; }

 private:
  // Returns the next byte without taking it, or -1 at the end.
  Result<int> Peek();

  ByteSource& source_;
  const char delimiter_;
  const size_t most_bytes_;
  std::string buffer_;
  size_t begin_ = 0;
  std::vector<bool> quoted_;
};

}  // namespace stator::exchange
