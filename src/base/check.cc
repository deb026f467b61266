// Ends a process whose invariant is broken.
#include "base/check.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace stator {

void EndBrokenInvariant(const char* sentence, const char* condition, const char* file, int line) {
  char text[512];
  const int length = std::snprintf(
      text, sizeof text,
      "stator: %s (%s, %s:%d)\nstator: the process ends before it does harm, and a restart finds "
      "every acknowledged write\n",
      sentence, condition, file, line);
  if (length > 0) {
    const auto bytes = std::min<size_t>(static_cast<size_t>(length), sizeof text - 1);
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, text, bytes);
  }
  std::abort();
}

}  // namespace stator
