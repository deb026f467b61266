// What `stator simulate` plays: tables, and the traffic on them. docs/throughput.md describes the
// file it is read from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "throughput/auto_scaling.h"
#include "throughput/model_settings.h"
#include "throughput/prices.h"
#include "throughput/resource.h"
#include "throughput/units.h"

namespace stator::simulate {

// The keys of a stream of requests. A key is the partition key of an item collection.
struct KeySpace {
  enum class Kind : uint8_t {
    kUniform,   // `count` keys, all alike
    kZipf,      // `count` keys, the n-th hottest with weight 1 / n^exponent
    kSingle,    // `names[0]` alone
    kWeighted,  // `names` with `weights`
    kDate,      // one key at a time: the date of now, cut to periods of `period_seconds`
    kUpload,  // `count` users with `items_per_user` items each, every item once, until all are done
  };
  // Sort keys inside a partition key.
  enum class Sort : uint8_t { kNone, kUniform, kIncreasing };
  // kComputed: any function that spreads evenly. kProduct and kHash compute it from `ids`: Amazon's
  // example, the product of the characters' code points, and a hash, each modulo `suffixes`.
  enum class Suffix : uint8_t { kRandom, kComputed, kProduct, kHash };

  Kind kind = Kind::kUniform;
  int64_t count = 1'000'000;
  double exponent = 1;
  std::vector<std::string> names;
  std::vector<double> weights;
  double period_seconds = 86400;
  int64_t items_per_user = 1;
  bool interleaved = false;  // kUpload: one item of each user in turn, not one user after the other
  Sort sort = Sort::kNone;
  int64_t suffixes = 1;  // each key is spread over so many
  Suffix suffix = Suffix::kRandom;
  std::string ids = "ORD-%06d";  // of kProduct and kHash; counts from 1
};

struct AutoScaling {
  std::optional<throughput::AutoScalingSettings> read;
  std::optional<throughput::AutoScalingSettings> write;
};

// A change of capacity at a time.
struct CapacityChange {
  double at_seconds = 0;
  std::optional<double> read;
  std::optional<double> write;
  std::optional<throughput::Billing> billing;
  std::optional<throughput::Rates> warm;
};

struct IndexScenario {
  throughput::ResourceDefinition definition;
  KeySpace keys;
  int64_t entry_bytes = 100;
  double fraction = 1;  // of the table's writes that change an entry: less than 1 is a sparse index
  AutoScaling auto_scaling;
  std::vector<CapacityChange> changes;
};

struct TableScenario {
  throughput::ResourceDefinition definition;
  AutoScaling auto_scaling;
  std::vector<CapacityChange> changes;  // in the order of time
  std::vector<IndexScenario> indexes;
};

struct Traffic {
  std::string name;
  size_t table = 0;             // which of the scenario's
  std::optional<size_t> index;  // which of the table's, for reads of an index
  throughput::Access access = throughput::Access::kRead;
  throughput::Consistency consistency = throughput::Consistency::kEventual;  // of reads
  bool transactional = false;                                                // of writes
  int64_t item_bytes = 1024;
  bool new_items = false;         // writes add data
  bool deletes = false;           // writes remove it
  double ttl_seconds = 0;         // new items expire after that; 0: never
  double ttl_delay_seconds = 0;   // and are deleted up to this time later
  int64_t cache_items = 0;        // the hottest keys are read from a cache, not from the table
  bool whole_collection = false;  // reads want all suffixes of a key, not one item
  // Requests per second from each time on, in the order of time; before the first none.
  std::vector<std::pair<double, double>> rate;
  bool linear = false;  // from one to the next in a straight line
  double from_seconds = 0;
  double until_seconds = 0;
  KeySpace keys;
};

struct Scenario {
  std::string name;
  std::string description;
  double duration_seconds = 3600;
  double step_seconds = 1;
  int64_t start_micros = 1'767'225'600'000'000;  // 1 January 2026
  uint64_t seed = 1;
  throughput::ModelSettings model;
  throughput::UnitPrices prices;
  bool has_prices = false;
  std::vector<TableScenario> tables;
  std::vector<Traffic> traffic;
};

}  // namespace stator::simulate
