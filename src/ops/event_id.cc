#include "ops/event_id.h"

#include <cstdint>

#include "table/token_ledger.h"

namespace stator::ops {

std::string EventIdOf(const stream::StreamDescriptor& stream, std::string_view sequence_number) {
  std::string id;
  for (const char byte :
       table::DigestOf(stream.table_id + stream.label + std::string(sequence_number))) {
    constexpr char kDigits[] = "0123456789abcdef";
    id.push_back(kDigits[static_cast<uint8_t>(byte) >> 4]);
    id.push_back(kDigits[byte & 15]);
  }
  return id;
}

}  // namespace stator::ops
