#include "server/partition_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/time_text.h"
#include "ops/refusal_text.h"
#include "server/report_json.h"
#include "throughput/meter.h"

namespace stator::server {
namespace {

using throughput::Access;
using throughput::HeavyKey;
using throughput::Limit;
using throughput::Rates;
using Resource = ops::Admission::Resource;

constexpr size_t kHottest = 5;
constexpr int64_t kLastMicros = 3 * 3600 * int64_t{1'000'000};
constexpr int64_t kColumnSeconds = 300;
constexpr size_t kMostRows = 256;

// Renders the hottest keys with their shares, which count only the weight that is certain. If no
// key is hot the sketch names arbitrary keys; those are left out.
std::string Keys(std::vector<HeavyKey> keys, double of) {
  std::erase_if(keys, [](const HeavyKey& key) { return !key.IsKnown(); });
  std::stable_sort(keys.begin(), keys.end(),
                   [](const HeavyKey& a, const HeavyKey& b) { return a.least() > b.least(); });
  return Array(keys, [of](const HeavyKey& key) {
    return fmt::format(R"({{"partitionKey":{},"share":{}}})", Quoted(key.partition),
                       Number(of > 0 ? std::min(1.0, key.least() / of) : 0));
  });
}

// `last_hours`: of this partition; empty: not shown.
std::string Partition(const Resource& resource, const throughput::PartitionView& p,
                      const std::string& last_hours) {
  std::string out = fmt::format(R"({{"id":{},"parent":{},{},"bytes":{},"items":{})", p.id,
                                p.parent == 0 ? "null" : std::to_string(p.parent),
                                Bounds(resource, p.range), p.bytes, p.items);
  out += fmt::format(
      R"(,"share":{},"tokens":{},"consumed":{},"refused":{},"perSecond":{},"heat":{},"hottest":{})",
      resource.meter->resource().billing() == throughput::Billing::kProvisioned ? Json(p.share)
                                                                                : "null",
      Json(p.tokens), Json(p.consumed), Json(p.refused), Json(p.last_window), Number(p.heat),
      Keys(p.hottest, p.observed));
  if (p.obstacle != throughput::SplitObstacle::kNone)
    out += ",\"notSplit\":" + Quoted(throughput::ObstacleText(p.obstacle));
  if (!last_hours.empty()) out += ",\"lastHours\":{" + last_hours + "}";
  return out + "}";
}

std::string Split(const Resource& resource, const throughput::SplitEvent& split) {
  return fmt::format(R"({{"at":"{}","reason":{},"parent":{},"left":{},"right":{},"bound":{}}})",
                     FormatTime(split.at_micros), Quoted(throughput::SplitReasonText(split.reason)),
                     split.parent, split.left, split.right, Bound(resource, split.bound));
}

// The last full seconds, and a partition each, or the ranges that the history has.
throughput::HeatMap LastSeconds(const HeatHistories& heat, const Resource& resource,
                                const std::vector<throughput::PartitionView>& partitions,
                                int64_t now, bool manual_clock) {
  constexpr int64_t kSecond = 1'000'000, kSeconds = 5;
  throughput::HeatHistory::Window window;
  window.now_micros = now;
  // The second before this one may not be whole yet. A manual clock stands still while requests
  // come: all of them are of the second that it shows.
  window.to_micros = (now / kSecond + (manual_clock ? 1 : -1)) * kSecond;
  window.from_micros =
      std::max<int64_t>(0, window.to_micros - (manual_clock ? 1 : kSeconds) * kSecond);
  if (partitions.size() <= kMostRows) {
    for (const throughput::PartitionView& p : partitions) window.rows.push_back(p.range);
  }
  return heat.Map(TabletOf(resource), window);
}

// Returns the units per second that were asked for, refused ones included, on average over the
// columns of `map`. Counts the row that begins where `range` begins, or all rows if `range` is
// null.
double AskedIn(const throughput::HeatMap& map, Access access, const throughput::KeyRange* range) {
  int64_t halves = 0;
  for (size_t i = 0; i < map.rows.size(); ++i) {
    if (range != nullptr && map.rows[i].from != range->from) continue;
    for (const throughput::HeatMap::Cell& cell : map.cells[i]) {
      halves += access == Access::kRead ? cell.units.read + cell.units.refused_read
                                        : cell.units.write + cell.units.refused_write;
    }
  }
  double seconds = 0;
  for (const double covered : map.covered_seconds) seconds += covered;
  return seconds > 0 ? static_cast<double>(halves) / 2 / seconds : 0;
}

// A limit that refused, as it was when it refused most; null where that is too long ago. `asked` is
// what the last seconds asked for, of what the limit is about.
std::string Refused(const Resource& resource, Access access, Limit limit, int64_t now,
                    const std::vector<throughput::PartitionView>& partitions,
                    const throughput::HeatMap& seconds) {
  const throughput::Resource& model = resource.meter->resource();
  const std::optional<throughput::Explanation> worst = model.Worst(now, access, limit);
  const throughput::Explanation why = worst.value_or(throughput::Explanation());
  double asked = 0;
  if (limit == Limit::kKeyRange) {
    // A partition that was split since consists of several ones, each with the limit of its own.
    // Compare with the one that was asked for most.
    for (const throughput::PartitionView& p : partitions)
      asked = std::max(asked, AskedIn(seconds, access, &p.range));
  } else {
    asked = AskedIn(seconds, access, nullptr);
  }
  return fmt::format(
      R"({{"reason":{},"requests":{},"units":{},"partition":{},"limit":{},)"
      R"("demand":{},"asked":{},"at":{},"key":{},"why":{},"advice":{},"notes":{},"lesson":{}}})",
      Quoted(throughput::ReasonCode(model.is_index(), access, limit)),
      resource.meter->refusals(access, limit), Number(model.refused(limit).Of(access)),
      worst ? why.partition : model.MostRefusedPartition(access, limit), Number(why.limit),
      Number(why.demand), Number(asked), worst ? Quoted(FormatTime(why.at_micros)) : "null",
      why.hottest.empty() ? "null" : Quoted(why.hottest[0].partition),
      worst ? Quoted(ops::RefusalText(why)) : "null",
      Array(why.advice, [](const std::string& sentence) { return Quoted(sentence); }),
      Array(why.notes, [](const std::string& sentence) { return Quoted(sentence); }),
      why.lesson.empty() ? "null" : Quoted(why.lesson));
}

// By the ranges of the partitions that there are now.
throughput::HeatMap LastHours(const HeatHistories& heat, const Resource& resource,
                              const std::vector<throughput::PartitionView>& partitions,
                              int64_t now) {
  throughput::HeatHistory::Window window;
  window.from_micros = std::max<int64_t>(0, now - kLastMicros);
  window.to_micros = now;
  window.now_micros = now;
  window.born_micros = BornOf(resource);
  window.step_seconds = kColumnSeconds;
  if (partitions.size() <= kMostRows) {
    for (const throughput::PartitionView& p : partitions) window.rows.push_back(p.range);
  }
  return heat.Map(TabletOf(resource), window);
}

std::string Render(const ops::Environment& environment, const HeatHistories& heat,
                   const Resource& resource, bool manual_clock) {
  const throughput::Meter& meter = *resource.meter;
  const throughput::Resource& model = meter.resource();
  const int64_t now = environment.clock.NowMicros();
  const std::vector<throughput::PartitionView> partitions = model.PartitionDetails(now, kHottest);
  const bool provisioned = model.billing() == throughput::Billing::kProvisioned;
  std::string out =
      fmt::format(R"({{"type":"{}","name":{},"provisioned":{},"warm":{},"tokens":{})",
                  resource.index != nullptr ? "index" : "table", Quoted(model.name()),
                  provisioned ? Json(model.provisioned()) : "null", Json(model.warm()),
                  Json({model.Tokens(now, Access::kRead), model.Tokens(now, Access::kWrite)}));
  out +=
      fmt::format(R"(,"consumed":{},"letPass":{})", Json(model.consumed()), Json(meter.let_pass()));
  if (const auto granted = model.Granted()) {
    // If the store has several processes: the units per second that this one may use.
    const throughput::SharedLimits limits = model.Limits();
    out += fmt::format(R"(,"ofThisProcess":{})",
                       Json({(*granted)[0] * limits.whole[0], (*granted)[1] * limits.whole[1]}));
  }
  std::string refused;
  std::optional<throughput::HeatMap> seconds;
  for (const Access access : {Access::kRead, Access::kWrite}) {
    for (size_t l = 0; l < throughput::kLimits; ++l) {
      const auto limit = static_cast<Limit>(l);
      if (meter.refusals(access, limit) == 0) continue;
      if (!refused.empty()) refused.push_back(',');
      if (!seconds) seconds = LastSeconds(heat, resource, partitions, now, manual_clock);
      refused += Refused(resource, access, limit, now, partitions, *seconds);
    }
  }
  const throughput::HeatMap map = LastHours(heat, resource, partitions, now);
  out += fmt::format(R"(,"lastHours":{{"from":"{}","columnSeconds":{},"columns":{},{}}})",
                     FormatTime(map.from_seconds * 1'000'000), map.column_seconds, map.columns(),
                     HeatSeries(map, ColumnSums(map)));
  std::string rows;
  for (size_t i = 0; i < partitions.size(); ++i) {
    if (i > 0) rows.push_back(',');
    rows += Partition(
        resource, partitions[i],
        partitions.size() <= kMostRows ? HeatSeries(map, UnitsOf(map.cells[i])) : std::string());
  }
  const double observed = model.ObservedWeight();
  out += fmt::format(
      R"(,"refused":[{}],"hottest":{},"partitions":[{}],"splits":{})", refused,
      Keys(model.Hottest(throughput::HeavyHitters::Of::kCollections, kHottest), observed), rows,
      Array(meter.splits(), [&](const auto& split) { return Split(resource, split); }));
  return out + "}";
}

}  // namespace

Result<std::string> PartitionReport(ops::Environment& environment, const HeatHistories& heat,
                                    std::string_view table, bool manual_clock) {
  const std::vector<Resource> resources = environment.admission.ResourcesOf(table);
  if (resources.empty())
    return Error(ErrorCode::kResourceNotFound, "There is no table " + std::string(table));
  const table::Table& version = *resources.front().table;
  const Result<table::TableCounts> counts = environment.store.Counts(version);
  return fmt::format(
      R"({{"table":{},"now":"{}","billingMode":"{}","throttling":"{}","items":{},"bytes":{},"resources":{}}})",
      Quoted(table), FormatTime(environment.clock.NowMicros()),
      version.descriptor.billing_mode == table::BillingMode::kProvisioned ? "PROVISIONED"
                                                                          : "PAY_PER_REQUEST",
      throughput::ThrottlingText(resources.front().meter->mode()),
      counts.ok() ? std::to_string(counts->items) : "null",
      counts.ok() ? std::to_string(counts->bytes) : "null",
      Array(resources, [&](const Resource& resource) {
        return Render(environment, heat, resource, manual_clock);
      }));
}

}  // namespace stator::server
