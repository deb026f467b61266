#include "management/cost.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "advise/cost.h"
#include "base/json_writer.h"
#include "base/time_text.h"
#include "throughput/meter.h"

namespace stator::management {
namespace {

using throughput::Access;
using throughput::HeatMap;
using throughput::HeatUnits;
using throughput::Rates;
using Resource = ops::Admission::Resource;

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kMinute = 60;
constexpr int64_t kHour = 3600;
// How far back minutes are kept in any case: 720 of them, the last of which may have just begun. A
// window that begins earlier has columns of hours.
constexpr int64_t kMinutesMicros = 719 * kMinute * kMicros;
// How far back seconds are kept, 600 of them: a load of seconds is no load of a minute.
constexpr int64_t kSecondsMicros = 599 * kMicros;
constexpr double kWriteBytes = 1024;  // of one write unit

// Units asked for in a stretch of time.
struct Stretch {
  int64_t from_seconds = 0;
  int64_t seconds = 0;
  Rates units;
  double refused_writes = 0;  // units of them
};

// Items and bytes of a table or index.
struct Stored {
  int64_t items = 0;
  int64_t bytes = 0;
  // Write units of one item of average size.
  double UnitsOfOne() const {
    if (items <= 0) return 1;
    return std::max(
        1.0, std::ceil(static_cast<double>(bytes) / static_cast<double>(items) / kWriteBytes));
  }
};

void Append(const HeatMap& map, std::vector<Stretch>* out) {
  for (size_t column = 0; column < map.columns(); ++column) {
    HeatUnits sum;
    for (const std::vector<HeatMap::Cell>& row : map.cells) sum += row[column].units;
    const int64_t from = map.from_seconds + static_cast<int64_t>(column) * map.column_seconds;
    // Columns of hours may reach into the time of minutes.
    if (!out->empty() && from < out->back().from_seconds + out->back().seconds) continue;
    out->push_back({from,
                    map.column_seconds,
                    {static_cast<double>(sum.read + sum.refused_read) / 2,
                     static_cast<double>(sum.write + sum.refused_write) / 2},
                    static_cast<double>(sum.refused_write) / 2});
  }
}

std::vector<Stretch> LoadOf(const Sources& sources, uint32_t tablet, int64_t from, int64_t now) {
  std::vector<Stretch> load;
  const auto read = [&](int64_t begin, int64_t end, int64_t step) {
    throughput::HeatHistory::Window window;
    window.from_micros = begin;
    window.to_micros = end;
    window.step_seconds = step;
    window.now_micros = now;
    Append(sources.heat(tablet, std::move(window)), &load);
  };
  const int64_t minutes_from = std::max(from, now - kMinutesMicros);
  const int64_t seconds_from = std::max(from, now - kSecondsMicros);
  if (from < minutes_from) read(from, minutes_from, kHour);
  if (minutes_from < seconds_from) read(minutes_from, seconds_from, kMinute);
  read(seconds_from, now, 1);
  return load;
}

// Estimates the demand of refused writes on all resources. If the table or one of its indexes
// refuses a write, only that resource has counted the write's units. This adds units to the other
// resources, by the average size of their entries. `stored` and `loads` begin with the table; its
// indexes follow.
void AddRefusedElsewhere(const std::vector<Stored>& stored,
                         std::vector<std::vector<Stretch>>* loads) {
  std::map<int64_t, std::vector<double>> refused;  // writes by resource, by the time they began
  for (size_t i = 0; i < loads->size(); ++i) {
    for (const Stretch& one : (*loads)[i]) {
      if (one.refused_writes <= 0) continue;
      std::vector<double>& writes = refused[one.from_seconds];
      writes.resize(loads->size());
      writes[i] = one.refused_writes / stored[i].UnitsOfOne();
    }
  }
  if (refused.empty()) return;
  for (size_t i = 0; i < loads->size(); ++i) {
    // Not every item is in an index.
    const double part = i == 0 || stored[0].items <= 0
                            ? 1
                            : std::min(1.0, static_cast<double>(stored[i].items) /
                                                static_cast<double>(stored[0].items));
    for (Stretch& one : (*loads)[i]) {
      const auto found = refused.find(one.from_seconds);
      if (found == refused.end()) continue;
      for (size_t other = 0; other < loads->size(); ++other) {
        if (other != i) one.units.write += found->second[other] * part * stored[i].UnitsOfOne();
      }
    }
  }
}

// The time before the first use says nothing: the table may not have been there.
void BeginWithUse(std::vector<Stretch>* load) {
  const auto used = std::find_if(load->begin(), load->end(), [](const Stretch& one) {
    return one.units.read > 0 || one.units.write > 0;
  });
  load->erase(load->begin(), used);
}

// Returns the cost of a load. Gives its units to the meter minute by minute; units that are known
// per hour are spread evenly over its minutes.
advise::CostSummary Summarise(const std::vector<Stretch>& load, int64_t now) {
  advise::CostMeter meter;
  for (const Stretch& stretch : load) {
    const int64_t minutes = std::max<int64_t>(1, stretch.seconds / kMinute);
    const double part = 1 / static_cast<double>(minutes);
    for (int64_t minute = 0; minute < minutes; ++minute) {
      const int64_t at = (stretch.from_seconds + minute * kMinute) * kMicros;
      if (at > now) break;
      for (const Access access : {Access::kRead, Access::kWrite}) {
        const double units = stretch.units.Of(access) * part;
        if (units > 0) meter.Add(at, access, units);
      }
    }
  }
  return meter.Finish(load.empty() ? now : load.front().from_seconds * kMicros, now);
}

double Rounded(double value) { return std::round(value * 1000) / 1000; }

void Write(std::string_view name, const Rates& rates, JsonWriter* json) {
  json->Key(name).Open('{').Field("read", Rounded(rates.read));
  json->Field("write", Rounded(rates.write)).Close('}');
}

// The busiest minute as units per second, as provisioned capacity has to be whole.
Rates Enough(const Rates& busiest) {
  return {std::max(1.0, std::ceil(busiest.read)), std::max(1.0, std::ceil(busiest.write))};
}

void WriteResource(const Resource& resource, const std::vector<Stretch>& load, int64_t now,
                   const throughput::UnitPrices& prices, JsonWriter* json) {
  const throughput::Resource& model = resource.meter->resource();
  const bool provisioned = model.billing() == throughput::Billing::kProvisioned;
  const advise::CostSummary cost = Summarise(load, now);
  const Rates enough = Enough(cost.busiest_minute);
  const Rates capacity = provisioned ? model.provisioned() : enough;
  json->Open('{').Field("type", resource.index != nullptr ? "index" : "table");
  json->Field("name",
              resource.index != nullptr ? resource.index->name : resource.table->descriptor.name);
  json->Key("provisioned");
  if (provisioned) {
    json->Open('{').Field("read", capacity.read).Field("write", capacity.write).Close('}');
  } else {
    json->Null();
  }
  json->Field("seconds", cost.seconds);
  Write("average", cost.average, json);
  Write("busiestMinute", cost.busiest_minute, json);
  Write("autoScaled", cost.scaled, json);
  Write("enough", enough, json);
  const auto month = [&](std::string_view name, double dollars) {
    json->Field(name, std::round(dollars * 100) / 100);
  };
  json->Key("month").Open('{');
  month("provisioned", throughput::ProvisionedMonth(prices, capacity.read, capacity.write));
  month("reserved", throughput::ProvisionedMonth(prices, capacity.read, capacity.write, true));
  month("autoScaled", throughput::ProvisionedMonth(prices, cost.scaled.read, cost.scaled.write));
  if (prices.million_reads > 0 || prices.million_writes > 0) {
    month("onDemand", throughput::OnDemandMonth(prices, cost.average.read, cost.average.write));
  } else {
    json->Key("onDemand").Null();
  }
  json->Close('}').Close('}');
}

uint32_t TabletOf(const Resource& resource) {
  return resource.index != nullptr ? resource.index->tablet_id
                                   : resource.table->descriptor.tablet_id;
}

}  // namespace

Result<std::string> CostOf(ops::Environment& environment, const Sources& sources,
                           std::string_view table, int64_t last_micros,
                           const throughput::UnitPrices& prices) {
  const std::vector<Resource> resources = environment.admission.ResourcesOf(table);
  if (resources.empty())
    return Error(ErrorCode::kResourceNotFound, fmt::format("There is no table {}", table));
  const int64_t now = environment.clock.NowMicros();
  const int64_t from = std::max<int64_t>(0, now - last_micros);
  const table::Table& of = *resources.front().table;
  int64_t bytes = 0;
  std::vector<Stored> stored;
  std::vector<std::vector<Stretch>> loads;
  for (const Resource& resource : resources) {
    const Result<table::TableCounts> counts =
        resource.index != nullptr ? environment.store.IndexCounts(of, *resource.index)
                                  : environment.store.Counts(of);
    stored.push_back(counts.ok() ? Stored{counts->items, counts->bytes} : Stored{});
    loads.push_back(LoadOf(sources, TabletOf(resource), from, now));
  }
  if (const Result<table::TableCounts> counts = environment.store.Counts(of); counts.ok())
    bytes = counts->bytes;
  for (const table::IndexDescriptor& index : of.descriptor.indexes) {
    const Result<table::TableCounts> counts = environment.store.IndexCounts(of, index);
    if (counts.ok()) bytes += counts->bytes;
  }
  AddRefusedElsewhere(stored, &loads);
  JsonWriter json;
  json.Open('{').Field("table", table).Field("from", FormatTime(from));
  json.Field("to", FormatTime(now)).Key("resources").Open('[');
  for (size_t i = 0; i < resources.size(); ++i) {
    BeginWithUse(&loads[i]);
    WriteResource(resources[i], loads[i], now, prices, &json);
  }
  json.Close(']').Key("storage").Open('{').Key("bytes").Whole(bytes);
  json.Field("month",
             std::round(throughput::StorageMonth(prices, static_cast<double>(bytes)) * 100) / 100);
  json.Close('}').Close('}');
  return json.Take();
}

}  // namespace stator::management
