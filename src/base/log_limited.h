// Log lines that one request can repeat: at most one a second and kind, with a count of the others.
//
//   LogLimiter limiter(clock);
//   limiter.Log(LogLevel::kError, "request_failed/PutItem", "request_failed", {{"table", name}});
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/log.h"
#include "base/mutex.h"

namespace stator {

// Thread-safe. The clock outlives the limiter, and its ticks measure the second, so a manual clock
// of `--clock=manual` holds no line back.
class LogLimiter {
 public:
  static constexpr int64_t kIntervalMicros = 1'000'000;
  // Kinds beyond this number share one, so that the memory is bounded whatever a caller names.
  static constexpr size_t kMaxKinds = 256;

  explicit LogLimiter(const Clock& clock) : clock_(clock) {}
  // Writes a line `log_lines_suppressed` for each kind whose last lines were only counted.
  ~LogLimiter();
  LogLimiter(const LogLimiter&) = delete;
  LogLimiter& operator=(const LogLimiter&) = delete;

  // Writes the line unless one of its kind was written within the last second; then only counts it.
  // `suppressed=N` follows the event if N lines of its kind were counted since the one before. The
  // kind is a name from the code and never text of a client.
  void Log(LogLevel level, std::string_view kind, std::string_view event,
           std::initializer_list<LogField> fields = {}) EXCLUDES(mutex_);

  // Decides like Log and leaves the line to the caller, for lines whose fields are dear to make:
  // the number of lines of this kind to report as suppressed, or nothing if this one only counts.
  std::optional<int64_t> Admit(std::string_view kind) EXCLUDES(mutex_);

 private:
  struct Kind {
    int64_t written_ticks = 0;
    int64_t suppressed = 0;
  };

  const Clock& clock_;
  Mutex mutex_;
  std::map<std::string, Kind, std::less<>> kinds_ GUARDED_BY(mutex_);
};

}  // namespace stator
