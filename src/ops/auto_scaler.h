// Auto scaling of provisioned tables and indexes: judges every minute of the clock by the units
// that were consumed in it, and changes capacity as UpdateTable would have at the end of that
// minute.
//
// A table's own rules are in the catalog (TableDescriptor::auto_scaling). What they leave open, the
// server's settings may say for tables by name.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "table/descriptor.h"
#include "throughput/auto_scaling.h"
#include "throughput/meter.h"

namespace stator::ops {

struct Environment;
struct UpdateTableRequest;

// One change that auto scaling made or was refused.
struct ScalingActivity {
  int64_t at_micros = 0;  // the end of the minute that was judged
  std::string table;
  std::string index;  // empty: the table itself
  throughput::Access access = throughput::Access::kRead;
  int64_t from_units = 0;
  int64_t to_units = 0;
  std::string refusal;  // empty: done
  // Empty: the rule that holds; else what a client did, as Application Auto Scaling words it.
  std::string cause = {};
};

// SetDefaults comes before the first Step, Step from one thread at a time; the rest is thread-safe.
class AutoScaler {
 public:
  static constexpr int64_t kMinuteMicros = 60'000'000;
  static constexpr size_t kMostActivities = 256;  // that are kept

  // By table (`*`: every table without an entry of its own) and index (empty: the table itself).
  using Defaults = std::map<std::pair<std::string, std::string>, table::AutoScalingRules>;
  void SetDefaults(Defaults defaults) { defaults_ = std::move(defaults); }

  // What holds for a table, or for one of its global indexes: its own rules, else the defaults.
  table::AutoScalingRules RulesOf(const table::TableDescriptor& table,
                                  const table::IndexDescriptor* index) const;

  // Judges the minutes that ended since the last call, in order, up to one that changes capacity.
  // True: there may be more of them. The first call only says when to begin. What was consumed
  // since the last call belongs to the first of the minutes. Of several processes of a store one
  // judges, by what all of them used (Admission::decides). Waits for the disk: not for a loop's
  // or an engine's thread.
  bool Step(Environment& env);

  // Changes the capacity of a provisioned table or index so that it lies between `min_units` and
  // `max_units`. Waits for the disk: must not be called on a loop's or an engine's thread.
  void MoveInto(Environment& env, const table::TableDescriptor& table,
                const table::IndexDescriptor* index, throughput::Access access, int64_t min_units,
                int64_t max_units);

  // Returns the latest scaling activities of a table, oldest first.
  std::vector<ScalingActivity> ActivitiesOf(std::string_view table) const;

 private:
  struct Watched;
  struct State {
    std::shared_ptr<throughput::Meter> meter;
    throughput::Rates counted;  // by the meter, up to the last sample
    throughput::Rates waiting;  // units consumed that no minute was judged by yet
    std::optional<throughput::AutoScalingPolicy> policies[throughput::kAccesses];
  };

  // Adds up what the meters counted, and lists what has rules.
  std::vector<Watched> Sample(Environment& env);
  // True if capacity was changed.
  bool Judge(Environment& env, const std::vector<Watched>& watched, int64_t at_micros);
  // UpdateTable as of then; adds what came of it to the activities.
  bool Change(Environment& env, UpdateTableRequest request, std::vector<ScalingActivity> wanted);

  Defaults defaults_;
  std::optional<int64_t> judged_;     // minutes since the epoch, up to the end of the last one
  std::map<uint32_t, State> states_;  // by tablet
  mutable Mutex mutex_;
  std::deque<ScalingActivity> activities_ GUARDED_BY(mutex_);
};

}  // namespace stator::ops
