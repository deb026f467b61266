// Parses and formats points in time and durations.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stator {

// The latest time that is accepted: 9999-12-31T23:59:59.999999Z.
inline constexpr int64_t kLastTimeMicros = 253'402'300'799'999'999;

// Returns microseconds since the Unix epoch. Accepts "2026-11-21",
// "2026-11-21T12:30[:05[.25]][Z|+02:00]" (UTC if no zone is given; a space may replace the T) and
// seconds since the epoch ("1795264205", "1795264205.25"). nullopt for other text, and for times
// before 1970 or after kLastTimeMicros.
std::optional<int64_t> ParseTime(std::string_view text);
// Returns microseconds. Accepts seconds ("90", "0.5") and a sum of parts with units ("24h",
// "1d12h", "1h30m", "500ms"). nullopt for other text, and for a duration above kLastTimeMicros.
std::optional<int64_t> ParseDuration(std::string_view text);
// Returns "2026-11-21T12:30:05.250Z" for a time that ParseTime can return. Fractions of a
// millisecond are cut off.
std::string FormatTime(int64_t micros);

}  // namespace stator
