#include "access/operand.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace stator::access {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), IsDigit);
}

// Reads a fixed number of digits off the front.
bool TakeDigits(std::string_view* text, size_t count, int* value) {
  if (text->size() < count || !AllDigits(text->substr(0, count))) return false;
  *value = 0;
  for (size_t i = 0; i < count; ++i) *value = *value * 10 + ((*text)[i] - '0');
  text->remove_prefix(count);
  return true;
}

bool Take(std::string_view* text, char c) {
  if (text->empty() || text->front() != c) return false;
  text->remove_prefix(1);
  return true;
}

// Reads "Z", "+hh:mm" or "-hh:mm" to the end of the text.
bool TakeZone(std::string_view text, int64_t* minutes) {
  if (text == "Z") {
    *minutes = 0;
    return true;
  }
  const bool behind = text.starts_with('-');
  if (!behind && !text.starts_with('+')) return false;
  text.remove_prefix(1);
  int hours = 0;
  int rest = 0;
  if (!TakeDigits(&text, 2, &hours) || !Take(&text, ':') || !TakeDigits(&text, 2, &rest) ||
      !text.empty() || hours > 23 || rest > 59)
    return false;
  *minutes = hours * 60 + rest;
  if (behind) *minutes = -*minutes;
  return true;
}

}  // namespace

std::optional<Decimal> ParseDecimal(std::string_view text) {
  Decimal number;
  if (Take(&text, '-')) {
    number.negative = true;
  } else {
    Take(&text, '+');
  }
  int64_t point = 0;  // digits before the decimal point
  bool any = false;
  while (!text.empty() && IsDigit(text.front())) {
    number.digits += text.front();
    text.remove_prefix(1);
    ++point;
    any = true;
  }
  if (Take(&text, '.')) {
    if (text.empty() || !IsDigit(text.front())) return std::nullopt;
    while (!text.empty() && IsDigit(text.front())) {
      number.digits += text.front();
      text.remove_prefix(1);
      any = true;
    }
  }
  if (!any) return std::nullopt;
  int64_t exponent = 0;
  if (Take(&text, 'e') || Take(&text, 'E')) {
    const bool negative = text.starts_with('-');
    if (negative || text.starts_with('+')) text.remove_prefix(1);
    if (!AllDigits(text) || text.size() > 4) return std::nullopt;
    std::from_chars(text.data(), text.data() + text.size(), exponent);
    if (negative) exponent = -exponent;
    text = {};
  }
  if (!text.empty()) return std::nullopt;
  const size_t first = std::min(number.digits.find_first_not_of('0'), number.digits.size());
  number.digits.erase(0, first);
  while (!number.digits.empty() && number.digits.back() == '0') number.digits.pop_back();
  number.exponent = point - static_cast<int64_t>(first) + exponent;
  if (number.digits.empty()) number = Decimal();
  return number;
}

int Compare(const Decimal& a, const Decimal& b) {
  const auto sign = [](const Decimal& d) { return d.digits.empty() ? 0 : d.negative ? -1 : 1; };
  if (sign(a) != sign(b)) return sign(a) < sign(b) ? -1 : 1;
  if (sign(a) == 0) return 0;
  int magnitude = 0;
  if (a.exponent != b.exponent) {
    magnitude = a.exponent < b.exponent ? -1 : 1;
  } else {
    magnitude = a.digits.compare(b.digits);
  }
  return sign(a) < 0 ? -magnitude : magnitude;
}

std::optional<int64_t> ParseDate(std::string_view text) {
  using namespace std::chrono;
  if (AllDigits(text)) {
    int64_t seconds = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), seconds);
    if (code != std::errc() || seconds > INT64_MAX / 1'000'000) return std::nullopt;
    return seconds * 1'000'000;
  }
  int y = 0;
  int mo = 1;
  int d = 1;
  int h = 0;
  int mi = 0;
  int s = 0;
  int64_t fraction = 0;
  int64_t zone = 0;
  if (!TakeDigits(&text, 4, &y) || !Take(&text, '-') || !TakeDigits(&text, 2, &mo))
    return std::nullopt;
  if (Take(&text, '-') && !TakeDigits(&text, 2, &d)) return std::nullopt;
  if (Take(&text, 'T')) {
    if (!TakeDigits(&text, 2, &h) || !Take(&text, ':') || !TakeDigits(&text, 2, &mi))
      return std::nullopt;
    if (Take(&text, ':')) {
      if (!TakeDigits(&text, 2, &s)) return std::nullopt;
      if (Take(&text, '.')) {
        int64_t unit = 100'000;
        if (text.empty() || !IsDigit(text.front())) return std::nullopt;
        for (; !text.empty() && IsDigit(text.front()); text.remove_prefix(1), unit /= 10)
          fraction += (text.front() - '0') * unit;
      }
    }
    if (!TakeZone(text, &zone)) return std::nullopt;
  } else if (!text.empty()) {
    return std::nullopt;
  }
  const year_month_day date{year(y), month(static_cast<unsigned>(mo)),
                            day(static_cast<unsigned>(d))};
  if (!date.ok() || h > 23 || mi > 59 || s > 59) return std::nullopt;
  const sys_seconds time =
      sys_days(date) + hours(h) + minutes(static_cast<int64_t>(mi) - zone) + seconds(s);
  return duration_cast<microseconds>(time.time_since_epoch()).count() + fraction;
}

bool AddressRange::Contains(const AddressRange& address) const {
  if (v6 != address.v6 || address.prefix < prefix) return false;
  const size_t whole = static_cast<size_t>(prefix / 8);
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(whole),
                  address.bytes.begin()))
    return false;
  const int rest = prefix % 8;
  if (rest == 0) return true;
  const int mask = 0xff << (8 - rest) & 0xff;
  return (bytes[whole] & mask) == (address.bytes[whole] & mask);
}

std::optional<AddressRange> ParseAddressRange(std::string_view text) {
  const size_t slash = text.find('/');
  const std::string address(text.substr(0, slash));
  if (address.size() > 45 || address.find('\0') != std::string::npos) return std::nullopt;
  AddressRange range;
  int most = 32;
  if (inet_pton(AF_INET, address.c_str(), range.bytes.data()) != 1) {
    if (inet_pton(AF_INET6, address.c_str(), range.bytes.data()) != 1) return std::nullopt;
    range.v6 = true;
    most = 128;
  }
  range.prefix = most;
  if (slash != std::string_view::npos) {
    const std::string_view length = text.substr(slash + 1);
    if (!AllDigits(length) || length.size() > 3) return std::nullopt;
    std::from_chars(length.data(), length.data() + length.size(), range.prefix);
    if (range.prefix > most) return std::nullopt;
  }
  constexpr std::array<uint8_t, 12> kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  if (range.v6 && range.prefix >= 96 &&
      std::equal(kMapped.begin(), kMapped.end(), range.bytes.begin())) {
    std::copy(range.bytes.begin() + 12, range.bytes.end(), range.bytes.begin());
    std::fill(range.bytes.begin() + 4, range.bytes.end(), uint8_t{0});
    range.v6 = false;
    range.prefix -= 96;
  }
  return range;
}

}  // namespace stator::access
