// The sentence that says which limit refused, with its figures, to tell of another demand than its
// own: an event has that of its time, an explanation that of its worst second.
#pragma once

#include <string>

#include "throughput/throttle.h"

namespace stator::throughput {

// Without a full stop, as Explanation::cause.
std::string CauseText(const Explanation& e, Access access, Limit limit);

}  // namespace stator::throughput
