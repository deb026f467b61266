#include "throughput/throttle.h"

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

EvenLoad ValuesForEvenLoad(double units_per_second, double partition_units, size_t partitions) {
  constexpr double kFull = 0.75;
  constexpr double kDeviations = 3;
  EvenLoad even;
  if (units_per_second <= 0) return even;
  const double needed = std::ceil(units_per_second / (kFull * partition_units));
  const double count = std::max({1.0, static_cast<double>(partitions), needed});
  const double slack = partition_units * count / units_per_second - 1;
  const double values = std::max(count, kDeviations * kDeviations * (count - 1) / (slack * slack));
  even.partitions = static_cast<int64_t>(count);
  even.values = static_cast<int64_t>(std::ceil(values / 10)) * 10;
  return even;
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
