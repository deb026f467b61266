// The resource type "event source mapping", for Lambda's actions. The other types are in
// catalogue.h.
#pragma once

#include <cstdint>

namespace stator::access {

inline constexpr uint32_t kEventSourceMapping =
    1 << 15;  // arn:P:lambda:R:A:event-source-mapping:UUID

}  // namespace stator::access
