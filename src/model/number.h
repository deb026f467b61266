// DynamoDB's number: up to 38 significant digits, magnitude 1E-130 .. 9.9E+125, sign, zero. Exact.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::model {

// A value type: coefficient * 10^exponent with a coefficient that does not end in zero (zero is 0 *
// 10^0).
class Number {
 public:
  Number() = default;
  static Number FromInt(int64_t value);

  // Accepts an optional sign, digits with an optional point, an optional exponent; nothing else, no
  // spaces. Errors are kValidation with the service's texts (not a number, overflow, underflow,
  // more than 38 digits).
  static Result<Number> Parse(std::string_view text);
  // Parses text that ToString made.
  static Number FromCanonical(std::string_view text);

  // Canonical: plain decimal without exponent, no superfluous zeros, "-0" is "0".
  std::string ToString() const;
  void AppendTo(std::string* out) const;

  // Exact sum and difference; kValidation "Number overflow..." where the result needs more than 38
  // digits or leaves the range.
  static Result<Number> Add(const Number& a, const Number& b);
  static Result<Number> Subtract(const Number& a, const Number& b);

  std::strong_ordering operator<=>(const Number& other) const;
  bool operator==(const Number& other) const = default;
  bool is_zero() const { return coefficient_ == 0; }
  bool negative() const { return negative_; }
  // The value as a double, for estimates only.
  double ToDouble() const;
  // The value as an integer if it is one that fits.
  bool ToInt64(int64_t* out) const;

  // Bytes that order (as unsigned bytes) as the numbers do, self-delimiting. Grammar in number.cc
  // and storage-format.md.
  void AppendSortable(std::string* out) const;
  // Reads one from the front of *in and removes it. kCorruption if the bytes are none.
  static Result<Number> ReadSortable(std::string_view* in);

  // Size by DynamoDB's rules (1 + half a byte per significant digit on each side of the point, +1
  // if negative), in bytes.
  size_t SizeBytes() const;

 private:
  using Coefficient = unsigned __int128;
  static Result<Number> Make(bool negative, Coefficient coefficient, int exponent);
  static Result<Number> AddSigned(const Number& a, const Number& b, bool negate_b);
  int DigitCount() const;

  bool negative_ = false;
  int16_t exponent_ = 0;
  Coefficient coefficient_ = 0;
};

}  // namespace stator::model
