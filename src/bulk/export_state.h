// The text of an export's progress file: how far each segment of the scan is, and how long each
// output is.
//
//   {"stator":"export","version":1,"table":"T","table_id":"...","format":"csv","mask":"...",
//    "columns":["pk"],"segments":[{"start":{"pk":{"S":"a"}},"done":false}],
//    "outputs":[{"bytes":100,"items":3}]}
//
// Under a mask with a secret, the keys where segments go on are encrypted with it
// ("sealed": base64), for they are not masked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bulk/format.h"
#include "simdjson.h"

namespace stator::bulk {

struct ExportState {
  std::string table;
  std::string table_id;
  Format format = Format::kDynamoDbJson;
  std::string mask;  // its fingerprint; empty: none
  std::vector<std::string> columns;
  struct Segment {
    std::string start;  // ExclusiveStartKey as JSON; empty: the beginning
    bool done = false;
  };
  std::vector<Segment> segments;
  struct Output {
    uint64_t bytes = 0;
    int64_t items = 0;
  };
  std::vector<Output> outputs;  // one for all segments, or one for each

  int64_t items() const;
  uint64_t bytes() const;
};

// The array of segments in a progress file: appends it, and reads it. `seal_key` has 32 bytes, or
// is empty. kCorruption if the array is none, or was sealed with another key.
void AppendSegments(const std::vector<ExportState::Segment>& segments, std::string_view seal_key,
                    std::string* out);
Result<std::vector<ExportState::Segment>> ReadSegments(simdjson::dom::array segments,
                                                       std::string_view seal_key);

// `seal_key` has 32 bytes, or is empty.
std::string EncodeState(const ExportState& state, std::string_view seal_key);
// kCorruption if the text is no such state, or was sealed with another key.
Result<ExportState> DecodeState(std::string_view text, std::string_view seal_key);

}  // namespace stator::bulk
