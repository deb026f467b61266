// DynamoDB's number: up to 38 significant digits, magnitude 1E-130 .. 9.9E+125, with sign, or zero.
// Exact.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::model {

// A value type: coefficient * 10^exponent, where the coefficient does not end in a zero digit. Zero
// is 0 * 10^0.
class Number {
 public:
  Number() = default;
  static Number FromInt(int64_t value);

  // Parses an optional sign, digits with an optional point, and an optional exponent; nothing else,
  // no spaces. Errors are kValidation with the service's texts: not a number, overflow, underflow,
  // more than 38 digits.
  static Result<Number> Parse(std::string_view text);
  // Parses text made by ToString.
  static Number FromCanonical(std::string_view text);

  // Returns the canonical form: plain decimal without exponent or superfluous zeros; "-0" is "0".
  std::string ToString() const;
  void AppendTo(std::string* out) const;

  // Return the exact sum and difference. kValidation "Number overflow..." if the result needs more
  // than 38 digits or is too large; "Number underflow..." if it is too close to zero.
  static Result<Number> Add(const Number& a, const Number& b);
  static Result<Number> Subtract(const Number& a, const Number& b);

  std::strong_ordering operator<=>(const Number& other) const;
  bool operator==(const Number& other) const = default;
  bool is_zero() const { return coefficient_ == 0; }
  bool negative() const { return negative_; }
  // Returns an approximation, for estimates only.
  double ToDouble() const;
  // Stores the value in *out if it is an integer that fits; returns whether it is.
  bool ToInt64(int64_t* out) const;

  // Appends a self-delimiting form whose order as unsigned bytes is the order of the numbers. The
  // grammar is in number.cc and storage-format.md.
  void AppendSortable(std::string* out) const;
  // Reads a number from the front of *in and removes it; kCorruption if the bytes are not one.
  static Result<Number> ReadSortable(std::string_view* in);

  // Returns the size by DynamoDB's rules, in bytes: 1 + half a byte per significant digit on each
  // side of the point, +1 if negative.
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
