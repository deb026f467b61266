// The text of the progress file of a copy from another endpoint.
//
//   {"stator":"live","version":1,"table":"T","source":"https://...","source_id":"...",
//    "target":"http://...","target_id":"...","mask":"...","made":true,"scanned":false,
//    "segments":[{"start":{"pk":{"S":"a"}},"done":false}],"items":7,"bytes":700,"errors":0,
//    "error_bytes":0,"stream":"arn:...","stream_added":false,"safe_micros":1,"records":3,
//    "shards":[{"id":"shardId-1","parent":"","position":"100","done":false}]}
//
// Under a mask with a secret, the keys where segments go on are encrypted with it
// ("sealed": base64), for they are not masked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "bulk/export_state.h"
#include "bulk/live_shards.h"

namespace stator::bulk {

struct LiveState {
  std::string table;
  std::string source;  // this and the next: the endpoint, and the table there
  std::string source_id;
  std::string target;     // this and the next: the same of the target
  std::string target_id;  // empty: it is not known to be there yet
  std::string mask;       // its fingerprint; empty: none
  bool made = false;      // the command makes the target's table
  bool scanned = false;   // to the end
  std::vector<ExportState::Segment> segments;
  int64_t items = 0;  // this and the next three: of all runs
  int64_t bytes = 0;
  int64_t errors = 0;         // changes that the target refused
  uint64_t error_bytes = 0;   // of the log
  std::string stream;         // this and the rest: of a copy that follows; else empty
  bool stream_added = false;  // the command enabled it
  // All that was written to the source before this moment is in the target, or in shards below.
  int64_t safe_micros = 0;
  int64_t records = 0;
  std::vector<FollowedShard> shards;
};

// `seal_key` has 32 bytes, or is empty.
std::string EncodeLive(const LiveState& state, std::string_view seal_key);
// kCorruption for other text, or another `seal_key`.
Result<LiveState> DecodeLive(std::string_view text, std::string_view seal_key);

}  // namespace stator::bulk
