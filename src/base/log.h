// Structured log lines: an event and key=value pairs, one line each, to standard error.
//   LogInfo("listening", {{"host", host}, {"port", port}});
#pragma once

#include <fmt/format.h>

#include <initializer_list>
#include <string>
#include <string_view>

namespace stator {

// One key=value pair. Values with spaces or quotes are quoted.
struct LogField {
  template <typename T>
  LogField(std::string_view key, const T& value) : key(key), value(fmt::format("{}", value)) {}
  std::string_view key;
  std::string value;
};

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

// The lowest level that is written; kInfo at the start. Thread-safe.
void SetLogLevel(LogLevel level);

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields);
inline void LogDebug(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kDebug, event, fields);
}
inline void LogInfo(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kInfo, event, fields);
}
inline void LogWarn(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kWarn, event, fields);
}
inline void LogError(std::string_view event, std::initializer_list<LogField> fields = {}) {
  Log(LogLevel::kError, event, fields);
}

}  // namespace stator
