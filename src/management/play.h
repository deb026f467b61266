// POST /_stator/simulate: plays a scenario, as `stator simulate` does.
#pragma once

#include <atomic>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/result.h"

namespace stator::management {

// `body` is {"scenario":"TOML"}. Answers what `stator simulate` writes, and its summary for people.
// kValidation with a sentence if the scenario is none, is too large to play here, or takes more
// than two seconds of `clock`'s ticks, which a server counts in processor time. kUnavailable once
// `stopping` is true.
Result<std::string> Play(std::string_view body, const Clock& clock,
                         const std::atomic<bool>& stopping);

}  // namespace stator::management
