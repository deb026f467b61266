// Whether the target's table equals the source's: asked before applications switch over.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "bulk/job.h"
#include "bulk/live_settings.h"
#include "bulk/pace.h"
#include "model/key_schema.h"

namespace stator::bulk {

struct CheckReport {
  enum class Outcome {
    kEqual,
    kDiffers,
    kUndecided,  // nothing differs for certain, and some items were written all the while
  } outcome = Outcome::kEqual;
  bool all = false;    // else a sample
  int64_t source = 0;  // this and the next: items that were looked at
  int64_t target = 0;
  int64_t differ = 0;                    // items; at least, if `more`
  int64_t busy = 0;                      // items that were written while they were compared
  bool more = false;                     // there are more than were looked into
  std::vector<std::string> differences;  // sentences with the key, of the first ones
};

// Compares all items by digests in buckets, or a sample of both tables, and then those that seem to
// differ one by one, with strongly consistent reads. `catch_up` applies what was written to the
// source so far, so that a table that is being written can be compared; null: nothing is applied.
// Counts the items that it reads in *looked. Only the items of buckets that differ are held,
// 200,000 at most.
Result<CheckReport> CheckTables(const LiveSettings& settings, const Surroundings& around,
                                const model::KeySchema& key, Pace& pace,
                                const std::function<Status()>& catch_up,
                                std::atomic<int64_t>* looked);

}  // namespace stator::bulk
