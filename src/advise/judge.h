// Makes findings on the tables of a recording, each with its evidence. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "advise/analysis.h"
#include "throughput/prices.h"

namespace stator::advise {

// Thresholds. Amazon says what is bad, not from which figure on: all but the partition maxima are
// our assumptions. docs/advise.md gives the reason of each.
inline constexpr double kPoorTopShare = 0.25;  // of the units on one key: poor
inline constexpr double kFairTopShare = 0.05;
inline constexpr double kPoorEffectiveKeys = 10;  // fewer: poor
inline constexpr double kFairEffectiveKeys = 100;
inline constexpr double kHotPart = 0.8;  // of a partition's maximum, in a key's busiest second
inline constexpr double kIdlePart =
    0.1;  // of a partition's maximum: a load below it needs no distribution
inline constexpr double kWorthSaving = 0.2;  // of the units that a kind of requests costs
inline constexpr double kWorthLooking =
    0.05;                                    // of a table's read units: what costs less is not told
inline constexpr double kWideScan = 10;      // items read for each one returned
inline constexpr double kFewUnits = 5;       // provisioned beyond need: less is not told
inline constexpr double kMonthNeeds = 3600;  // seconds of recording before a month is told
inline constexpr int64_t kLargeItem = 320 * 1024;  // bytes: 80% of the largest item
inline constexpr double kLargeCollection = 0.8;    // of 10 GB, of a table with local indexes
inline constexpr double kDeleteChurn = 0.3;        // of a table's write units: deletes
inline constexpr double kUnevenSuffix = 0.2;       // of one key's units on one of its suffixes
inline constexpr double kAmplified = 2;      // write units of indexes, of those of their table
inline constexpr int64_t kFewRequests = 20;  // nothing is concluded from fewer

enum class Grade : uint8_t { kGood, kFair, kPoor, kUnknown };
std::string_view GradeText(Grade grade);
// By the larger share of one key and the effective number of keys.
Grade GradeOf(const KeyLoadSummary& keys);

struct Finding {
  enum class Level : uint8_t { kProblem, kSaving, kHint };
  std::string id;  // such as "hot-key"
  Level level = Level::kHint;
  std::string table;
  std::string index;  // empty: the table
  std::string text;   // sentences: what was seen, what would help
  std::vector<std::pair<std::string, double>> evidence;
  std::optional<double> saves_month;  // at the prices
};

// What a month costs if it goes on like this. On demand 0 without its prices.
struct MonthlyCost {
  double on_demand = 0;
  double scaled = 0;  // provisioned with auto scaling
  double fixed = 0;   // provisioned for the busiest minute
  double storage = 0;
};
MonthlyCost CostOf(const throughput::UnitPrices& prices, const ResourceReport& resource,
                   int64_t bytes);

// Worst first: problems, then what saves most, then hints.
std::vector<Finding> Judge(const Recording& recording, const TableReport& table,
                           const throughput::UnitPrices& prices);
// What the recording does not say: sentences that go with every finding.
std::vector<std::string> LimitsOf(const Recording& recording);

// "S:abc" as abc.
std::string KeyForPeople(std::string_view key);
// "1h 5m".
std::string SpanText(double seconds);
std::string NumberText(double number);

}  // namespace stator::advise
