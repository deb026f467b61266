#include "management/pulse.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/time_text.h"
#include "ops/table_status.h"
#include "stream/stream.h"
#include "throughput/meter.h"

namespace stator::management {
namespace {

using throughput::Access;
using throughput::HeatMap;
using throughput::HeatUnits;
using throughput::Rates;
using Resource = ops::Admission::Resource;

constexpr int64_t kMicros = 1'000'000;
// Looks are no closer than that, so that their number does not grow with that of the pages.
constexpr int64_t kLookMicros = 450'000;
// Rates are means of kSeconds full seconds. The meters are read once a second, so the second
// before this one may not be whole yet.
constexpr int64_t kSeconds = 5;
// A table is watched until its last use is older than the shown seconds.
constexpr int64_t kQuietMicros = (kSeconds + 4) * kMicros;
constexpr int64_t kSampleMicros = 6 * kMicros;
constexpr size_t kMostStrip = 64;
constexpr size_t kMostDropped = 1000;
constexpr size_t kMostAnswered = 256;
// Tables of which the counts are read again in one look though nothing was asked of them: expired
// items, and on a cluster other servers, change them.
constexpr uint64_t kCountedAgain = 50;

uint32_t TabletOf(const Resource& resource) {
  return resource.index != nullptr ? resource.index->tablet_id
                                   : resource.table->descriptor.tablet_id;
}

double Rounded(double value) { return std::round(value * 1000) / 1000; }

void WriteRates(std::string_view name, const Rates& rates, JsonWriter* json) {
  json->Key(name).Open('{').Field("read", Rounded(rates.read));
  json->Field("write", Rounded(rates.write)).Close('}');
}

std::string_view StatusText(ops::TableStatus status) {
  switch (status) {
    case ops::TableStatus::kCreating: return "CREATING";
    case ops::TableStatus::kUpdating: return "UPDATING";
    case ops::TableStatus::kDeleting: return "DELETING";
    default: return "ACTIVE";
  }
}

std::string_view ViewText(stream::ViewType view) {
  switch (view) {
    case stream::ViewType::kKeysOnly: return "KEYS_ONLY";
    case stream::ViewType::kNewImage: return "NEW_IMAGE";
    case stream::ViewType::kOldImage: return "OLD_IMAGE";
    case stream::ViewType::kNewAndOldImages: return "NEW_AND_OLD_IMAGES";
  }
  return "";
}

// Everything that was asked for since the meter exists.
Rates UsedOf(const throughput::Meter& meter) {
  Rates used = meter.resource().consumed();
  used.read += meter.let_pass().read;
  used.write += meter.let_pass().write;
  for (size_t l = 0; l < throughput::kLimits; ++l) {
    const auto limit = static_cast<throughput::Limit>(l);
    used.read += static_cast<double>(meter.refusals(Access::kRead, limit));
    used.write += static_cast<double>(meter.refusals(Access::kWrite, limit));
  }
  return used;
}

// Units per second over the columns of a map.
struct Means {
  Rates consumed;
  Rates refused;
};
Means MeansOf(const HeatMap& map) {
  HeatUnits sum;
  for (const std::vector<HeatMap::Cell>& row : map.cells) {
    for (const HeatMap::Cell& cell : row) sum += cell.units;
  }
  double seconds = 0;
  for (const double covered : map.covered_seconds) seconds += covered;
  if (seconds <= 0) return {};
  const double halves = 2 * seconds;
  return {{static_cast<double>(sum.read) / halves, static_cast<double>(sum.write) / halves},
          {static_cast<double>(sum.refused_read) / halves,
           static_cast<double>(sum.refused_write) / halves}};
}

// The hottest column of a row, as a part of a partition's maximum.
double HeatOf(const std::vector<HeatMap::Cell>& row, const throughput::ModelSettings& settings) {
  double most = 0;
  for (const HeatMap::Cell& cell : row) {
    most = std::max({most, cell.read_load / settings.partition_read_units,
                     cell.write_load / settings.partition_write_units});
  }
  return Rounded(most);
}

// Halves of units.
int64_t RefusedOf(const std::vector<HeatMap::Cell>& row) {
  int64_t sum = 0;
  for (const HeatMap::Cell& cell : row) sum += cell.units.refused();
  return sum;
}

struct Spot {
  const Resource* resource = nullptr;
  throughput::KeyRange range;
  double heat = 0;
  int64_t refused = 0;  // decides between partitions of one heat, 0 included
};

void WriteSpot(const Spot& spot, int64_t now, JsonWriter* json) {
  json->Key("hottest");
  if (spot.resource == nullptr) {
    json->Null();
    return;
  }
  const std::vector<throughput::PartitionView> partitions =
      spot.resource->meter->resource().PartitionDetails(now, 1);
  const auto found = std::find_if(partitions.begin(), partitions.end(),
                                  [&](const throughput::PartitionView& partition) {
                                    return partition.range.from == spot.range.from;
                                  });
  json->Open('{').Key("index");
  spot.resource->index != nullptr ? json->Text(spot.resource->index->name) : json->Null();
  json->Key("partition");
  found != partitions.end() ? json->Whole(static_cast<int64_t>(found->id)) : json->Null();
  json->Key("number");
  found != partitions.end() ? json->Whole(found - partitions.begin()) : json->Null();
  json->Field("from", fmt::format("{:016x}", spot.range.from.hash)).Key("to");
  spot.range.to_end ? json->Null() : json->Text(fmt::format("{:016x}", spot.range.to.hash));
  json->Field("heat", spot.heat);
  const bool has_key = found != partitions.end() && !found->hottest.empty();
  json->Key("key");
  has_key ? json->Text(found->hottest[0].partition) : json->Null();
  json->Key("keyShare");
  has_key && found->observed > 0
      ? json->Number(Rounded(std::min(1.0, found->hottest[0].weight / found->observed)))
      : json->Null();
  json->Key("notSplit");
  found != partitions.end() && found->obstacle != throughput::SplitObstacle::kNone
      ? json->Text(throughput::ObstacleText(found->obstacle))
      : json->Null();
  json->Close('}');
}

// Writes, for each partition, its begin in the hash space (from 0 to 1) and its heat.
void WriteStrip(const std::vector<throughput::KeyRange>& ranges, const HeatMap& map,
                const throughput::ModelSettings& settings, JsonWriter* json) {
  json->Key("strip");
  if (ranges.size() > kMostStrip) {
    json->Null();
    return;
  }
  json->Open('[');
  for (size_t i = 0; i < ranges.size(); ++i) {
    const double begin = static_cast<double>(ranges[i].from.hash) * 0x1p-64;
    json->Open('[').Number(std::round(begin * 1e6) / 1e6);
    json->Number(i < map.cells.size() ? HeatOf(map.cells[i], settings) : 0).Close(']');
  }
  json->Close(']');
}

// Milliseconds that a share of the requests between two counts did not exceed, by the bounds of the
// histogram.
std::optional<double> Quantile(const RequestTotals& before, const RequestTotals& after,
                               double share) {
  std::vector<int64_t> counts = after.counts;
  int64_t all = 0;
  for (size_t i = 0; i < counts.size(); ++i) {
    if (i < before.counts.size()) counts[i] -= before.counts[i];
    all += counts[i];
  }
  if (all <= 0) return std::nullopt;
  const double wanted = share * static_cast<double>(all);
  double passed = 0;
  double low = 0;
  for (size_t i = 0; i < after.bounds.size(); ++i) {
    const auto inside = static_cast<double>(counts[i]);
    if (passed + inside >= wanted && inside > 0)
      return Rounded((low + (wanted - passed) / inside * (after.bounds[i] - low)) * 1000);
    passed += inside;
    low = after.bounds[i];
  }
  return low * 1000;
}

}  // namespace

Pulse::Pulse(ops::Environment& environment, const Events& events, Sources sources)
    : environment_(environment),
      events_(events),
      sources_(std::move(sources)),
      started_ticks_(environment.clock.TicksMicros()),
      // Dates of the machine, so that numbers of an earlier process are below all of these.
      seq_(SystemClock().NowMicros()) {
  forgotten_seq_ = seq_;
}

void Pulse::LookAt(const std::vector<Resource>& resources, bool count_again, int64_t now,
                   int64_t ticks) {
  const table::TablePtr& table = resources.front().table;
  const table::TableDescriptor& descriptor = table->descriptor;
  Row& row = rows_[descriptor.name];
  Rates used;
  for (const Resource& resource : resources) {
    const Rates of = UsedOf(*resource.meter);
    used.read += of.read;
    used.write += of.write;
  }
  const throughput::Throttling mode = resources.front().meter->mode();
  // The rates of a moment are over when a manual clock leaves it.
  const bool fresh =
      row.table != table || row.mode != mode || (sources_.manual_clock && row.now_micros != now);
  if (fresh || used != row.used) row.quiet_since = ticks;
  const bool quiet = ticks - row.quiet_since > kQuietMicros;
  if (!row.counted || count_again || !quiet) {
    if (const Result<table::TableCounts> counts = environment_.store.Counts(*table); counts.ok()) {
      if (counts->items != row.counts.items || counts->bytes != row.counts.bytes)
        row.quiet_since = ticks;
      row.counts = *counts;
      row.counted = true;
    }
  }
  // A quiet table is skipped once a look has seen its last use end.
  if (row.seen_ticks - row.quiet_since > kQuietMicros && row.seq != 0) return;
  row.seen_ticks = ticks;
  row.table = table;
  row.used = used;
  row.mode = mode;
  row.now_micros = now;

  throughput::HeatHistory::Window window;
  window.now_micros = now;
  window.step_seconds = 1;
  // A manual clock stands still while requests come: all of them are of the second that it shows.
  window.to_micros = (now / kMicros + (sources_.manual_clock ? 1 : -1)) * kMicros;
  window.from_micros = std::max<int64_t>(0, window.to_micros - kSeconds * kMicros);
  Rates consumed, refused;
  Spot spot;
  double use = 0;
  HeatMap own;
  std::vector<throughput::KeyRange> ranges;
  for (const Resource& resource : resources) {
    const throughput::Resource& model = resource.meter->resource();
    window.rows.clear();
    for (const throughput::PartitionView& partition : model.Partitions())
      window.rows.push_back(partition.range);
    if (resource.index == nullptr) ranges = window.rows;
    if (window.rows.size() > kMostStrip) window.rows.clear();
    HeatMap map = sources_.heat(TabletOf(resource), window);
    const Means means = MeansOf(map);
    if (resource.index == nullptr) consumed = means.consumed;
    refused.read += means.refused.read;
    refused.write += means.refused.write;
    if (model.billing() == throughput::Billing::kProvisioned) {
      const Rates capacity = model.provisioned();
      for (const Access access : {Access::kRead, Access::kWrite}) {
        use = std::max(use, (means.consumed.Of(access) + means.refused.Of(access)) /
                                std::max(1e-9, capacity.Of(access)));
      }
    }
    for (size_t i = 0; i < map.rows.size(); ++i) {
      const double heat = HeatOf(map.cells[i], model.settings());
      const int64_t refused_here = RefusedOf(map.cells[i]);
      if (heat > spot.heat || (heat == spot.heat && refused_here > spot.refused))
        spot = {&resource, map.rows[i], heat, refused_here};
    }
    if (resource.index == nullptr) own = std::move(map);
  }
  const throughput::Resource& model = resources.front().meter->resource();
  const bool provisioned = model.billing() == throughput::Billing::kProvisioned;

  JsonWriter json;
  json.Open('{').Field("name", descriptor.name);
  json.Field("status", StatusText(ops::StatusOf(descriptor, environment_)));
  json.Field("billing", provisioned ? "PROVISIONED" : "PAY_PER_REQUEST");
  if (provisioned) {
    WriteRates("provisioned", model.provisioned(), &json);
  } else {
    json.Key("provisioned").Null();
  }
  json.Field("throttling", throughput::ThrottlingText(mode));
  json.Key("items").Whole(row.counts.items).Key("bytes").Whole(row.counts.bytes);
  json.Key("partitions").Whole(static_cast<int64_t>(ranges.size()));
  const int64_t global = std::count_if(descriptor.indexes.begin(), descriptor.indexes.end(),
                                       [](const auto& index) { return index.is_global(); });
  json.Key("globalIndexes").Whole(global);
  json.Key("localIndexes").Whole(static_cast<int64_t>(descriptor.indexes.size()) - global);
  json.Key("stream");
  descriptor.stream_view_type ? json.Text(ViewText(*descriptor.stream_view_type)) : json.Null();
  json.Key("ttl");
  descriptor.HasTimeToLive() ? json.Text(descriptor.expiry->attribute) : json.Null();
  json.Key("protected").Bool(descriptor.deletion_protection);
  json.Key("created").Number(static_cast<double>(descriptor.created_micros / 1000) / 1000);
  WriteRates("consumed", consumed, &json);
  WriteRates("refused", refused, &json);
  json.Key("use");
  provisioned ? json.Number(Rounded(use)) : json.Null();
  WriteSpot(spot, now, &json);
  WriteStrip(ranges, own, model.settings(), &json);
  json.Close('}');
  std::string text = json.Take();
  text.pop_back();
  if (text == row.text) return;
  row.text = std::move(text);
  row.seq = ++seq_;
}

std::string Pulse::ServerText(int64_t ticks) {
  samples_.push_back({ticks, sources_.requests()});
  while (samples_.size() > 1 && ticks - samples_.front().ticks > kSampleMicros)
    samples_.pop_front();
  const Sample& before = samples_.front();
  const RequestTotals& after = samples_.back().totals;
  const double seconds = static_cast<double>(std::max<int64_t>(1, ticks - before.ticks)) * 1e-6;
  const auto rate = [seconds](int64_t now, int64_t then) {
    return Rounded(static_cast<double>(std::max<int64_t>(0, now - then)) / seconds);
  };
  JsonWriter json;
  json.Open('{').Field("now", FormatTime(environment_.clock.NowMicros()));
  json.Field("clock", sources_.manual_clock ? "manual" : "system");
  json.Key("uptimeSeconds").Whole((ticks - started_ticks_) / kMicros);
  const std::string not_ready = sources_.not_ready();
  json.Key("ready").Bool(not_ready.empty()).Key("notReady");
  not_ready.empty() ? json.Null() : json.Text(not_ready);
  json.Key("writable").Bool(environment_.store.engine().Health().ok());
  int64_t faults = 0;
  for (const auto& [table, rules] : environment_.faults.Get())
    faults += static_cast<int64_t>(rules.size());
  json.Key("faults").Whole(faults);
  const RequestTotals& then = before.totals;
  json.Key("requests").Open('{').Field("perSecond", rate(after.all(), then.all()));
  json.Field("userErrors", rate(after.user_errors, then.user_errors));
  json.Field("systemErrors", rate(after.system_errors, then.system_errors));
  json.Field("throttled", rate(after.throttled, then.throttled));
  for (const auto& [name, share] : {std::pair("p50", 0.5), std::pair("p99", 0.99)}) {
    const std::optional<double> at = Quantile(then, after, share);
    json.Key(name);
    at ? json.Number(*at) : json.Null();
  }
  json.Close('}').Close('}');
  std::string text = json.Take();
  return text.substr(1, text.size() - 3);  // without braces and line feed
}

void Pulse::Look() {
  const int64_t ticks = environment_.clock.TicksMicros();
  // Ticks of a manual clock in tests stand still.
  if (ticks - looked_ticks_ < kLookMicros && ticks != looked_ticks_) return;
  looked_ticks_ = ticks;
  const int64_t now = environment_.clock.NowMicros();
  const std::vector<Resource> all = environment_.admission.Resources();
  // `all` is sorted by table name; each table comes directly before its indexes.
  uint64_t tables = 0;
  for (const Resource& resource : all) tables += resource.index == nullptr ? 1 : 0;
  const uint64_t first_again = tables == 0 ? 0 : round_++ * kCountedAgain % tables;
  auto row = rows_.begin();
  const auto drop = [&]() REQUIRES(mutex_) {
    dropped_.emplace_back(++seq_, row->first);
    row = rows_.erase(row);
    if (dropped_.size() <= kMostDropped) return;
    forgotten_seq_ = dropped_.front().first;
    dropped_.pop_front();
  };
  uint64_t number = 0;
  for (auto at = all.begin(); at != all.end(); ++number) {
    const auto end = std::find_if(std::next(at), all.end(), [](const Resource& resource) {
      return resource.index == nullptr;
    });
    const std::string& name = at->table->descriptor.name;
    while (row != rows_.end() && row->first < name) drop();
    const bool again = (number + tables - first_again) % tables < kCountedAgain;
    LookAt(std::vector<Resource>(at, end), again, now, ticks);
    row = rows_.upper_bound(name);
    at = end;
  }
  while (row != rows_.end()) drop();
  server_ = ServerText(ticks);
}

std::string Pulse::Since(int64_t since) {
  const MutexLock lock(mutex_);
  Look();
  const bool known = std::find(answered_.begin(), answered_.end(), since) != answered_.end();
  const bool whole = !known || since < forgotten_seq_;
  if (answered_.empty() || answered_.back() != seq_) answered_.push_back(seq_);
  if (answered_.size() > kMostAnswered) answered_.pop_front();
  std::string out = fmt::format(R"({{"seq":{},"whole":{},"events":{},{},"tables":[)", seq_, whole,
                                events_.seq(), server_);
  bool first = true;
  for (const auto& [name, row] : rows_) {
    if (!whole && row.seq <= since) continue;
    if (!std::exchange(first, false)) out.push_back(',');
    out += row.text;
  }
  JsonWriter dropped;
  dropped.Open('[');
  for (const auto& [seq, name] : dropped_) {
    // A table of that name may have been made since.
    if (!whole && seq > since && !rows_.contains(name)) dropped.Text(name);
  }
  dropped.Close(']');
  return out + "],\"dropped\":" + dropped.Take() + "}\n";
}

}  // namespace stator::management
