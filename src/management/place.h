// POST /_stator/tables/NAME/place: in which partitions a key lies.
#pragma once

#include <string>
#include <string_view>

#include "ops/context.h"

namespace stator::management {

// `body` is {"key":{"artist":{"S":"Nina Simone"}}}; the object may have attributes of index keys,
// too. Answers the place in the table and in each global index whose partition key it has. Reads no
// item. kValidation: the body is something else, or lacks the table's partition key.
// kResourceNotFound: there is no such table.
Result<std::string> PlaceOf(const ops::Environment& environment, std::string_view table,
                            std::string_view body);

}  // namespace stator::management
