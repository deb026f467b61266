// Whether bytes from outside a table may become an item of it.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/key_schema.h"

namespace stator::transfer {

// Returns the key (table/key_encoding.h) of an encoded item. kCorruption if the bytes are no item,
// or the item lacks a key attribute of the schema, or has one of another type, or an empty one, or
// one that is too large.
Result<std::string> CheckedKeyOf(const model::KeySchema& schema, std::string_view encoded);

}  // namespace stator::transfer
