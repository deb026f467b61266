#include "base/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <algorithm>

#include "base/printable.h"

namespace stator {
namespace {

spdlog::logger& Logger() {
  static std::shared_ptr<spdlog::logger> logger = [] {
    auto made = std::make_shared<spdlog::logger>("stator",
                                                 std::make_shared<spdlog::sinks::stderr_sink_mt>());
    made->set_pattern("%Y-%m-%dT%H:%M:%S.%fZ %l %v", spdlog::pattern_time_type::utc);
    made->flush_on(spdlog::level::trace);
    return made;
  }();
  return *logger;
}

spdlog::level::level_enum ToSpdlog(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug: return spdlog::level::debug;
    case LogLevel::kInfo: return spdlog::level::info;
    case LogLevel::kWarn: return spdlog::level::warn;
    case LogLevel::kError: return spdlog::level::err;
    case LogLevel::kOff: return spdlog::level::off;
  }
  return spdlog::level::info;
}

void AppendValue(std::string* out, std::string_view value) {
  // Values come from clients: they must neither end the line nor steer a terminal.
  const bool quoted = value.empty() || value.find_first_of(" \"=\\") != std::string_view::npos ||
                      !IsPrintable(value);
  if (!quoted) {
    out->append(value);
    return;
  }
  out->push_back('"');
  while (!value.empty()) {
    const size_t plain = std::min(value.find_first_of("\"\\"), value.size());
    AppendPrintable(out, value.substr(0, plain));
    value.remove_prefix(plain);
    if (value.empty()) break;
    out->push_back('\\');
    out->push_back(value.front());
    value.remove_prefix(1);
  }
  out->push_back('"');
}

}  // namespace

void SetLogLevel(LogLevel level) { Logger().set_level(ToSpdlog(level)); }

void Log(LogLevel level, std::string_view event, std::initializer_list<LogField> fields) {
  if (!Logger().should_log(ToSpdlog(level))) return;
  std::string line(event);
  for (const LogField& field : fields) {
    line.push_back(' ');
    line.append(field.key);
    line.push_back('=');
    AppendValue(&line, field.value);
  }
  Logger().log(ToSpdlog(level), "{}", line);
}

}  // namespace stator
