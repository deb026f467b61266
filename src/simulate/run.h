// Plays a scenario on the throughput model, in virtual time.
#pragma once

#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace stator::simulate {

// Deterministic: equal scenarios, seed included, have equal outcomes. One thread, no I/O.
Outcome Run(const Scenario& scenario);

}  // namespace stator::simulate
