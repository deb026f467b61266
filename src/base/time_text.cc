#include "base/time_text.h"

#include <fmt/format.h>

#include <chrono>

namespace stator {
namespace {

constexpr int64_t kSecond = 1'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// Reads from the front of a text.
class Cursor {
 public:
  explicit Cursor(std::string_view text) : text_(text) {}

  bool AtEnd() const { return text_.empty(); }
  bool Take(std::string_view wanted) {
    if (!text_.starts_with(wanted)) return false;
    text_.remove_prefix(wanted.size());
    return true;
  }
  // Takes exactly `digits` digits.
  bool TakeFixed(size_t digits, int* value) {
    if (text_.size() < digits) return false;
    *value = 0;
    for (size_t i = 0; i < digits; ++i) {
      if (!IsDigit(text_[i])) return false;
      *value = *value * 10 + (text_[i] - '0');
    }
    text_.remove_prefix(digits);
    return true;
  }
  // Takes digits with an optional fraction; digits beyond millionths are cut off.
  bool TakeDecimal(int64_t* whole, int64_t* millionths) {
    if (AtEnd() || !IsDigit(text_.front())) return false;
    *whole = 0;
    while (!AtEnd() && IsDigit(text_.front())) {
      *whole = *whole * 10 + (text_.front() - '0');
      if (*whole > kLastTimeMicros) return false;
      text_.remove_prefix(1);
    }
    *millionths = 0;
    return !Take(".") || TakeFraction(millionths);
  }
  // Takes the digits behind a decimal point, at least one, as millionths.
  bool TakeFraction(int64_t* millionths) {
    if (AtEnd() || !IsDigit(text_.front())) return false;
    int64_t place = 100'000;
    *millionths = 0;
    for (; !AtEnd() && IsDigit(text_.front()); place /= 10) {
      *millionths += (text_.front() - '0') * place;
      text_.remove_prefix(1);
    }
    return true;
  }

 private:
  std::string_view text_;
};

// Returns whole.millionths times a unit of at least a millisecond; nullopt if the result is too
// large.
std::optional<int64_t> Times(int64_t whole, int64_t millionths, int64_t unit_micros) {
  if (whole > kLastTimeMicros / unit_micros) return std::nullopt;
  const int64_t micros =
      whole * unit_micros +
      static_cast<int64_t>(static_cast<__int128>(millionths) * unit_micros / kSecond);
  return micros <= kLastTimeMicros ? std::optional(micros) : std::nullopt;
}

bool TakeZone(Cursor* cursor, int64_t* offset_seconds) {
  *offset_seconds = 0;
  if (cursor->AtEnd() || cursor->Take("Z")) return cursor->AtEnd();
  const bool west = cursor->Take("-");
  if (!west && !cursor->Take("+")) return false;
  int hours = 0;
  int minutes = 0;
  if (!cursor->TakeFixed(2, &hours)) return false;
  cursor->Take(":");
  if (!cursor->TakeFixed(2, &minutes) || hours > 23 || minutes > 59) return false;
  *offset_seconds = (hours * 60 + minutes) * (west ? -60 : 60);
  return cursor->AtEnd();
}

std::optional<int64_t> ParseDate(std::string_view text) {
  Cursor cursor(text);
  int year = 0;
  int month = 0;
  int day = 0;
  if (!cursor.TakeFixed(4, &year) || !cursor.Take("-") || !cursor.TakeFixed(2, &month) ||
      !cursor.Take("-") || !cursor.TakeFixed(2, &day)) {
    return std::nullopt;
  }
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok()) return std::nullopt;
  int hours = 0;
  int minutes = 0;
  int seconds = 0;
  int64_t millionths = 0;
  int64_t offset = 0;
  if (!cursor.AtEnd()) {
    if (!cursor.Take("T") && !cursor.Take(" ")) return std::nullopt;
    if (!cursor.TakeFixed(2, &hours) || !cursor.Take(":") || !cursor.TakeFixed(2, &minutes))
      return std::nullopt;
    if (cursor.Take(":") && !cursor.TakeFixed(2, &seconds)) return std::nullopt;
    if (cursor.Take(".") && !cursor.TakeFraction(&millionths)) return std::nullopt;
    if (hours > 23 || minutes > 59 || seconds > 59 || !TakeZone(&cursor, &offset))
      return std::nullopt;
  }
  const int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  const int64_t micros =
      (days * 86'400 + hours * 3'600 + minutes * 60 + seconds - offset) * kSecond + millionths;
  if (micros < 0 || micros > kLastTimeMicros) return std::nullopt;
  return micros;
}

}  // namespace

std::optional<int64_t> ParseTime(std::string_view text) {
  Cursor cursor(text);
  int64_t seconds = 0;
  int64_t millionths = 0;
  if (cursor.TakeDecimal(&seconds, &millionths) && cursor.AtEnd())
    return Times(seconds, millionths, kSecond);
  return ParseDate(text);
}

std::optional<int64_t> ParseDuration(std::string_view text) {
  struct Unit {
    std::string_view name;
    int64_t micros;
  };
  constexpr Unit kUnits[] = {{"ms", 1'000},
                             {"d", 86'400 * kSecond},
                             {"h", 3'600 * kSecond},
                             {"m", 60 * kSecond},
                             {"s", kSecond}};
  Cursor cursor(text);
  int64_t sum = 0;
  bool first = true;
  do {
    int64_t whole = 0;
    int64_t millionths = 0;
    if (!cursor.TakeDecimal(&whole, &millionths)) return std::nullopt;
    int64_t unit = 0;
    for (const Unit& candidate : kUnits) {
      if (unit == 0 && cursor.Take(candidate.name)) unit = candidate.micros;
    }
    // Only a number that stands alone may omit its unit.
    if (unit == 0 && (!first || !cursor.AtEnd())) return std::nullopt;
    const std::optional<int64_t> part = Times(whole, millionths, unit == 0 ? kSecond : unit);
    if (!part || *part > kLastTimeMicros - sum) return std::nullopt;
    sum += *part;
    first = false;
  } while (!cursor.AtEnd());
  return sum;
}

std::string FormatTime(int64_t micros) {
  const std::chrono::sys_time<std::chrono::microseconds> time{std::chrono::microseconds(micros)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", static_cast<int>(date.year()),
                     static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                     clock.hours().count(), clock.minutes().count(), clock.seconds().count(),
                     clock.subseconds().count() / 1000);
}

}  // namespace stator
