#include "management/hot_keys.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <set>
#include <utility>

#include "base/json_writer.h"
#include "base/time_text.h"
#include "management/reply.h"
#include "throughput/meter.h"

namespace stator::management {
namespace {

using Resource = ops::Admission::Resource;

constexpr int64_t kWindowMicros = 600'000'000;

uint32_t TabletOf(const Resource& resource) {
  return resource.index != nullptr ? resource.index->tablet_id
                                   : resource.table->descriptor.tablet_id;
}

bool Wanted(uint64_t hash, const HotKeys::Query& query) {
  return hash >= query.from_hash &&
         (!query.to_hash || hash < *query.to_hash || hash == query.from_hash);
}

bool Overlaps(const throughput::KeyRange& range, const HotKeys::Query& query) {
  const bool begins_before =
      !query.to_hash || range.from.hash < *query.to_hash || range.from.hash == query.from_hash;
  const bool ends_behind =
      range.to_end || range.to.hash > query.from_hash || range.from.hash == query.from_hash;
  return begins_before && ends_behind;
}

double Rounded(double share) { return std::round(std::min(1.0, share) * 10000) / 10000; }

std::optional<uint64_t> HashIn(std::string_view text) {
  uint64_t hash = 0;
  if (text.size() > 16) return std::nullopt;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), hash, 16);
  if (error != std::errc() || stop != text.data() + text.size()) return std::nullopt;
  return hash;
}

}  // namespace

HotKeys::Seen HotKeys::LookAt(const Resource& resource, int64_t now) {
  std::vector<throughput::PartitionView> views =
      resource.meter->resource().PartitionDetails(now, kMostKeys);
  std::erase_if(views, [](const throughput::PartitionView& view) { return view.observed <= 0; });
  std::stable_sort(views.begin(), views.end(),
                   [](const auto& a, const auto& b) { return a.observed > b.observed; });
  if (views.size() > kMostPartitions) views.resize(kMostPartitions);
  Seen seen;
  seen.at_micros = now;
  seen.bytes = sizeof(Seen);
  for (throughput::PartitionView& view : views) {
    Partition partition{view.id, view.range, view.observed, {}};
    for (throughput::HeavyKey& key : view.hottest) {
      if (!key.IsKnown() || key.least() < kLeastShare * view.observed) continue;
      seen.bytes += sizeof(Key) + key.partition.capacity();
      partition.keys.push_back({std::move(key.partition), key.hash, key.least()});
    }
    std::stable_sort(partition.keys.begin(), partition.keys.end(),
                     [](const Key& a, const Key& b) { return a.weight > b.weight; });
    if (partition.keys.empty()) continue;
    seen.bytes += sizeof(Partition) + partition.range.from.sort.capacity() +
                  partition.range.to.sort.capacity();
    seen.partitions.push_back(std::move(partition));
  }
  return seen;
}

void HotKeys::DropOldest(History* history) {
  const size_t bytes = history->looks.front().bytes;
  history->bytes -= bytes;
  bytes_ -= bytes;
  history->looks.pop_front();
}

void HotKeys::Look() {
  const int64_t now = environment_.clock.NowMicros();
  std::set<uint32_t> alive;
  for (const Resource& resource : environment_.admission.Resources()) {
    const uint32_t tablet = TabletOf(resource);
    alive.insert(tablet);
    const double used = resource.meter->resource().ObservedWeight();
    {
      MutexLock lock(mutex_);
      History& history = histories_[tablet];
      // A manual clock went back.
      while (!history.looks.empty() && history.looks.back().at_micros > now) {
        history.bytes -= history.looks.back().bytes;
        bytes_ -= history.looks.back().bytes;
        history.looks.pop_back();
      }
      while (!history.looks.empty() && history.looks.front().at_micros < now - kKeptMicros)
        DropOldest(&history);
      if (std::exchange(history.used, used) == used) continue;
    }
    Seen seen = LookAt(resource, now);
    if (seen.partitions.empty()) continue;
    MutexLock lock(mutex_);
    History& history = histories_[tablet];
    history.bytes += seen.bytes;
    bytes_ += seen.bytes;
    history.looks.push_back(std::move(seen));
    while (history.bytes > kMostBytes) DropOldest(&history);
  }
  MutexLock lock(mutex_);
  std::erase_if(histories_, [&](const auto& one) REQUIRES(mutex_) {
    if (alive.contains(one.first)) return false;
    bytes_ -= one.second.bytes;
    return true;
  });
  while (bytes_ > kMostBytesOfAll) {
    const auto largest = std::max_element(
        histories_.begin(), histories_.end(),
        [](const auto& a, const auto& b) { return a.second.bytes < b.second.bytes; });
    DropOldest(&largest->second);
  }
}

Result<std::string> HotKeys::Render(std::string_view table, const Query& query) {
  std::vector<Resource> resources = environment_.admission.ResourcesOf(table);
  if (resources.empty())
    return Error(ErrorCode::kResourceNotFound, fmt::format("There is no table {}", table));
  std::erase_if(resources, [&](const Resource& one) {
    return query.index ? one.index == nullptr || one.index->name != *query.index
                       : one.index != nullptr;
  });
  if (resources.empty()) {
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("The table {} has no global index {}", table, *query.index));
  }
  const Resource& resource = resources.front();
  const int64_t now = environment_.clock.NowMicros();
  std::vector<Seen> looks;
  {
    MutexLock lock(mutex_);
    const auto found = histories_.find(TabletOf(resource));
    if (found != histories_.end()) {
      for (const Seen& seen : found->second.looks) {
        if (seen.at_micros > query.from_micros &&
            seen.at_micros - kReachMicros / 2 < query.to_micros)
          looks.push_back(seen);
      }
    }
  }
  // Units since the last look.
  if (query.to_micros >= now - kReachMicros / 2) looks.push_back(LookAt(resource, now));
  struct Sum {
    const std::string* text = nullptr;
    double weight = 0;
    uint64_t partition = 0;
  };
  std::map<uint64_t, Sum> sums;
  double observed = 0;
  int64_t used = 0;
  for (const Seen& seen : looks) {
    bool any = false;
    for (const Partition& partition : seen.partitions) {
      if (!Overlaps(partition.range, query)) continue;
      observed += partition.observed;
      any = true;
      for (const Key& key : partition.keys) {
        if (!Wanted(key.hash, query)) continue;
        Sum& sum = sums[key.hash];
        sum.text = &key.text;
        sum.weight += key.weight;
        sum.partition = partition.id;
      }
    }
    used += any ? 1 : 0;
  }
  std::vector<const Sum*> sorted;
  for (const auto& [hash, sum] : sums) sorted.push_back(&sum);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Sum* a, const Sum* b) { return a->weight > b->weight; });
  if (sorted.size() > kMostAnswered) sorted.resize(kMostAnswered);
  JsonWriter json;
  json.Open('{').Field("table", table).Key("index");
  query.index ? json.Text(*query.index) : json.Null();
  json.Field("from", FormatTime(query.from_micros)).Field("to", FormatTime(query.to_micros));
  json.Key("looks").Whole(used).Key("resolutionSeconds").Whole(kReachMicros / 1'000'000);
  json.Key("keys").Open('[');
  for (const Sum* sum : sorted) {
    json.Open('{').Field("partitionKey", *sum->text);
    json.Field("share", observed > 0 ? Rounded(sum->weight / observed) : 0.0);
    json.Key("partition").Whole(static_cast<int64_t>(sum->partition)).Close('}');
  }
  json.Close(']').Close('}');
  return json.Take();
}

std::vector<HotKeys::Leader> HotKeys::Leaders(const Resource& resource, int64_t from_micros,
                                              int64_t to_micros) {
  std::vector<Leader> leaders;
  const auto add = [&](const Seen& seen) {
    for (const Partition& partition : seen.partitions) {
      const Key& first = partition.keys.front();  // the heaviest
      if (first.text.empty() || first.weight < kLeader * partition.observed) continue;
      leaders.push_back({seen.at_micros, partition.range, first.hash, first.text});
    }
  };
  const int64_t now = environment_.clock.NowMicros();
  {
    MutexLock lock(mutex_);
    const auto found = histories_.find(TabletOf(resource));
    if (found != histories_.end()) {
      for (const Seen& seen : found->second.looks) {
        if (seen.at_micros > from_micros && seen.at_micros - kReachMicros < to_micros) add(seen);
      }
    }
  }
  if (to_micros > now - kReachMicros) add(LookAt(resource, now));
  return leaders;
}

size_t HotKeys::Bytes() {
  MutexLock lock(mutex_);
  return bytes_;
}

Result<HotKeys::Query> HotKeysQuery(std::string_view text, int64_t now_micros) {
  HotKeys::Query query;
  query.index = Parameter(text, "index");
  query.to_micros = now_micros;
  const auto time = [&](std::string_view name, int64_t* to) -> Status {
    const std::optional<std::string> value = Parameter(text, name);
    if (!value) return OkStatus();
    const std::optional<int64_t> parsed = ParseTime(*value);
    if (!parsed) {
      return ValidationError(fmt::format(
          "{} must be a time such as 2026-11-21T12:30 or 1795264205: {}", name, *value));
    }
    *to = *parsed;
    return OkStatus();
  };
  TRY(time("to", &query.to_micros));
  query.from_micros = std::max<int64_t>(0, query.to_micros - kWindowMicros);
  TRY(time("from", &query.from_micros));
  if (query.from_micros >= query.to_micros)
    return ValidationError("from must be before to: " + FormatTime(query.from_micros));
  for (const std::string_view name : {"fromHash", "toHash"}) {
    const std::optional<std::string> value = Parameter(text, name);
    if (!value) continue;
    const std::optional<uint64_t> hash = HashIn(*value);
    if (!hash) {
      return ValidationError(
          fmt::format("{} must be up to 16 hexadecimal digits: {}", name, *value));
    }
    if (name == "fromHash") {
      query.from_hash = *hash;
    } else {
      query.to_hash = *hash;
    }
  }
  return query;
}

}  // namespace stator::management
