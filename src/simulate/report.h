// An outcome for people, for programs and for the eye.
#pragma once

#include <string>

#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace stator::simulate {

// Lines of text.
std::string TextReport(const Scenario& scenario, const Outcome& outcome);
// One JSON object, described in docs/throughput.md.
std::string JsonReport(const Scenario& scenario, const Outcome& outcome);
// An SVG: for each table and index what was consumed over time, and its heat by time and key range.
std::string HeatMap(const Scenario& scenario, const Outcome& outcome);

// "1h 30m", "45s".
std::string DurationText(double seconds);
// Where a range lies: percentages of the hash space, and that it is inside a collection if so.
std::string RangeText(const throughput::KeyRange& range);

}  // namespace stator::simulate
