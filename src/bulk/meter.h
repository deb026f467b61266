// The progress of a command: counts, rates, and the time that is left.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/mutex.h"

namespace stator::bulk {

struct Counts {
  int64_t items = 0;  // this and the next: of this run
  int64_t bytes = 0;
  int64_t errors = 0;
  int64_t retries = 0;
  double done = 0;      // 0 to 1, of the whole; 0: not known
  double begun = 0;     // `done` when this run began
  std::string subject;  // such as the table; empty: none
  std::string note;     // what else is to be said; empty: nothing
};

// "12,000 items, 12.3 MB, 4,000 items/s, 4.1 MB/s, 1:05 left".
std::string ProgressText(const Counts& counts, int64_t elapsed_micros);
// "12,000", "12.3 MB".
std::string WithSeparators(int64_t number);
std::string BytesText(double bytes);

// Prints a line to standard error every now and then: each second over the last one on a terminal,
// else a new one every ten seconds. Owns a thread.
class Ticker {
 public:
  // `look` is called on the thread.
  Ticker(const Clock& clock, bool quiet, std::function<Counts()> look);
  ~Ticker() { Stop(); }
  // Ends the line on a terminal. Idempotent.
  void Stop();

 private:
  void Loop();

  const Clock& clock_;
  const std::function<Counts()> look_;
  const int64_t began_;
  const bool terminal_;
  Mutex mutex_;
  std::condition_variable_any wake_;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool shown_ = false;
  std::thread thread_;
};

}  // namespace stator::bulk
