#include "model/number.h"

#include <algorithm>
#include <array>
#include <cmath>

// The sortable form, see AppendSortable:
//
//   number   := negative | 0x02 | positive
//   positive := 0x03 exp { pair } 0x00
//   negative := 0x01 and the bytes of `exp { pair } 0x00` of its magnitude, each complemented
//   exp      := adjusted exponent + 130, one byte
//   pair     := two digits + 1, 0x01 .. 0x64

namespace stator::model {
namespace {

constexpr int kMaxDigits = 38;
constexpr int kMaxAdjustedExponent = 125;
constexpr int kMinAdjustedExponent = -130;

using U128 = unsigned __int128;

constexpr std::array<U128, 39> MakePowers() {
  std::array<U128, 39> powers{};
  U128 power = 1;
  for (int i = 0; i < 39; ++i) {
    powers[i] = power;
    if (i < 38) power *= 10;
  }
  return powers;
}
constexpr std::array<U128, 39> kPowers = MakePowers();
constexpr uint64_t kTenTo19 = 10'000'000'000'000'000'000ull;

int CountDigits(U128 value) {
  return static_cast<int>(std::upper_bound(kPowers.begin(), kPowers.end(), value) -
                          kPowers.begin());
}

Error NotNumeric(std::string_view text) {
  std::string message = "The parameter cannot be converted to a numeric value";
  if (!text.empty()) message.append(": ").append(text);
  return ValidationError(std::move(message));
}
Error Overflow() {
  return ValidationError(
      "Number overflow. Attempting to store a number with magnitude larger than supported range");
}
Error Underflow() {
  return ValidationError(
      "Number underflow. Attempting to store a number with magnitude smaller than supported range");
}
Error TooManyDigits() {
  return ValidationError("Attempting to store more than 38 significant digits in a Number");
}

// Writes the decimal digits of `value` (no leading zeros, at least one digit) and returns how many.
int WriteDigits(U128 value, char* out) {
  char reversed[40];
  int n = 0;
  uint64_t low = static_cast<uint64_t>(value % kTenTo19);
  uint64_t high = static_cast<uint64_t>(value / kTenTo19);
  for (; low != 0 || (high != 0 && n < 19); low /= 10)
    reversed[n++] = static_cast<char>('0' + low % 10);
  for (; high != 0; high /= 10) reversed[n++] = static_cast<char>('0' + high % 10);
  if (n == 0) reversed[n++] = '0';
  for (int i = 0; i < n; ++i) out[i] = reversed[n - 1 - i];
  return n;
}

}  // namespace

int Number::DigitCount() const { return coefficient_ == 0 ? 1 : CountDigits(coefficient_); }

Number Number::FromInt(int64_t value) {
  const U128 magnitude = value < 0 ? U128(0) - static_cast<U128>(value) : static_cast<U128>(value);
  return Make(value < 0, magnitude, 0).value();
}

Result<Number> Number::Make(bool negative, Coefficient coefficient, int exponent) {
  Number number;
  if (coefficient == 0) return number;
  if (coefficient <= UINT64_MAX) {
    uint64_t small = static_cast<uint64_t>(coefficient);
    while (small % 10 == 0) {
      small /= 10;
      ++exponent;
    }
    coefficient = small;
  } else {
    while (coefficient % 10 == 0) {
      coefficient /= 10;
      ++exponent;
    }
  }
  const int digits = CountDigits(coefficient);
  const int adjusted = exponent + digits - 1;
  if (adjusted > kMaxAdjustedExponent) return Overflow();
  if (adjusted < kMinAdjustedExponent) return Underflow();
  if (digits > kMaxDigits) return TooManyDigits();
  number.negative_ = negative;
  number.coefficient_ = coefficient;
  number.exponent_ = static_cast<int16_t>(exponent);
  return number;
}

Result<Number> Number::Parse(std::string_view text) {
  const char* p = text.data();
  const char* end = p + text.size();
  bool negative = false;
  if (p < end && (*p == '+' || *p == '-')) negative = *p++ == '-';

  // Digits are collected without leading zeros; trailing zeros are counted apart, so that 1
  // followed by a hundred zeros is one digit.
  U128 coefficient = 0;
  int digits = 0;  // significant digits in `coefficient`
  bool too_many = false;
  int64_t pending_zeros = 0;
  int64_t exponent = 0;
  bool any_digit = false;
  bool in_fraction = false;
  int64_t fraction_digits = 0;
  for (; p < end; ++p) {
    if (*p == '.') {
      if (in_fraction) return NotNumeric(text);
      in_fraction = true;
      continue;
    }
    if (*p < '0' || *p > '9') break;
    any_digit = true;
    if (in_fraction) ++fraction_digits;
    const int digit = *p - '0';
    if (digit == 0) {
      if (digits > 0) ++pending_zeros;
      continue;
    }
    if (digits + pending_zeros + 1 > kMaxDigits) {
      too_many = true;
      digits += static_cast<int>(std::min<int64_t>(pending_zeros, 1 << 20)) + 1;
      pending_zeros = 0;
      continue;
    }
    coefficient = coefficient * kPowers[pending_zeros + 1] + static_cast<unsigned>(digit);
    digits += static_cast<int>(pending_zeros) + 1;
    pending_zeros = 0;
  }
  if (!any_digit) return NotNumeric(text);
  if (p < end && (*p == 'e' || *p == 'E')) {
    ++p;
    bool exponent_negative = false;
    if (p < end && (*p == '+' || *p == '-')) exponent_negative = *p++ == '-';
    if (p == end) return NotNumeric(text);
    for (; p < end && *p >= '0' && *p <= '9'; ++p) {
      if (exponent < 1'000'000'000) exponent = exponent * 10 + (*p - '0');
    }
    if (exponent_negative) exponent = -exponent;
  }
  if (p != end) return NotNumeric(text);

  exponent += pending_zeros - fraction_digits;
  if (digits == 0) {
    // The service checks the exponent of a zero as written: "0e126" overflows, "0.0e126" does not.
    if (exponent > kMaxAdjustedExponent) return Overflow();
    if (exponent < kMinAdjustedExponent) return Underflow();
    return Number();
  }
  const int64_t adjusted = exponent + digits - 1;
  if (adjusted > kMaxAdjustedExponent) return Overflow();
  if (adjusted < kMinAdjustedExponent) return Underflow();
  if (too_many) return TooManyDigits();
  return Make(negative, coefficient, static_cast<int>(exponent));
}

Number Number::FromCanonical(std::string_view text) {
  Result<Number> parsed = Parse(text);
  return parsed.ok() ? *parsed : Number();
}

void Number::AppendTo(std::string* out) const {
  char digits[40];
  const int n = WriteDigits(coefficient_, digits);
  if (negative_) out->push_back('-');
  if (exponent_ >= 0) {
    out->append(digits, n);
    out->append(static_cast<size_t>(exponent_), '0');
    return;
  }
  const int fraction = -exponent_;
  if (n > fraction) {
    out->append(digits, n - fraction);
    out->push_back('.');
    out->append(digits + n - fraction, fraction);
    return;
  }
  out->append("0.");
  out->append(static_cast<size_t>(fraction - n), '0');
  out->append(digits, n);
}

std::string Number::ToString() const {
  std::string out;
  AppendTo(&out);
  return out;
}

std::strong_ordering Number::operator<=>(const Number& other) const {
  const int sign = coefficient_ == 0 ? 0 : (negative_ ? -1 : 1);
  const int other_sign = other.coefficient_ == 0 ? 0 : (other.negative_ ? -1 : 1);
  if (sign != other_sign) return sign <=> other_sign;
  if (sign == 0) return std::strong_ordering::equal;
  const int digits = DigitCount();
  const int other_digits = other.DigitCount();
  const int adjusted = exponent_ + digits;
  const int other_adjusted = other.exponent_ + other_digits;
  std::strong_ordering magnitude = adjusted <=> other_adjusted;
  if (magnitude == 0) {
    const int width = std::max(digits, other_digits);
    magnitude = coefficient_ * kPowers[width - digits] <=>
                other.coefficient_ * kPowers[width - other_digits];
  }
  if (sign > 0) return magnitude;
  return 0 <=> magnitude;
}

Result<Number> Number::Add(const Number& a, const Number& b) { return AddSigned(a, b, false); }
Result<Number> Number::Subtract(const Number& a, const Number& b) { return AddSigned(a, b, true); }

Result<Number> Number::AddSigned(const Number& a, const Number& b, bool negate_b) {
  Number right = b;
  if (negate_b && right.coefficient_ != 0) right.negative_ = !right.negative_;
  if (a.coefficient_ == 0) return right;
  if (right.coefficient_ == 0) return a;

  const Number& high = a.exponent_ >= right.exponent_ ? a : right;
  const Number& low = a.exponent_ >= right.exponent_ ? right : a;
  const int shift = high.exponent_ - low.exponent_;
  // A shift past 128 bits leaves a result of 39 digits or more whose last digit is not zero: it
  // can't be exact in 38.
  Coefficient scaled = 0;
  if (shift > kMaxDigits || __builtin_mul_overflow(high.coefficient_, kPowers[shift], &scaled))
    return Overflow();

  Coefficient sum = 0;
  bool negative = high.negative_;
  if (high.negative_ == low.negative_) {
    if (__builtin_add_overflow(scaled, low.coefficient_, &sum)) return Overflow();
  } else if (scaled >= low.coefficient_) {
    sum = scaled - low.coefficient_;
  } else {
    sum = low.coefficient_ - scaled;
    negative = low.negative_;
  }
  Result<Number> made = Make(negative, sum, low.exponent_);
  if (!made.ok() && made.error().message().starts_with("Attempting")) return Overflow();
  return made;
}

double Number::ToDouble() const {
  const double magnitude = static_cast<double>(coefficient_) * std::pow(10.0, exponent_);
  return negative_ ? -magnitude : magnitude;
}

bool Number::ToInt64(int64_t* out) const {
  if (coefficient_ == 0) {
    *out = 0;
    return true;
  }
  if (exponent_ < 0 || exponent_ + DigitCount() > 19) return false;
  const Coefficient magnitude = coefficient_ * kPowers[exponent_];
  const Coefficient limit = static_cast<Coefficient>(INT64_MAX) + (negative_ ? 1 : 0);
  if (magnitude > limit) return false;
  *out = static_cast<int64_t>(negative_ ? 0 - static_cast<uint64_t>(magnitude)
                                        : static_cast<uint64_t>(magnitude));
  return true;
}

void Number::AppendSortable(std::string* out) const {
  if (coefficient_ == 0) {
    out->push_back(0x02);
    return;
  }
  char digits[41];
  int n = WriteDigits(coefficient_, digits);
  const int adjusted = exponent_ + n - 1;
  if (n % 2 != 0) digits[n++] = '0';
  const uint8_t flip = negative_ ? 0xff : 0x00;
  out->push_back(negative_ ? 0x01 : 0x03);
  out->push_back(static_cast<char>(static_cast<uint8_t>(adjusted - kMinAdjustedExponent) ^ flip));
  for (int i = 0; i < n; i += 2) {
    const uint8_t pair = static_cast<uint8_t>((digits[i] - '0') * 10 + (digits[i + 1] - '0') + 1);
    out->push_back(static_cast<char>(pair ^ flip));
  }
  out->push_back(static_cast<char>(flip));
}

Result<Number> Number::ReadSortable(std::string_view* in) {
  const auto corrupt = [] { return CorruptionError("malformed number in a key"); };
  if (in->empty()) return corrupt();
  const uint8_t head = static_cast<uint8_t>(in->front());
  if (head == 0x02) {
    in->remove_prefix(1);
    return Number();
  }
  if (head != 0x01 && head != 0x03) return corrupt();
  const uint8_t flip = head == 0x01 ? 0xff : 0x00;
  if (in->size() < 4) return corrupt();
  const int adjusted = (static_cast<uint8_t>((*in)[1]) ^ flip) + kMinAdjustedExponent;
  Coefficient coefficient = 0;
  int digits = 0;
  size_t i = 2;
  for (; i < in->size(); ++i) {
    const uint8_t pair = static_cast<uint8_t>((*in)[i]) ^ flip;
    if (pair == 0) break;
    if (pair > 100 || digits >= kMaxDigits) return corrupt();
    coefficient = coefficient * 100 + (pair - 1);
    digits += 2;
  }
  if (i == in->size() || digits == 0) return corrupt();
  in->remove_prefix(i + 1);
  Result<Number> made = Make(head == 0x01, coefficient, adjusted - digits + 1);
  if (!made.ok() || made->coefficient_ == 0) return corrupt();
  return made;
}

size_t Number::SizeBytes() const {
  if (coefficient_ == 0) return 1;
  const int digits = DigitCount();
  const int fraction = exponent_ >= 0 ? 0 : std::min(digits, -static_cast<int>(exponent_));
  const int integer = digits - fraction;
  return 1 + static_cast<size_t>((integer + 1) / 2 + (fraction + 1) / 2) + (negative_ ? 1 : 0);
}

}  // namespace stator::model
