#include "ops/auto_scaler.h"

#include <algorithm>
#include <cmath>

#include "base/log.h"
#include "base/pump.h"
#include "base/time_text.h"
#include "ops/context.h"
#include "ops/requests.h"
#include "ops/table_capacity.h"
#include "ops/table_status.h"
#include "ops/update_table.h"
#include "table/store.h"

namespace stator::ops {
namespace {

using throughput::Access;
using throughput::AutoScalingPolicy;
using throughput::AutoScalingSettings;
using throughput::Rates;

// The maximum number of minutes that one step judges. It is bounded so that Stop need not wait for
// years of a moved clock.
constexpr int64_t kMinutesPerStep = 10'000;
// After two days without use, further such days change nothing: a new day has allowed its
// decreases, and each minimum is reached. So more idle minutes are not simulated, because a manual
// clock may be moved by thousands of years.
constexpr int64_t kIdleMinutes = 2 * 24 * 60;

const std::optional<AutoScalingSettings>& Of(const table::AutoScalingRules& rules, Access access) {
  return access == Access::kRead ? rules.read : rules.write;
}

template <typename Capacity>
int64_t UnitsOf(const Capacity& c, Access access) {
  return access == Access::kRead ? c.read_units : c.write_units;
}

}  // namespace

// A table or an index that has rules, at the version that it has now.
struct AutoScaler::Watched {
  table::TablePtr table;
  const table::IndexDescriptor* index;  // null: the table itself
  State* state;
};

table::AutoScalingRules AutoScaler::RulesOf(const table::TableDescriptor& table,
                                            const table::IndexDescriptor* index) const {
  table::AutoScalingRules rules = index != nullptr ? index->auto_scaling : table.auto_scaling;
  const std::string index_name = index != nullptr ? index->name : std::string();
  for (const std::string& name : {table.name, std::string("*")}) {
    const auto found = defaults_.find({name, index_name});
    if (found == defaults_.end()) continue;
    if (!rules.read) rules.read = found->second.read;
    if (!rules.write) rules.write = found->second.write;
  }
  return rules;
}

std::vector<AutoScaler::Watched> AutoScaler::Sample(Environment& env) {
  std::vector<Watched> watched;
  std::map<uint32_t, State> states;
  for (const Admission::Resource& resource : env.admission.Resources()) {
    const table::TableDescriptor& table = resource.table->descriptor;
    const uint32_t tablet = resource.index != nullptr ? resource.index->tablet_id : table.tablet_id;
    State& state = states[tablet];
    if (const auto old = states_.find(tablet); old != states_.end()) state = std::move(old->second);
    if (state.meter != resource.meter) state = State{resource.meter, {}, {}, {}};
    const Rates consumed = resource.meter->resource().consumed();
    const Rates let_pass = resource.meter->let_pass();
    // The units of other processes; 0 unless this process decides for all.
    const Rates foreign = resource.meter->resource().foreign();
    const Rates counted{consumed.read + let_pass.read + foreign.read,
                        consumed.write + let_pass.write + foreign.write};
    state.waiting.read += counted.read - state.counted.read;
    state.waiting.write += counted.write - state.counted.write;
    state.counted = counted;

    const table::AutoScalingRules rules = RulesOf(table, resource.index);
    for (const Access access : {Access::kRead, Access::kWrite}) {
      std::optional<AutoScalingPolicy>& policy = state.policies[static_cast<size_t>(access)];
      const std::optional<AutoScalingSettings>& wanted = Of(rules, access);
      if (!wanted) {
        policy.reset();
      } else if (!policy || policy->settings() != *wanted) {
        policy.emplace(*wanted);
      }
    }
    const bool scales = (rules.read || rules.write) &&
                        table.billing_mode == table::BillingMode::kProvisioned &&
                        // Without throttling nothing is counted: there is nothing to judge by.
                        resource.meter->mode() != throughput::Throttling::kOff &&
                        (resource.index == nullptr ||
                         resource.index->state == table::IndexDescriptor::State::kActive);
    if (scales) watched.push_back({resource.table, resource.index, &state});
  }
  states_ = std::move(states);  // moves nodes: the pointers stay good
  return watched;
}

bool AutoScaler::Step(Environment& env) {
  if (!env.admission.decides()) {
    // Another process does this. When it comes to this one, it begins anew.
    judged_.reset();
    states_.clear();
    return false;
  }
  const int64_t minute = env.clock.NowMicros() / kMinuteMicros;
  // A clock that was set back begins anew.
  if (!judged_ || minute < *judged_) {
    judged_ = minute;
    Sample(env);
    return false;
  }
  if (minute == *judged_) return false;
  const std::vector<Watched> watched = Sample(env);
  const int64_t first = *judged_;
  bool changed = false;
  if (watched.empty()) judged_ = minute;
  while (!changed && *judged_ < minute && *judged_ < first + kMinutesPerStep) {
    // What was used is counted in the first minute.
    if (*judged_ > first + kIdleMinutes) judged_ = minute - 1;
    changed = Judge(env, watched, ++*judged_ * kMinuteMicros);
    for (auto& [tablet, state] : states_) state.waiting = {};
  }
  if (watched.empty()) {
    for (auto& [tablet, state] : states_) state.waiting = {};
  }
  return *judged_ < minute;
}

bool AutoScaler::Judge(Environment& env, const std::vector<Watched>& watched, int64_t at_micros) {
  struct Plan {
    UpdateTableRequest request;
    std::vector<ScalingActivity> activities;
  };
  std::map<std::string, Plan> plans;
  for (const Watched& each : watched) {
    const table::TableDescriptor& table = each.table->descriptor;
    if (StatusAt(table, env, at_micros) != TableStatus::kActive) continue;
    const auto decreases =
        each.index != nullptr ? DecreasesOf(each.index->throughput) : DecreasesOf(table);
    std::vector<ScalingActivity> wanted;
    int64_t units[throughput::kAccesses];
    for (const Access access : {Access::kRead, Access::kWrite}) {
      const auto a = static_cast<size_t>(access);
      units[a] =
          each.index != nullptr ? UnitsOf(each.index->throughput, access) : UnitsOf(table, access);
      std::optional<AutoScalingPolicy>& policy = each.state->policies[a];
      if (!policy) continue;
      const double consumed = each.state->waiting.Of(access) / (kMinuteMicros / 1e6);
      const std::optional<double> answer = policy->OnMinute(
          at_micros, consumed, static_cast<double>(units[a]), decreases, env.settings.throughput);
      if (!answer || std::llround(*answer) == units[a]) continue;
      wanted.push_back({at_micros, table.name, each.index != nullptr ? each.index->name : "",
                        access, units[a], std::llround(*answer), ""});
      units[a] = std::llround(*answer);
    }
    if (wanted.empty()) continue;
    Plan& plan = plans[table.name];
    plan.request.table_name = table.name;
    const ProvisionedThroughput throughput{units[0], units[1]};
    if (each.index == nullptr) {
      plan.request.provisioned_throughput = throughput;
    } else {
      if (!plan.request.global_secondary_index_updates)
        plan.request.global_secondary_index_updates.emplace();
      plan.request.global_secondary_index_updates->emplace_back().update =
          UpdateGlobalSecondaryIndexAction{each.index->name, throughput, {}, {}};
    }
    plan.activities.insert(plan.activities.end(), wanted.begin(), wanted.end());
  }
  bool changed = false;
  for (auto& [name, plan] : plans)
    changed |= Change(env, std::move(plan.request), std::move(plan.activities));
  return changed;
}

bool AutoScaler::Change(Environment& env, UpdateTableRequest request,
                        std::vector<ScalingActivity> wanted) {
  Pump pump;
  std::optional<Result<UpdateTableResponse>> answer;
  UpdateTableAt(
      env, pump, std::move(request), wanted.front().at_micros,
      [&answer](Result<UpdateTableResponse> response) { answer.emplace(std::move(response)); });
  pump.RunUntil([&answer] { return answer.has_value(); });
  const MutexLock lock(mutex_);
  for (ScalingActivity& activity : wanted) {
    if (!answer->ok()) activity.refusal = answer->error().message();
    LogInfo("auto scaling", {{"at", FormatTime(activity.at_micros)},
                             {"table", activity.table},
                             {"index", activity.index},
                             {"access", activity.access == Access::kRead ? "read" : "write"},
                             {"from", activity.from_units},
                             {"to", activity.to_units},
                             {"outcome", answer->ok() ? "ok" : activity.refusal}});
    activities_.push_back(std::move(activity));
    if (activities_.size() > kMostActivities) activities_.pop_front();
  }
  return answer->ok();
}

void AutoScaler::MoveInto(Environment& env, const table::TableDescriptor& table,
                          const table::IndexDescriptor* index, Access access, int64_t min_units,
                          int64_t max_units) {
  if (table.billing_mode != table::BillingMode::kProvisioned) return;
  const auto units_of = [&](Access of) {
    return index != nullptr ? UnitsOf(index->throughput, of) : UnitsOf(table, of);
  };
  const int64_t from = units_of(access);
  const int64_t to = std::clamp(from, min_units, max_units);
  if (to == from) return;
  ProvisionedThroughput throughput{units_of(Access::kRead), units_of(Access::kWrite)};
  (access == Access::kRead ? throughput.read_capacity_units : throughput.write_capacity_units) = to;
  UpdateTableRequest request;
  request.table_name = table.name;
  if (index == nullptr) {
    request.provisioned_throughput = throughput;
  } else {
    request.global_secondary_index_updates.emplace().emplace_back().update =
        UpdateGlobalSecondaryIndexAction{index->name, throughput, {}, {}};
  }
  const char* const bound = to > from ? "minimum" : "maximum";
  std::vector<ScalingActivity> wanted;
  wanted.push_back({env.clock.NowMicros(), table.name, index != nullptr ? index->name : "", access,
                    from, to, "",
                    std::string(bound) + " capacity was set to " + std::to_string(to)});
  Change(env, std::move(request), std::move(wanted));
}

std::vector<ScalingActivity> AutoScaler::ActivitiesOf(std::string_view table) const {
  const MutexLock lock(mutex_);
  std::vector<ScalingActivity> activities;
  std::copy_if(activities_.begin(), activities_.end(), std::back_inserter(activities),
               [&](const ScalingActivity& activity) { return activity.table == table; });
  return activities;
}

}  // namespace stator::ops
