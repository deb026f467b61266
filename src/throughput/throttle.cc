#include "throughput/throttle.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace stator::throughput {

std::string_view ReasonCode(bool index, Access access, Limit limit) {
  // As in the reference: {Table|Index} {Read|Write} and the limit.
  static constexpr std::array<std::string_view, 16> kCodes = {
      "TableReadProvisionedThroughputExceeded",  "TableReadAccountLimitExceeded",
      "TableReadKeyRangeThroughputExceeded",     "TableReadMaxOnDemandThroughputExceeded",
      "TableWriteProvisionedThroughputExceeded", "TableWriteAccountLimitExceeded",
      "TableWriteKeyRangeThroughputExceeded",    "TableWriteMaxOnDemandThroughputExceeded",
      "IndexReadProvisionedThroughputExceeded",  "IndexReadAccountLimitExceeded",
      "IndexReadKeyRangeThroughputExceeded",     "IndexReadMaxOnDemandThroughputExceeded",
      "IndexWriteProvisionedThroughputExceeded", "IndexWriteAccountLimitExceeded",
      "IndexWriteKeyRangeThroughputExceeded",    "IndexWriteMaxOnDemandThroughputExceeded"};
  return kCodes[(index ? 8 : 0) + static_cast<size_t>(access) * 4 + static_cast<size_t>(limit)];
}

std::string_view ThrottleException(Billing billing, Limit limit) {
  if (limit == Limit::kAccount) return "RequestLimitExceeded";
  return billing == Billing::kProvisioned ? "ProvisionedThroughputExceededException"
                                          : "ThrottlingException";
}

int64_t ShardsNeeded(double units_per_second, Access access, const ModelSettings& settings) {
  const double most =
      access == Access::kRead ? settings.partition_read_units : settings.partition_write_units;
  return std::max<int64_t>(1, static_cast<int64_t>(std::ceil(units_per_second / most)));
}

std::string UnitsText(double units) {
  if (std::abs(units) < 100 && std::abs(units - std::round(units)) > 1e-9)
    return fmt::format("{:.3g}", units);
  std::string digits = fmt::format("{:.0f}", units);
  const int64_t first = units < 0 ? 1 : 0;
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > first; at -= 3)
    digits.insert(static_cast<size_t>(at), 1, ',');
  return digits;
}

std::string RangeText(const KeyRange& range) {
  if (range.InsideCollection()) return "a part of one item collection";
  constexpr double kSpace = 18446744073709551616.0;  // 2^64
  const double from = static_cast<double>(range.from.hash) / kSpace;
  const double share = range.HashShare();
  if (share >= 1) return "the whole table";
  static constexpr std::array<std::string_view, 9> kParts = {
      "", "", "half", "third", "quarter", "fifth", "sixth", "seventh", "eighth"};
  static constexpr std::array<std::string_view, 8> kPlaces = {
      "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth"};
  const double parts = std::round(1 / share), place = std::round(from / share);
  constexpr double kExact = 1e-9;
  if (parts < 9 && std::abs(1 / share - parts) < kExact * parts &&
      std::abs(from / share - place) < kExact * parts) {
    return fmt::format("the {} {}",
                       place + 1 == parts ? "last" : kPlaces[static_cast<size_t>(place)],
                       kParts[static_cast<size_t>(parts)]);
  }
  return fmt::format("{:.3g}% to {:.3g}% of the hashes", 100 * from, 100 * (from + share));
}

std::string_view ObstacleText(SplitObstacle obstacle) {
  switch (obstacle) {
    case SplitObstacle::kNone: return "";
    case SplitObstacle::kTooFewSamples:
      return "too few requests were seen to choose a key to split at";
    case SplitObstacle::kSingleKey:
      return "one item has nearly all of the heat, and an item is never divided";
    case SplitObstacle::kMovingKey:
      return "the heat moves along the keys, as with an ever-increasing sort key: a split would "
             "leave all of it on one side";
    case SplitObstacle::kLocalIndexes:
      return "one item collection has nearly all of the heat, and a table with local indexes keeps "
             "collections together";
    case SplitObstacle::kStreams:
      return "single keys are not isolated on a provisioned table with a stream";
  }
  return "";
}

}  // namespace stator::throughput
