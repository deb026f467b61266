#include "base/log_limited.h"

#include <utility>

namespace stator {
namespace {

constexpr std::string_view kOtherKinds = "other";

}  // namespace

LogLimiter::~LogLimiter() {
  for (const auto& [name, kind] : kinds_) {
    if (kind.suppressed == 0) continue;
    LogWarn("log_lines_suppressed", {{"kind", name}, {"suppressed", kind.suppressed}});
  }
}

std::optional<int64_t> LogLimiter::Admit(std::string_view kind) {
  const int64_t now = clock_.TicksMicros();
  const MutexLock lock(mutex_);
  auto found = kinds_.find(kind);
  if (found == kinds_.end() && kinds_.size() >= kMaxKinds) {
    kind = kOtherKinds;
    found = kinds_.find(kind);
  }
  if (found == kinds_.end()) {
    kinds_.emplace(kind, Kind{now, 0});
    return 0;
  }
  Kind& known = found->second;
  if (now - known.written_ticks < kIntervalMicros) {
    ++known.suppressed;
    return std::nullopt;
  }
  known.written_ticks = now;
  return std::exchange(known.suppressed, 0);
}

void LogLimiter::Log(LogLevel level, std::string_view kind, std::string_view event,
                     std::initializer_list<LogField> fields) {
  const std::optional<int64_t> suppressed = Admit(kind);
  if (!suppressed) return;
  if (*suppressed == 0) return stator::Log(level, event, fields);
  stator::Log(level, fmt::format("{} suppressed={}", event, *suppressed), fields);
}

}  // namespace stator
