#include "server/clock_control.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>

#include "base/time_text.h"
#include "simdjson.h"

namespace stator::server {
namespace {

struct Movement {
  bool set = false;  // else: advance
  int64_t micros = 0;
};

Error Malformed() {
  return ValidationError(
      R"(Expected {"advance": seconds or "24h"} or {"set": seconds since the epoch or "2026-11-21T12:00:00Z"})");
}

// Seconds as a number, or a text of which `parse` makes microseconds.
std::optional<int64_t> MicrosOf(simdjson::dom::element value,
                                std::optional<int64_t> (*parse)(std::string_view)) {
  if (std::string_view text; value.get(text) == simdjson::SUCCESS) return parse(text);
  if (int64_t seconds = 0; value.get(seconds) == simdjson::SUCCESS) {
    if (seconds < 0 || seconds > kLastTimeMicros / 1'000'000) return std::nullopt;
    return seconds * 1'000'000;
  }
  double seconds = 0;
  if (value.get(seconds) != simdjson::SUCCESS || !(seconds >= 0 && seconds <= 253'402'300'799.0))
    return std::nullopt;
  return std::llround(seconds * 1e6);
}

Result<Movement> Parse(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  if (parser.parse(simdjson::padded_string(body)).get(object) != simdjson::SUCCESS ||
      object.size() != 1)
    return Malformed();
  const simdjson::dom::key_value_pair member = *object.begin();
  Movement move;
  move.set = member.key == "set";
  if (!move.set && member.key != "advance") return Malformed();
  const std::optional<int64_t> micros =
      MicrosOf(member.value, move.set ? ParseTime : ParseDuration);
  if (!micros) return Malformed();
  move.micros = *micros;
  return move;
}

}  // namespace

std::string ClockControl::Render() const {
  const int64_t now = clock_.NowMicros();
  return fmt::format(R"({{"clock":"{}","now":"{}","epochSeconds":{}.{:06}}})",
                     manual() ? "manual" : "system", FormatTime(now), now / 1'000'000,
                     now % 1'000'000);
}

Status ClockControl::Move(std::string_view body) {
  ASSIGN_OR_RETURN(const Movement move, Parse(body));
  const auto target = [&move](int64_t now) -> Result<int64_t> {
    const int64_t by = move.set ? move.micros - now : move.micros;
    if (by < 0) return ValidationError("The clock goes forward only: it is " + FormatTime(now));
    if (by > kLastTimeMicros - now)
      return ValidationError("The clock ends at " + FormatTime(kLastTimeMicros));
    return now + by;
  };
  if (shared_ != nullptr) {
    TRY(shared_->Move(target));
  } else {
    MutexLock lock(mutex_);
    const int64_t now = manual_->NowMicros();
    ASSIGN_OR_RETURN(const int64_t then, target(now));
    manual_->AdvanceMicros(then - now);
  }
  const bool done = peers_ != nullptr ? peers_->RunChores(chores_) : chores_.RunAll();
  if (!done) return Error(ErrorCode::kUnavailable, "The server is stopping");
  return OkStatus();
}

}  // namespace stator::server
