// Reads a scenario from TOML.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"
#include "simulate/scenario.h"

namespace stator::simulate {

// Parses a scenario. kValidation, with lines of the form "file:line: key: what is wrong", for
// everything that is not as docs/throughput.md describes it, unknown keys included. `file` is used
// in messages; its stem is the name of a scenario without a name.
Result<Scenario> ParseScenario(std::string_view text, const std::string& file);
// Reads and parses a scenario from a file; kValidation also if it cannot be read. `model`: keys of
// [model] and values that replace the file's.
Result<Scenario> ReadScenario(const std::string& path,
                              const std::vector<std::pair<std::string, std::string>>& model = {});
// Parses only the section [prices] of a scenario or of a file that has nothing else. What it does
// not name keeps the price of the guidance's examples. kValidation like the others, also if there
// is no [prices].
Result<throughput::UnitPrices> ReadPriceFile(const std::string& path);
// Parses only the section [model] of a scenario or of a server's settings. Keys that it does not
// have keep their default of model_settings.h. kValidation as for ParseScenario, and if there is no
// [model].
Result<throughput::ModelSettings> ParseModel(std::string_view text, const std::string& file);

}  // namespace stator::simulate
