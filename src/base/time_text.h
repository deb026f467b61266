// Points in time and durations as people write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stator {

// The last point in time that is taken: 9999-12-31T23:59:59.999999Z.
inline constexpr int64_t kLastTimeMicros = 253'402'300'799'999'999;

// Microseconds since the Unix epoch of "2026-11-21", "2026-11-21T12:30[:05[.25]][Z|+02:00]" (UTC
// where no zone is given, a space may stand for the T) or of seconds since the epoch ("1795264205",
// "1795264205.25"). Nothing before 1970 or behind kLastTimeMicros.
std::optional<int64_t> ParseTime(std::string_view text);
// Microseconds of "90", "0.5" (seconds) or of a sum of parts with units: "24h", "1d12h", "1h30m",
// "500ms". Not negative, at most kLastTimeMicros.
std::optional<int64_t> ParseDuration(std::string_view text);
// "2026-11-21T12:30:05.250Z", for a time that ParseTime might return; less than a millisecond is
// cut off.
std::string FormatTime(int64_t micros);

}  // namespace stator
