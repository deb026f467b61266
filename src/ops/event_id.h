// Ids of change records.
#pragma once

#include <string>
#include <string_view>

#include "stream/stream.h"

namespace stator::ops {

// Returns the eventID of the record with this sequence number: 32 hexadecimal digits, always the
// same for a record.
std::string EventIdOf(const stream::StreamDescriptor& stream, std::string_view sequence_number);

}  // namespace stator::ops
