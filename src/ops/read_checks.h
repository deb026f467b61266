// What Query and Scan check alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "model/key_schema.h"
#include "ops/requests.h"

namespace stator::ops {

// Select against projection parameters and IndexName.
Status CheckSelect(const std::optional<Select>& select, bool has_projection_expression, bool has_attributes_to_get,
                   bool has_index);

// Whether an ExclusiveStartKey is a key of the table.
Status CheckStartKey(const model::KeySchema& schema, model::ItemView key);

}  // namespace stator::ops
