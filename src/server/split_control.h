// POST /_stator/tables/NAME/split: splits a partition of a table. docs/management.md describes the
// call for users.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::server {

// The body of the call. Both members empty: split the widest partition in its middle.
struct SplitRequest {
  std::optional<uint64_t> partition;  // an id of GET /_stator/tables/NAME/partitions
  std::optional<uint64_t> hash;       // the first hash of the right half
};

// Parses a body; an empty one is a request without members. kValidation with a sentence for
// anything but {"partition": id} and {"hash": "16 hexadecimal digits"}, alone or together.
Result<SplitRequest> ParseSplitRequest(std::string_view body);

// Returns the hash at which the table is to be split, or nullopt for the middle of the widest
// partition. Errors: kResourceNotFound if this process knows no such table; kValidation if the
// table has no such partition, if it lies inside one item collection, or if the hash is outside of
// it. Ids are those of this process's model.
Result<std::optional<uint64_t>> ResolveSplit(const ops::Environment& environment,
                                             std::string_view table, const SplitRequest& request);

// Returns the answer: the table's name and the first hash of each partition, as 16 hexadecimal
// digits.
std::string RenderSplit(const table::Table& table);

}  // namespace stator::server
