// GET /_stator/pulse?since=SEQ: what all tables do now, and what has changed since an earlier
// answer. The live heartbeat of the console.
//
// Nothing is measured for it: a look reads the meters, the histories of heat and the counters of
// requests that are there anyway, at most twice a second however many ask. A table that was not
// used for some seconds and did not change costs a look one comparison; memory is one row of text a
// table.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "management/events.h"
#include "management/sources.h"
#include "ops/context.h"

namespace stator::management {

// Thread-safe. Waits for the engine.
class Pulse {
 public:
  // All outlive it.
  Pulse(ops::Environment& environment, const Events& events, Sources sources);

  // The JSON of docs/console-calls.md. `since` that this object never answered: everything.
  std::string Since(int64_t since);

 private:
  struct Row {
    int64_t seq = 0;  // of its last change
    std::string text;
    table::TablePtr table;
    throughput::Rates used;  // units asked for, since the meters exist
    throughput::Throttling mode = throughput::Throttling::kObserve;
    int64_t now_micros = 0;   // of the last look that was not skipped
    int64_t quiet_since = 0;  // ticks; the same of the last look that was not skipped:
    int64_t seen_ticks = 0;
    table::TableCounts counts;
    bool counted = false;
  };
  struct Sample {
    int64_t ticks = 0;
    RequestTotals totals;
  };
  void Look() REQUIRES(mutex_);
  void LookAt(const std::vector<ops::Admission::Resource>& resources, bool count_again, int64_t now,
              int64_t ticks) REQUIRES(mutex_);
  std::string ServerText(int64_t ticks) REQUIRES(mutex_);

  ops::Environment& environment_;
  const Events& events_;
  const Sources sources_;
  const int64_t started_ticks_;

  Mutex mutex_;
  int64_t seq_ GUARDED_BY(mutex_);
  int64_t looked_ticks_ GUARDED_BY(mutex_) = INT64_MIN / 2;
  uint64_t round_ GUARDED_BY(mutex_) = 0;
  std::map<std::string, Row, std::less<>> rows_ GUARDED_BY(mutex_);
  // Tables that are gone, oldest first, at most kMostDropped. Older numbers than that of the last
  // one that was forgotten get everything.
  std::deque<std::pair<int64_t, std::string>> dropped_ GUARDED_BY(mutex_);
  int64_t forgotten_seq_ GUARDED_BY(mutex_) = 0;
  std::deque<int64_t> answered_ GUARDED_BY(mutex_);  // numbers that were given out, newest last
  std::deque<Sample> samples_ GUARDED_BY(mutex_);    // of the last seconds, oldest first
  std::string server_ GUARDED_BY(mutex_);
};

}  // namespace stator::management
