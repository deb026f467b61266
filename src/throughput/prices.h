// What capacity and storage cost a month, from unit prices that the caller gives: prices differ by
// Region and change. Pure.
#pragma once

#include <algorithm>
#include <cstdint>

namespace stator::throughput {

struct UnitPrices {
  // A month each. The defaults are those of the guidance's examples, in dollars.
  double write_unit = 0.47;
  double read_unit = 0.09;
  double gigabyte = 0.25;
  double reserved_discount = 0.53;  // of provisioned units
  // On-demand, per million request units; no figure in the reference, so nothing unless given.
  double million_writes = 0;
  double million_reads = 0;
};

inline constexpr double kMonthSeconds = 730 * 3600.0;  // the month of Amazon's price calculator [A]

// Capacity is reserved in blocks of this size. [G]
inline constexpr double kReservedBlock = 100;

// Returns how many provisioned units cost as much as `units` of which whole blocks are reserved.
// The rest is provisioned, or one more block is reserved where that costs less.
constexpr double ReservedUnits(const UnitPrices& prices, double units) {
  const double part = 1 - prices.reserved_discount;
  const double blocks = static_cast<double>(static_cast<int64_t>(units / kReservedBlock));
  const double rest = units - blocks * kReservedBlock;
  return blocks * kReservedBlock * part + std::min(rest, kReservedBlock * part);
}

// Provisioned units for a month; `reserved` pays for whole blocks of them in advance.
constexpr double ProvisionedMonth(const UnitPrices& prices, double read_units, double write_units,
                                  bool reserved = false) {
  const double reads = reserved ? ReservedUnits(prices, read_units) : read_units;
  const double writes = reserved ? ReservedUnits(prices, write_units) : write_units;
  return reads * prices.read_unit + writes * prices.write_unit;
}
// A month of so many on-demand units per second.
constexpr double OnDemandMonth(const UnitPrices& prices, double reads_per_second,
                               double writes_per_second) {
  return (reads_per_second * prices.million_reads + writes_per_second * prices.million_writes) *
         kMonthSeconds / 1e6;
}
constexpr double StorageMonth(const UnitPrices& prices, double bytes) {
  return bytes / (1 << 30) * prices.gigabyte;
}

}  // namespace stator::throughput
