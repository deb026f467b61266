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

// Reads the lines of `in` into `analysis`. Counts lines that are no records. kValidation if the
// first line is not the header of a recording that this version can read.
Status ReadRecording(std::istream& in, const std::string& name, Analysis* analysis);

// Runs the command and prints the report to standard output, errors to standard error. Returns the
// exit code.
int Execute(const Command& command);

}  // namespace stator::advise
