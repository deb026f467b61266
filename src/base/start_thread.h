// Threads that are begun when they are first needed.
#pragma once

#include <system_error>
#include <thread>
#include <utility>

#include "base/log.h"

namespace stator {

// Begins a thread that runs `run`. Returns false, and logs why, if the system makes no thread now
// (its limit of threads is reached, or there is no memory); `*thread` is untouched then. `name` is
// for the log.
template <typename Run>
bool StartThread(const char* name, std::thread* thread, Run run) {
  try {
    *thread = std::thread(std::move(run));
    return true;
  } catch (const std::system_error& error) {
    LogError("thread_not_begun", {{"thread", name}, {"error", error.what()}});
    return false;
  }
}

}  // namespace stator
