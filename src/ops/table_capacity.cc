#include "ops/table_capacity.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <ctime>
#include <string>

#include "table/store.h"
#include "throughput/capacity_changes.h"

namespace stator::ops {
namespace {

using table::IndexDescriptor;
using table::IndexThroughput;
using table::TableDescriptor;
using throughput::Rates;

// Above it the service speaks of bounds and not of quotas.
constexpr int64_t kMaxProvisionable = 1'000'000'000'000;
constexpr int64_t kSwitchMicros = 86'400 * int64_t{1'000'000};  // switches are counted for so long

Error Invalid(std::string_view text) {
  return ValidationError("One or more parameter values were invalid: " + std::string(text));
}

Rates RatesOf(int64_t read, int64_t write) {
  return {static_cast<double>(read), static_cast<double>(write)};
}

template <typename Capacity>
Rates Provisioned(const Capacity& c) {
  return RatesOf(c.read_units, c.write_units);
}

std::string_view WeekDay(int day) {
  constexpr std::array<std::string_view, 7> kDays = {"Sunday",   "Monday", "Tuesday", "Wednesday",
                                                     "Thursday", "Friday", "Saturday"};
  return kDays[static_cast<size_t>(day)];
}

std::string_view Month(int month) {
  constexpr std::array<std::string_view, 12> kMonths = {
      "January", "February", "March",     "April",   "May",      "June",
      "July",    "August",   "September", "October", "November", "December"};
  return kMonths[static_cast<size_t>(month)];
}

std::tm Utc(int64_t micros) {
  const std::time_t seconds = micros / 1'000'000;
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  return utc;
}

// "Sunday, November 22, 2026 12:43:20 AM UTC". Not strftime, whose names follow the locale.
std::string LongDate(int64_t micros) {
  const std::tm t = Utc(micros);
  return fmt::format("{}, {} {}, {} {}:{:02}:{:02} {} UTC", WeekDay(t.tm_wday), Month(t.tm_mon),
                     t.tm_mday, t.tm_year + 1900, (t.tm_hour + 11) % 12 + 1, t.tm_min, t.tm_sec,
                     t.tm_hour < 12 ? "AM" : "PM");
}

// "Sun Nov 22 00:43:20 UTC 2026"
std::string ShortDate(int64_t micros) {
  const std::tm t = Utc(micros);
  return fmt::format("{} {} {:02} {:02}:{:02}:{:02} UTC {}", WeekDay(t.tm_wday).substr(0, 3),
                     Month(t.tm_mon).substr(0, 3), t.tm_mday, t.tm_hour, t.tm_min, t.tm_sec,
                     t.tm_year + 1900);
}

// Raises the warm units of `c` to `units` at least, so that a later change of the capacity or
// billing mode does not lose them.
template <typename Capacity>
void KeepWarm(const Rates& units, Capacity* c) {
  const auto raise = [](double to, std::optional<int64_t>* warm) {
    if (to > 0) *warm = std::max(warm->value_or(0), static_cast<int64_t>(to));
  };
  raise(units.read, &c->warm_read_units);
  raise(units.write, &c->warm_write_units);
}

Error TooManyDecreases(const throughput::ModelSettings& s,
                       const throughput::DecreaseHistory& history) {
  return Error(
      ErrorCode::kLimitExceeded,
      fmt::format(
          "Subscriber limit exceeded: Provisioned throughput decreases are limited within a given "
          "UTC day. After the first {} decreases, each subsequent decrease in the same UTC day can "
          "be performed at most once every {:.0f} seconds. Number of decreases today: {}. Last "
          "decrease at {}. Next decrease can be made at {}",
          s.decreases_per_day, s.decrease_pause_seconds, history.today,
          LongDate(history.last_micros), LongDate(throughput::NextDecreaseMicros(s, history))));
}

Error Unchanged(const Rates& has, const Rates& wanted, std::string_view index) {
  const std::string_view of = index.empty() ? "table" : "index";
  return ValidationError(fmt::format(
      "The provisioned throughput for the {0}{1} will not change. The requested value equals the "
      "current value. Current ReadCapacityUnits provisioned for the {0}: {2:.0f}. Requested "
      "ReadCapacityUnits: {3:.0f}. Current WriteCapacityUnits provisioned for the {0}: {4:.0f}. "
      "Requested WriteCapacityUnits: {5:.0f}. Refer to the Amazon DynamoDB Developer Guide for "
      "current limits and how to request higher limits.",
      of, index.empty() ? "" : " " + std::string(index), has.read, wanted.read, has.write,
      wanted.write));
}

// Text of DynamoDB Local.
Status CheckMaximum(const std::optional<int64_t>& units, std::string_view member,
                    std::string_view index) {
  if (!units || *units >= 1 || *units == -1) return OkStatus();
  return Invalid(fmt::format("Requested {} for OnDemandThroughput for {} is outside of valid range",
                             member, index.empty() ? "table" : "index : " + std::string(index)));
}

Status CheckNotLower(const std::optional<int64_t>& wanted, double now, std::string_view member,
                     std::string_view index) {
  if (!wanted || static_cast<double>(*wanted) >= now) return OkStatus();
  return Invalid(fmt::format(
      "Requested {} for WarmThroughput for {} is lower than current WarmThroughput, decreasing "
      "WarmThroughput is not supported",
      member, index.empty() ? "table" : "index " + std::string(index)));
}

Rates SumOf(const TableDescriptor& d) {
  if (d.billing_mode == table::BillingMode::kPayPerRequest) return {};
  Rates sum = Provisioned(d);
  for (const IndexDescriptor& index : d.indexes) {
    if (!index.is_global() || index.state == IndexDescriptor::State::kDeleting) continue;
    sum.read += static_cast<double>(index.throughput.read_units);
    sum.write += static_cast<double>(index.throughput.write_units);
  }
  return sum;
}

}  // namespace

Status CheckUnits(const Settings& settings, const ProvisionedThroughput& units,
                  std::string_view index) {
  const auto bound = [](int64_t value, std::string_view member) -> Status {
    if (value <= kMaxProvisionable) return OkStatus();
    return ValidationError(fmt::format("Given value {} for {} is out of bounds", value, member));
  };
  TRY(bound(units.read_capacity_units, "ReadCapacityUnits"));
  TRY(bound(units.write_capacity_units, "WriteCapacityUnits"));
  return throughput::CheckTableQuota(settings.throughput,
                                     RatesOf(units.read_capacity_units, units.write_capacity_units),
                                     !index.empty());
}

template <typename Capacity>
Status ChangeUnits(const Settings& settings, const ProvisionedThroughput& units,
                   std::string_view index, int64_t now_micros, Capacity* c) {
  const Rates before = Provisioned(*c);
  const Rates after = RatesOf(units.read_capacity_units, units.write_capacity_units);
  if (after == before) return Unchanged(before, after, index);
  if (throughput::IsDecrease(before, after)) {
    throughput::DecreaseHistory history = DecreasesOf(*c);
    if (!throughput::MayDecrease(settings.throughput, history, now_micros))
      return TooManyDecreases(settings.throughput, history);
    throughput::CountDecrease(&history, now_micros);
    c->last_decrease_micros = history.last_micros;
    c->decreases_day = history.day;
    c->decreases_today = history.today;
    KeepWarm(before, c);
  }
  if (after.read > before.read || after.write > before.write) c->last_increase_micros = now_micros;
  c->read_units = units.read_capacity_units;
  c->write_units = units.write_capacity_units;
  return OkStatus();
}

template <typename Capacity>
Status ChangeMaxima(const Settings& settings, const OnDemandThroughput& maxima, bool on_demand,
                    std::string_view index, Capacity* c) {
  if (!on_demand) {
    return Invalid("OnDemandThroughput cannot be specified when BillingMode is PROVISIONED");
  }
  TRY(CheckMaximum(maxima.max_read_request_units, "MaxReadRequestUnits", index));
  TRY(CheckMaximum(maxima.max_write_request_units, "MaxWriteRequestUnits", index));
  TRY(throughput::CheckTableQuota(settings.throughput,
                                  RatesOf(maxima.max_read_request_units.value_or(0),
                                          maxima.max_write_request_units.value_or(0)),
                                  !index.empty()));
  const auto apply = [](const std::optional<int64_t>& wanted, std::optional<int64_t>* current) {
    if (wanted) *current = *wanted > 0 ? wanted : std::optional<int64_t>();
  };
  apply(maxima.max_read_request_units, &c->max_read_request_units);
  apply(maxima.max_write_request_units, &c->max_write_request_units);
  return OkStatus();
}

template <typename Capacity>
Status RaiseWarm(const Settings& settings, const WarmThroughput& wanted, bool on_demand,
                 std::string_view index, Capacity* c) {
  const Rates ready = WarmUnits(settings, *c, on_demand);
  TRY(CheckNotLower(wanted.read_units_per_second, ready.read, "ReadUnitsPerSecond", index));
  TRY(CheckNotLower(wanted.write_units_per_second, ready.write, "WriteUnitsPerSecond", index));
  const Rates after =
      RatesOf(wanted.read_units_per_second.value_or(0), wanted.write_units_per_second.value_or(0));
  TRY(throughput::CheckTableQuota(settings.throughput, after, !index.empty()));
  KeepWarm(after, c);
  return OkStatus();
}

template <typename Capacity>
Rates WarmUnits(const Settings& settings, const Capacity& c, bool on_demand) {
  const Rates now = on_demand ? Rates{settings.throughput.on_demand_read_units,
                                      settings.throughput.on_demand_write_units}
                              : Provisioned(c);
  const Rates kept = RatesOf(c.warm_read_units.value_or(0), c.warm_write_units.value_or(0));
  return {std::max(now.read, kept.read), std::max(now.write, kept.write)};
}

template <typename Capacity>
throughput::PartitionMap FirstPartitions(const Settings& settings, const Capacity& c,
                                         bool on_demand) {
  const Rates warm = WarmUnits(settings, c, on_demand);
  int64_t count = throughput::InitialPartitionsOnDemand(
      settings.throughput, static_cast<int64_t>(warm.read), static_cast<int64_t>(warm.write));
  if (!on_demand) {
    count = std::max(count, throughput::InitialPartitionsProvisioned(settings.throughput,
                                                                     c.read_units, c.write_units));
  }
  return throughput::PartitionMap::Even(std::min(count, settings.throughput.most_partitions));
}

Status SwitchToOnDemand(const Settings& settings, int64_t now_micros, TableDescriptor* d) {
  const int64_t most = settings.throughput.on_demand_switches;
  std::vector<int64_t>& switches = d->to_pay_per_request_switches;
  std::erase_if(switches, [&](int64_t at) { return at <= now_micros - kSwitchMicros; });
  if (static_cast<int64_t>(switches.size()) >= most) {
    // The switch that must leave the window of 24 hours before another one is allowed.
    const int64_t in_the_way = switches[switches.size() - static_cast<size_t>(most)];
    return Error(
        ErrorCode::kLimitExceeded,
        fmt::format("Subscriber limit exceeded: Update to PayPerRequest mode are limited "
                    "to {} in 1 day(s). Last update at {}. Next update can be made at {}",
                    most, ShortDate(switches.back()), ShortDate(in_the_way + kSwitchMicros)));
  }
  switches.push_back(now_micros);
  d->billing_mode = table::BillingMode::kPayPerRequest;
  d->to_pay_per_request_micros = now_micros;
  KeepWarm(Provisioned(*d), d);
  for (IndexDescriptor& index : d->indexes) {
    if (index.is_global()) KeepWarm(Provisioned(index.throughput), &index.throughput);
  }
  return OkStatus();
}

void SwitchToProvisioned(const Settings& settings, TableDescriptor* d) {
  d->billing_mode = table::BillingMode::kProvisioned;
  const auto leave = [&settings](auto* capacity) {
    KeepWarm(WarmUnits(settings, *capacity, true), capacity);
    capacity->max_read_request_units.reset();
    capacity->max_write_request_units.reset();
  };
  leave(d);
  for (IndexDescriptor& index : d->indexes) {
    if (index.is_global()) leave(&index.throughput);
  }
}

Status CheckAccountQuota(const Environment& env, const TableDescriptor& next) {
  Rates before;
  Rates others;
  for (const table::TablePtr& table : env.store.ListOf(table::AccountIn(next.name))) {
    const TableDescriptor& d = table->descriptor;
    if (d.deleting_micros != 0) continue;
    const Rates sum = SumOf(d);
    if (d.name == next.name) {
      before = sum;
    } else {
      others.read += sum.read;
      others.write += sum.write;
    }
  }
  // What was there before a quota was lowered stays, and may be lowered in steps.
  const Rates after = SumOf(next);
  return throughput::CheckAccountQuota(
      env.settings.throughput,
      {after.read > before.read ? after.read : 0, after.write > before.write ? after.write : 0},
      others);
}

template Status ChangeUnits(const Settings&, const ProvisionedThroughput&, std::string_view,
                            int64_t, TableDescriptor*);
template Status ChangeUnits(const Settings&, const ProvisionedThroughput&, std::string_view,
                            int64_t, IndexThroughput*);
template Status ChangeMaxima(const Settings&, const OnDemandThroughput&, bool, std::string_view,
                             TableDescriptor*);
template Status ChangeMaxima(const Settings&, const OnDemandThroughput&, bool, std::string_view,
                             IndexThroughput*);
template Status RaiseWarm(const Settings&, const WarmThroughput&, bool, std::string_view,
                          TableDescriptor*);
template Status RaiseWarm(const Settings&, const WarmThroughput&, bool, std::string_view,
                          IndexThroughput*);
template Rates WarmUnits(const Settings&, const TableDescriptor&, bool);
template Rates WarmUnits(const Settings&, const IndexThroughput&, bool);
template throughput::PartitionMap FirstPartitions(const Settings&, const TableDescriptor&, bool);
template throughput::PartitionMap FirstPartitions(const Settings&, const IndexThroughput&, bool);

}  // namespace stator::ops
