// The typed operands of policy conditions: decimal numbers, dates and address ranges.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace stator::access {

// A decimal number of any length: 0.DIGITS * 10^exponent, DIGITS without zeros at either end.
struct Decimal {
  bool negative = false;
  int64_t exponent = 0;
  std::string digits;  // empty: zero

  friend bool operator==(const Decimal&, const Decimal&) = default;
};
// Reads "12", "-0.5", "1.5e3"; nothing for other text and for exponents beyond +-9,999.
std::optional<Decimal> ParseDecimal(std::string_view text);
// Returns a negative number, 0 or a positive number.
int Compare(const Decimal& a, const Decimal& b);

// Reads a date as microseconds since 1970: digits alone are epoch seconds, else the W3C profile of
// ISO 8601 ("2026-01", "2026-01-31", "2026-01-31T12:00Z", "2026-01-31T12:00:00.5+01:00").
std::optional<int64_t> ParseDate(std::string_view text);

// An IPv4 or IPv6 address with a prefix length; a single address has the full length.
struct AddressRange {
  bool v6 = false;
  std::array<uint8_t, 16> bytes{};  // of IPv4 the first four
  int prefix = 0;

  // True if both are of one family and the first `prefix` bits are equal.
  bool Contains(const AddressRange& address) const;
};
// Reads "10.0.0.0/8", "2001:db8::/32" or an address. IPv4 addresses written as IPv6
// ("::ffff:10.0.0.1", what a dual-stack socket reports) become IPv4.
std::optional<AddressRange> ParseAddressRange(std::string_view text);

}  // namespace stator::access
