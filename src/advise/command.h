// `stator advise`.
#pragma once

#include <istream>
#include <string>
#include <vector>

#include "advise/analysis.h"
#include "base/result.h"
#include "throughput/prices.h"

namespace stator::advise {

struct Command {
  std::vector<std::string> files;
  throughput::UnitPrices prices;
  bool json = false;
};

// Reads lines to the end of `in`. Lines that are no records are counted. kValidation if the first
// line is no header of a recording that this version reads: the file is something else.
Status ReadRecording(std::istream& in, const std::string& name, Analysis* analysis);

// Prints the report to standard output. The exit code; errors go to standard error.
int Execute(const Command& command);

}  // namespace stator::advise
