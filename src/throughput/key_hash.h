// The place of a string partition key in the hash space, as a server places it
// (table/key_encoding.h): simulation, advice and server put a key on the same partition.
#pragma once

#include <cstdint>
#include <string_view>

namespace stator::throughput {

// The upper 64 bits of the hash of a partition key of type S.
uint64_t HashOfStringKey(std::string_view text);

}  // namespace stator::throughput
