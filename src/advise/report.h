// The outcome for people and for programs. Pure.
#pragma once

#include <string>

#include "advise/judge.h"

namespace stator::advise {

// One or two screens: per table what it did, how its keys are distributed, what it costs, and the
// findings. Tables without requests are named only.
std::string TextReport(const Recording& recording, const throughput::UnitPrices& prices);
// One JSON object, described in docs/advise.md.
std::string JsonReport(const Recording& recording, const throughput::UnitPrices& prices);

}  // namespace stator::advise
