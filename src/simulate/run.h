// Plays a scenario on the throughput model, in virtual time.
#pragma once

#include <functional>
#include <optional>

#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace stator::simulate {

// Deterministic: equal scenarios, seed included, have equal outcomes. One thread, no I/O.
Outcome Run(const Scenario& scenario);
// Plays the scenario as Run does, but calls `stop` in every step, and returns nullopt when it
// returns true.
std::optional<Outcome> RunUntil(const Scenario& scenario, const std::function<bool()>& stop);

}  // namespace stator::simulate
