// The hottest keys of the past: GET /_stator/tables/NAME/heat/keys.
//
// Nothing is counted for it: the throughput model has the heaviest keys of each partition in its
// windows anyway (throughput/resource.h), and a look once a minute keeps the ones that matter: at
// most kMostKeys of kMostPartitions for each table or index. A request costs nothing. Memory: at
// most kMostBytes for each table or index, and kMostBytesOfAll; the oldest looks go first. In
// memory: it ends with the process.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "ops/context.h"
#include "throughput/key_point.h"

namespace stator::management {

// Thread-safe.
class HotKeys {
 public:
  static constexpr int64_t kLookMicros = 60'000'000;
  // A look finds what was counted in the window before it and in its own.
  static constexpr int64_t kReachMicros = 120'000'000;
  static constexpr int64_t kKeptMicros = int64_t{12} * 3600 * 1'000'000;
  static constexpr size_t kMostKeys = 5;
  static constexpr size_t kMostPartitions = 16;
  static constexpr double kLeastShare = 0.02;  // of the partition's units
  static constexpr size_t kMostBytes = 2u << 20;
  static constexpr size_t kMostBytesOfAll = 64u << 20;
  static constexpr size_t kMostAnswered = 20;

  explicit HotKeys(ops::Environment& environment) : environment_(environment) {}

  // About once a minute of the product's clock. Tables that were not used since the last look are
  // passed over.
  void Look();

  struct Query {
    std::optional<std::string> index;  // of a global index; nullopt: of the table
    int64_t from_micros = 0;
    int64_t to_micros = 0;
    // Keys of [from_hash, to_hash), and those of from_hash in any case: a range may lie inside one
    // item collection. nullopt: to the end.
    uint64_t from_hash = 0;
    std::optional<uint64_t> to_hash;
  };
  // The JSON of docs/console-calls.md. kResourceNotFound if there is no such table or index.
  Result<std::string> Render(std::string_view table, const Query& query);

  // A key that had kLeader of the units that a look found in a partition.
  struct Leader {
    int64_t at_micros = 0;  // of the look: it knows the kReachMicros before it
    throughput::KeyRange range;
    uint64_t hash = 0;
    std::string key;
  };
  static constexpr double kLeader = 0.5;
  // Returns, in the order of time, the keys that led their partition at the recorded looks of
  // [from, to). If `to` is recent, it also looks now.
  std::vector<Leader> Leaders(const ops::Admission::Resource& resource, int64_t from_micros,
                              int64_t to_micros);

  size_t Bytes();

 private:
  struct Key {
    std::string text;
    uint64_t hash = 0;
    double weight = 0;
  };
  struct Partition {
    uint64_t id = 0;
    throughput::KeyRange range;
    double observed = 0;  // what the weights are parts of
    std::vector<Key> keys;
  };
  struct Seen {
    int64_t at_micros = 0;
    std::vector<Partition> partitions;
    size_t bytes = 0;
  };
  struct History {
    std::deque<Seen> looks;
    size_t bytes = 0;
    double used = -1;  // units asked for when it was looked at last
  };

  static Seen LookAt(const ops::Admission::Resource& resource, int64_t now);
  void DropOldest(History* history) REQUIRES(mutex_);

  ops::Environment& environment_;
  Mutex mutex_;
  std::map<uint32_t, History> histories_ GUARDED_BY(mutex_);  // by tablet
  size_t bytes_ GUARDED_BY(mutex_) = 0;
};

// Parses "from=TIME&to=TIME&fromHash=HEX&toHash=HEX&index=NAME". The default of `to` is now, that
// of `from` is ten minutes before `to`. kValidation if a value is invalid.
Result<HotKeys::Query> HotKeysQuery(std::string_view query, int64_t now_micros);

}  // namespace stator::management
