#include "server/command_exit.h"

#include <fmt/format.h>

#include <cstdio>

#include "base/printable.h"

namespace stator::server {

int ExitStatus(const Result<int>& outcome) {
  if (outcome.ok()) return *outcome;
  fmt::print(stderr, "{}\n", PrintableLines(outcome.error().message()));
  return 1;
}

}  // namespace stator::server
