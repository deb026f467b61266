// JSON objects, or structs of Ion text, one behind the other, whatever white space is between them
// or none.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "exchange/byte_source.h"

namespace stator::exchange {

// Not thread-safe.
class Documents {
 public:
  enum class Kind : uint8_t { kJson, kIon };
  // `most_bytes`: the maximum size of one document, and of the white space before it. The source
  // must outlive the object.
  Documents(ByteSource& source, Kind kind, size_t most_bytes)
      : source_(source), kind_(kind), most_bytes_(most_bytes) {}
  // Returns the text of the next object or struct, valid until the next call; nullopt at the end.
  // Only the matching of its braces was checked. kSerialization if another text follows; errors of
  // the source.
  Result<std::optional<std::string_view>> Next();

 private:
  // Moves begin_ to the next byte that is no white space and no Ion version marker. False at the
  // end.
  Result<bool> FindNext();
  // Whether there is a byte at the position.
  Result<bool> Has(size_t position);

  ByteSource& source_;
  const Kind kind_;
  const size_t most_bytes_;
  std::string buffer_;
  size_t begin_ = 0;  // of what was not returned yet
};

}  // namespace stator::exchange
