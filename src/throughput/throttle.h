// The description of a refused request: for clients the reason code and exception of the protocol;
// for people the partition, the limit, the keys, and what would fix it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "throughput/heavy_hitters.h"
#include "throughput/key_point.h"
#include "throughput/key_sample.h"
#include "throughput/model_settings.h"

namespace stator::throughput {

enum class Access : uint8_t { kRead = 0, kWrite = 1 };
inline constexpr int kAccesses = 2;

enum class Billing : uint8_t { kProvisioned, kOnDemand };

// The limit that refused a request. The order is that of the reason codes in the reference.
enum class Limit : uint8_t {
  kProvisioned = 0,  // the capacity of the table or index
  kAccount = 1,      // the quota per table
  kKeyRange = 2,     // what one partition can do, or (without adaptive capacity) its share
  kMaxOnDemand = 3,  // OnDemandThroughput's maximum
};
inline constexpr int kLimits = 4;

// For example "IndexWriteKeyRangeThroughputExceeded": one of the 16 values of ThrottlingReasons.
std::string_view ReasonCode(bool index, Access access, Limit limit);
// Returns the exception for a refusal by this limit: "ProvisionedThroughputExceededException",
// "ThrottlingException" or "RequestLimitExceeded".
std::string_view ThrottleException(Billing billing, Limit limit);

class Resource;

// The model's answer to a request: admitted, or refused by which limit. Cheap to make;
// Resource::Explain gives the details.
struct Verdict {
  bool admitted = true;
  // When refused:
  Access access = Access::kRead;
  Limit limit = Limit::kProvisioned;
  uint64_t partition = 0;              // id of the partition that the key belongs to
  const Resource* resource = nullptr;  // the table or index that refused; not owned
  size_t draw = 0;                     // of several: the one that was refused
};

// How a hot key is to be spread (suffixes.h).
struct SpreadPlan {
  int64_t values = 0;      // suffixes; 0: no number of them helps
  int64_t partitions = 0;  // that the plan needs; 0: there is no plan
  // Units per second to provision, or to set as WarmThroughput, before that; 0: what there is does.
  double capacity = 0;
  std::vector<std::string> also = {};  // other keys that get as many
  // If the load nearly fills the partitions, the plan needs many suffixes. Then `roomier` is the
  // smaller number of suffixes that is enough on twice the partitions, and `roomier_capacity` the
  // capacity that makes these partitions. 0: there is no such advice.
  int64_t roomier = 0;
  double roomier_capacity = 0;
  double filled = 0;  // part of the partitions' limits that the load has then
};

// Why a request was refused, or would be: made of what was seen until now.
struct Explanation {
  std::string resource;
  bool index = false;
  std::string_view reason;
  std::string_view exception;
  uint64_t partition = 0;
  size_t partitions = 0;  // that the resource has
  KeyRange range;
  double limit = 0;    // units per second that the limit allows
  double granted = 0;  // of them, those that this process may use: all, unless there are others
  // Units per second that the busiest second asked for, of what the limit is about; never less than
  // what refused. All who tell of one refusal tell this number.
  double demand = 0;
  int64_t at_micros = 0;  // when that was
  // That second has not ended: its demand may grow, and no plan is made of it.
  bool so_far = false;
  double partition_share = 0;     // of the provisioned capacity, units per second; 0 on demand
  std::vector<HeavyKey> hottest;  // item collections of the partition, by read and write units
  double hottest_share = 0;       // of the partition's units that the hottest collection had
  SplitObstacle obstacle = SplitObstacle::kNone;  // why the partition cannot be split for heat
  KeyOrder order = KeyOrder::kUnknown;            // of the hottest collection's sort keys
  double strong_share = -1;         // of the partition's reads; below 0: none were seen
  SpreadPlan spread;                // of the hottest key, where suffixes are the cure
  std::string cause;                // ten words, without a full stop
  std::string no_help;              // a sentence on what does not help; may be empty
  std::vector<std::string> advice;  // sentences, the cheapest cure first
  std::vector<std::string> notes;   // sentences that cure nothing: what happens by itself, and why
  std::string_view lesson;          // the example that shows it
};

// How many values to spread a key over, so that `units` per second stay within one partition each:
// a key that takes 20,000 writes per second needs 20 unless a partition's maxima are set otherwise.
int64_t ShardsNeeded(double units_per_second, Access access, const ModelSettings& settings = {});

// "3,000"; three digits below 100.
std::string UnitsText(double units);
// Where a range lies, in words: "the last fifth", "38% to 50% of the hashes", "a part of one item
// collection".
std::string RangeText(const KeyRange& range);

// Returns an obstacle in words for people, for example "one item has nearly all of the heat".
std::string_view ObstacleText(SplitObstacle obstacle);

}  // namespace stator::throughput
