// Shard iterators: a position in a shard that a client keeps, with the time at which the iterator
// was issued.
//
//   payload := hexadecimal digits of: 02 tablet:4 shard:4 stamp:8 index:4 time:8 seal:16 big-endian
//   seal    := seal (base/seal.h) for "iterator" of the bytes before it and of the table's id
//
// So a payload whose seal holds was issued for that stream by a server of this store. Format 01 had
// a check without a secret, of 8 bytes: such an iterator has expired, whatever its age.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/seal.h"
#include "stream/position.h"
#include "stream/stream.h"

namespace stator::stream {

// [S] An iterator expires 15 minutes after it was issued.
inline constexpr int64_t kIteratorLifeMicros = 15 * int64_t{60'000'000};

struct Iterator {
  uint32_t shard = 0;
  Position position;
  int64_t issued_micros = 0;
};

std::string EncodeIterator(const Seal& seal, const StreamDescriptor& stream,
                           const Iterator& iterator);
// Returns the iterator in a payload; kValidation if the payload was not issued for this stream,
// kExpiredIterator if it is too old.
Result<Iterator> DecodeIterator(const Seal& seal, const StreamDescriptor& stream,
                                std::string_view payload, int64_t now_micros);

}  // namespace stator::stream
