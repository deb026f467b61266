// The type of resource that Lambda's actions on event source mappings act on; beside those of
// catalogue.h.
#pragma once

#include <cstdint>

namespace stator::access {

inline constexpr uint32_t kEventSourceMapping =
    1 << 15;  // arn:P:lambda:R:A:event-source-mapping:UUID

}  // namespace stator::access
