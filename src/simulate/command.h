// `stator simulate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace stator::simulate {

struct Command {
  std::string file;
  std::string out_dir = ".";  // for NAME.json and NAME.svg
  bool write_files = true;
  std::optional<uint64_t> seed;  // instead of the scenario's
};

// Plays the scenario, prints the summary, writes the files. The exit code; errors go to standard
// error.
int Execute(const Command& command);

}  // namespace stator::simulate
