// `stator simulate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace stator::simulate {

struct Command {
  std::string file;
  // --compare: more files, or a setting and its values (compare.h). Empty: only `file` is played.
  std::vector<std::string> compare;
  std::string out_dir = ".";  // for NAME.json and NAME.svg
  bool write_files = true;
  std::optional<uint64_t> seed;  // instead of the scenario's
};

// Plays the scenario, prints the summary, writes the files. The exit code; errors go to standard
// error.
int Execute(const Command& command);

}  // namespace stator::simulate
