// What capacity and storage cost a month, from unit prices that the caller gives: prices differ by
// Region and change. Pure.
#pragma once

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

// Provisioned units for a month; `reserved` pays for all of them in advance.
constexpr double ProvisionedMonth(const UnitPrices& prices, double read_units, double write_units,
                                  bool reserved = false) {
  return (read_units * prices.read_unit + write_units * prices.write_unit) *
         (reserved ? 1 - prices.reserved_discount : 1);
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
