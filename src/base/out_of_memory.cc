#include "base/out_of_memory.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <exception>

namespace stator {
namespace {

// Writes one line without allocating.
void Say(const char* what, const char* detail) {
  char line[256];
  const int length = std::snprintf(line, sizeof line, "stator: %s%s\n", what, detail);
  if (length <= 0) return;
  const auto bytes = std::min<size_t>(static_cast<size_t>(length), sizeof line - 1);
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, line, bytes);
}

void OnFailedAllocation() {
  if (const char* what = MustNotFail::current(); what != nullptr) {
    Say("out of memory while ", what);
    Say("the process ends, and a restart finds every acknowledged write", "");
    std::abort();
  }
  throw std::bad_alloc();
}

std::terminate_handler former_terminate = nullptr;

void OnTerminate() {
  if (const std::exception_ptr thrown = std::current_exception()) {
    try {
      std::rethrow_exception(thrown);
    } catch (const std::bad_alloc&) {
      Say("out of memory in a thread of the engine or the transport; the process ends, and a ",
          "restart finds every acknowledged write");
    } catch (...) {
    }
  }
  if (former_terminate != nullptr) former_terminate();
  std::abort();
}

}  // namespace

void HandleOutOfMemory() {
  std::set_new_handler(OnFailedAllocation);
  former_terminate = std::set_terminate(OnTerminate);
}

void NoteOutOfMemory(const char* where) { Say("a request ran out of memory in ", where); }

}  // namespace stator
