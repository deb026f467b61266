// `stator learn`.
#pragma once

#include <string>
#include <vector>

namespace stator::learn {

struct Command {
  std::vector<std::string> lessons;  // empty: they are listed
  bool all = false;
  std::string out_dir;  // for NAME.svg; empty: no picture
};

// Lists or plays lessons. The exit code; errors go to standard error.
int Execute(const Command& command);

}  // namespace stator::learn
