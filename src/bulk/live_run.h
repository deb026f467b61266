// `stator import --from-endpoint`: a table of another endpoint, copied while it is used.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "api_client/endpoint.h"
#include "base/result.h"
#include "bulk/job.h"
#include "bulk/live_check.h"
#include "bulk/live_settings.h"

namespace stator::bulk {

struct LiveReport {
  bool whole = false;           // else it was interrupted, and the same command goes on
  bool scanned_before = false;  // an earlier run has copied the items
  int64_t items = 0;            // this and the next two: of all runs
  int64_t records = 0;          // of the stream, applied
  int64_t errors = 0;           // changes that the target refused
  std::string errors_file;
  std::string first_error;  // of this run
  int64_t copied = 0;       // this and the rest: of this run
  int64_t bytes = 0;        // of the items' JSON
  int64_t micros = 0;       // of the scan
  int64_t read_units = 0;
  int64_t applied = 0;     // records
  int64_t lag_micros = 0;  // of the stream, when it was read last
  std::optional<CheckReport> check;
  bool written = false;       // settings.finish was given, and the source was written all the same
  std::string progress_file;  // it stays; empty: it was removed
  std::vector<std::string> notes;  // sentences for people
};

// Copies a table. The target's table is made like the source's, unless it is there: it must be
// empty then, or settings.into is given. Items are put by a parallel scan; with settings.follow the
// source's stream is applied then, from before the scan on, until nothing is left (Follower). Then
// both tables are compared. If they are equal, and nothing is to follow, a table that was made gets
// its tags, stream, time to live and protection, and the progress file is removed. A run that finds
// a progress file goes on where that one ended: it applies what the stream has had since, and
// compares again. kValidation for settings that do not fit that file or the tables.
Result<LiveReport> RunLive(const LiveSettings& settings, const Surroundings& around);

}  // namespace stator::bulk
