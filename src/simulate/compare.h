// `stator simulate --compare`: the outcomes of several scenarios, or of one under several settings,
// side by side. Pure but for the reading of files.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "simulate/outcome.h"
#include "simulate/scenario.h"

namespace stator::simulate {

inline constexpr size_t kMostVariants = 12;

struct Variant {
  std::string name;  // the scenario's, or "adaptive=off"
  Scenario scenario;
  Outcome outcome;  // empty until it is played
};

// `what`: names of files, and at most one "KEY=VALUE,VALUE..." with a key of [model], which plays
// the only file once for each value. "rules=2014,today" stands for what [model] says of both years:
// shares that are fixed and no splits for heat, or the defaults. kValidation names what is wrong.
Result<std::vector<Variant>> ReadVariants(const std::vector<std::string>& what);

// Returns a table with a line for each variant: requests sent, served, and throttled by reason;
// units, partitions, price.
std::string ComparisonText(const std::vector<Variant>& variants);
// Returns the table as a JSON object.
std::string ComparisonJson(const std::vector<Variant>& variants);
// Returns an SVG heat map with one band for each table and index of each variant. All bands have
// the same scale of colours.
std::string ComparisonMap(const std::vector<Variant>& variants);

}  // namespace stator::simulate
