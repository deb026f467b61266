// Event source mappings: which changes of a stream go to which function, and how.
//
// In the store: tablet 8 of Space::kCatalog.
//
//   key := "m/" uuid                             value := stamp:8 01 json     a mapping
//        | "u/" table "/" label LF function      value := stamp:8 01 uuid     keeps pairs unique
//        | "c/" uuid "/" shard:8 hex             value := stamp:8 01 position:8 index:4 ended:1
//                                                       | stamp:8 02 position:8 index:4 ended:1
//                                                         windows
//   windows := last_end:8 open:1 [start:8 end:8 has_state:1 state]    of tumbling windows; micros
//   json has the members of Lambda's API, in text; readers ignore unknown ones
//   value 02 is written only with the feature kWindowsFeature, as are mappings with a window
//   numbers are big-endian; position and index: a stream::Position, before which all is delivered
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "stream/position.h"
#include "triggers/tumbling.h"

namespace stator::triggers {

inline constexpr kv::Tablet kTriggersTablet = {kv::Space::kCatalog, 8};
// Features of kv/features.cc: mappings, those with tumbling windows, those to streams of Kinesis
// and to topics of Kafka.
inline constexpr std::string_view kFeature = "triggers";
inline constexpr std::string_view kWindowsFeature = "trigger-windows";
inline constexpr std::string_view kKinesisFeature = "trigger-kinesis";
inline constexpr std::string_view kKafkaFeature = "trigger-kafka";

// [D] Limits of the service.
inline constexpr int64_t kMostBatch = 10'000;
inline constexpr int64_t kMostWindowSeconds = 300;
inline constexpr int64_t kMostRetries = 10'000;
inline constexpr int64_t kLeastAgeSeconds = 60;
inline constexpr int64_t kMostAgeSeconds = 604'800;
inline constexpr int64_t kMostParallel = 10;
inline constexpr int64_t kMostTumblingSeconds = 900;

struct Mapping {
  std::string uuid;
  std::string table;  // this and the next name the stream
  std::string label;
  std::string function;  // the name, perhaps with ":alias"
  bool enabled = true;
  bool latest = false;    // StartingPosition; else TRIM_HORIZON
  bool declared = false;  // by stator.toml
  int64_t batch = 100;
  int64_t window_seconds = 0;
  int64_t tumbling_seconds = 0;  // length of tumbling windows; 0: none
  int64_t parallel = 1;
  int64_t age_seconds = -1;  // -1: as long as the stream keeps records
  int64_t retries = -1;      // -1: as long as the stream keeps records
  bool bisect = false;
  bool reports_failures = false;
  std::vector<std::string> filters;
  std::string on_failure;  // the destination as it was given; empty: none
  int64_t modified_micros = 0;
  bool micros = false;  // of a Kinesis destination: times in microseconds. Never stored

  bool operator==(const Mapping&) const = default;
  // Returns kValidation, in the service's words, for a number outside its limits, for too many
  // filters, for one that is no pattern or can match nothing, and as CheckWindows.
  Status Check() const;
  // Checks what goes together with tumbling windows.
  Status CheckWindows() const;
  // Checks the filters alone.
  Status CheckFilters() const;
  std::string Encode() const;
  static Result<Mapping> Decode(std::string_view value);
};

struct StoredMapping {
  Mapping mapping;
  uint64_t stamp = 0;
};

// How far a shard is delivered.
struct Checkpoint {
  stream::Position next;
  bool ended = false;  // the shard is closed and all of it is delivered
  uint64_t stamp = 0;  // of the entry; 0: there is none
  Tumbling tumbling = {};

  std::string Encode() const;
  static Result<Checkpoint> Decode(std::string_view value);
};

std::string MappingKey(std::string_view uuid);
std::string PairKey(const Mapping& mapping);
std::string CheckpointKey(std::string_view uuid, uint32_t shard);
std::string CheckpointPrefix(std::string_view uuid);

}  // namespace stator::triggers
