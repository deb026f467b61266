// Reads a scenario from TOML.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "simulate/scenario.h"

namespace stator::simulate {

// kValidation with lines of "file:line: key: what is wrong" for anything that is not as
// docs/throughput.md describes it, members it does not know included. `file` is for messages, and
// its stem is the scenario's name unless it has one.
Result<Scenario> ParseScenario(std::string_view text, const std::string& file);
// The same from a file; also kValidation if it cannot be read. `model`: keys of [model] and their
// values, in place of the file's.
Result<Scenario> ReadScenario(const std::string& path,
                              const std::vector<std::pair<std::string, std::string>>& model = {});
// The [prices] alone, of a scenario or of a file that has nothing else. What it does not name keeps
// the price of the guidance's examples. kValidation like the others, also if there is no [prices].
Result<throughput::UnitPrices> ReadPriceFile(const std::string& path);
// The [model] alone, of a scenario or of a server's settings. What it does not name keeps its value
// of model_settings.h. kValidation like the others, also if there is no [model].
Result<throughput::ModelSettings> ParseModel(std::string_view text, const std::string& file);

}  // namespace stator::simulate
