// What Query and Scan check alike.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/requests.h"

namespace stator::ops {

// Select against projection parameters and IndexName.
Status CheckSelect(const std::optional<Select>& select, bool has_projection_expression,
                   bool has_attributes_to_get, bool has_index);

}  // namespace stator::ops
