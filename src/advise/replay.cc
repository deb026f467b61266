#include "advise/replay.h"

#include <algorithm>
#include <cmath>

#include "advise/judge.h"
#include "advise/key_load.h"
#include "throughput/key_hash.h"
#include "throughput/units.h"

namespace stator::advise {
namespace {

using throughput::Access;
using throughput::Billing;
using throughput::Draw;
using throughput::Resource;
using throughput::ResourceDefinition;
using throughput::Verdict;

constexpr int64_t kSecond = 1'000'000;  // behind the last request: its second is over, too
constexpr size_t kMostIndexesPlayed = 64;
constexpr int64_t kMostPartitions = 128;  // of a table: each takes memory

throughput::ModelSettings Settings() {
  throughput::ModelSettings settings;
  settings.most_partitions = kMostPartitions;
  settings.worst_kept_seconds = 1e12;  // a recording tells of its worst second, whenever it was
  return settings;
}

// Limits a recorded capacity to the quotas, because the file may come from anywhere.
double Quota(double units) { return std::clamp(units, 1.0, 40000.0); }

ResourceDefinition OfTable(const request_log::TableDefinition& table) {
  ResourceDefinition out;
  out.name = table.name;
  out.billing = table.on_demand ? Billing::kOnDemand : Billing::kProvisioned;
  out.provisioned = {Quota(table.read_units), Quota(table.write_units)};
  if (table.max_read) out.max_read = Quota(*table.max_read);
  if (table.max_write) out.max_write = Quota(*table.max_write);
  out.has_stream = table.stream;
  out.has_local_indexes = std::any_of(table.indexes.begin(), table.indexes.end(),
                                      [](const auto& index) { return !index.global; });
  out.bytes = table.bytes;
  out.has_sort_key = !table.sort.empty();
  out.readable_partition = KeyForPeople;
  return out;
}

ResourceDefinition OfIndex(const request_log::TableDefinition& table,
                           const request_log::IndexDefinition& index) {
  ResourceDefinition out;
  out.name = index.name;
  out.is_index = true;
  out.billing = table.on_demand ? Billing::kOnDemand : Billing::kProvisioned;
  out.provisioned = {Quota(index.read_units), Quota(index.write_units)};
  out.bytes = index.bytes;
  // The sort keys of entries are not recorded: nothing is said of them.
  out.has_sort_key = false;
  out.readable_partition = KeyForPeople;
  return out;
}

// Returns the hash of a recorded key. For a plain string it is the hash that a server uses, so the
// key is in the same place. For other keys it is another hash, which is always the same.
uint64_t PlaceOf(std::string_view key) {
  return key.starts_with("S:") && key.find('\x1f') == std::string_view::npos
             ? throughput::HashOfStringKey(key.substr(2))
             : HashOfKey(key);
}

int64_t HalvesOf(double units, size_t keys) {
  return std::max<int64_t>(1, std::llround(2 * units / static_cast<double>(keys)));
}

}  // namespace

Replay::Replay(const request_log::TableDefinition& table, int64_t now_micros) {
  table_ = MakePart(OfTable(table), now_micros);
  Define(table, now_micros);
  advanced_second_ = now_micros / 1'000'000;
}

Replay::Part Replay::MakePart(ResourceDefinition definition, int64_t now_micros) const {
  Part part;
  part.resource = std::make_unique<Resource>(Settings(), definition, now_micros);
  part.definition = std::move(definition);
  return part;
}

void Replay::Follow(Part* part, ResourceDefinition definition, int64_t now_micros) {
  Resource& resource = *part->resource;
  if (definition.billing != part->definition.billing) {
    if (definition.billing == Billing::kOnDemand) {
      resource.SwitchToOnDemand(now_micros);
    } else {
      resource.SwitchToProvisioned(now_micros, definition.provisioned);
    }
  } else if (definition.billing == Billing::kProvisioned &&
             definition.provisioned != part->definition.provisioned) {
    resource.SetProvisioned(now_micros, definition.provisioned);
  }
  resource.SetMaximum(now_micros, definition.max_read, definition.max_write);
  part->definition = std::move(definition);
}

void Replay::Define(const request_log::TableDefinition& table, int64_t now_micros) {
  Follow(&table_, OfTable(table), now_micros);
  for (const request_log::IndexDefinition& index : table.indexes) {
    if (!index.global) continue;
    const auto found = indexes_.find(index.name);
    if (found != indexes_.end()) {
      Follow(&found->second, OfIndex(table, index), now_micros);
    } else if (indexes_.size() < kMostIndexesPlayed) {
      indexes_[index.name] = MakePart(OfIndex(table, index), now_micros);
    }
    if (const auto part = indexes_.find(index.name); part != indexes_.end())
      part->second.keys_only = index.projection == request_log::Projection::kKeysOnly;
  }
}

void Replay::Advance(int64_t now_micros) {
  const int64_t second = now_micros / 1'000'000;
  if (second == advanced_second_) return;
  advanced_second_ = second;
  CloseSecond(&table_);
  for (auto& [name, part] : indexes_) CloseSecond(&part);
  table_.resource->Advance(now_micros);
  for (auto& [name, part] : indexes_) part.resource->Advance(now_micros);
}

// The end of the second of the last request.
void Replay::CloseSecond(Part* part) {
  const throughput::ModelSettings model;
  if (part->entries > 0) {
    part->resource->SetEntryBytes(
        std::llround(part->entry_units / static_cast<double>(part->entries) *
                     static_cast<double>(throughput::kWriteUnitBytes)));
  }
  for (const Access access : {Access::kRead, Access::kWrite}) {
    const double most =
        access == Access::kRead ? model.partition_read_units : model.partition_write_units;
    std::optional<throughput::Explanation>& busiest = part->busiest[static_cast<size_t>(access)];
    const double known = busiest ? busiest->demand : 0;
    std::optional<throughput::Explanation> now = part->resource->Busiest(
        now_micros_, access, std::max(kHotPart * most, std::nextafter(known, 1e12)));
    if (now) busiest = std::move(now);
  }
}

Replay::Part& Replay::PartOf(const std::string& index) {
  const auto found = indexes_.find(index);
  return found != indexes_.end() ? found->second : table_;
}

void Replay::Add(const request_log::Request& request, int64_t now_micros) {
  Advance(now_micros);
  const bool reads = request.read_units > 0;
  if (!reads && request.write_units <= 0) return;
  Part* target = &table_;
  if (!request.index.empty()) {
    // A local index draws from its table.
    if (const auto found = indexes_.find(request.index); found != indexes_.end())
      target = &found->second;
  }
  const size_t count = std::max<size_t>(1, request.keys.size());
  std::vector<Draw> draws;
  draws.reserve(count + request.index_writes.size());
  for (size_t i = 0; i < count; ++i) {
    Draw& draw = draws.emplace_back();
    draw.resource = target->resource.get();
    draw.access = reads ? Access::kRead : Access::kWrite;
    draw.eventual = request.consistency == request_log::Consistency::kEventual;
    draw.halves = HalvesOf(reads ? request.read_units : request.write_units, count);
    if (!request.keys.empty()) {
      draw.point = {PlaceOf(request.keys[i].partition), request.keys[i].sort,
                    request.keys[i].partition};
    } else {
      // A Scan is somewhere in the hash space; its time says where as well as anything.
      draw.point.hash = HashOfKey(
          std::string_view(reinterpret_cast<const char*>(&now_micros), sizeof(now_micros)));
    }
  }
  for (const request_log::IndexWrite& write : request.index_writes) {
    const auto found = indexes_.find(write.index);
    // Without the entry's key its partition is not known, only that it draws from the index.
    if (found == indexes_.end() || write.units <= 0) continue;
    Draw& draw = draws.emplace_back();
    draw.resource = found->second.resource.get();
    draw.access = Access::kWrite;
    draw.halves = HalvesOf(write.units, 1);
    if (!found->second.keys_only) {
      found->second.entry_units += write.units;
      ++found->second.entries;
    }
    const std::string_view key = !write.partition.empty() ? std::string_view(write.partition)
                                 : !request.keys.empty()
                                     ? std::string_view(request.keys[0].partition)
                                     : std::string_view();
    draw.point = {PlaceOf(key), {}, key};
  }
  ++out_.requests;
  const Verdict verdict = throughput::Admit(now_micros, draws);
  now_micros_ = now_micros;
  if (!verdict.admitted) Count(verdict);
}

void Replay::Count(const Verdict& verdict) {
  ++out_.throttled;
  const std::string reason(
      throughput::ReasonCode(verdict.resource->is_index(), verdict.access, verdict.limit));
  ++out_.reasons[reason];
  ++refusals_[{verdict.resource->is_index() ? verdict.resource->name() : "", verdict.access,
               verdict.limit}];
}

std::optional<throughput::Explanation> Replay::Tell(const std::string& index, std::string_view key,
                                                    Access access) {
  Part& part = PartOf(index);
  CloseSecond(&part);
  const auto of_key = [&](const std::optional<throughput::Explanation>& e) {
    return e && e->spread.partitions > 0 && e->hottest[0].hash == PlaceOf(key);
  };
  const std::optional<throughput::Explanation> worst =
      part.resource->Worst(now_micros_ + kSecond, access, throughput::Limit::kKeyRange);
  if (of_key(worst)) return worst;
  const std::optional<throughput::Explanation>& busiest = part.busiest[static_cast<size_t>(access)];
  return of_key(busiest) ? busiest : std::nullopt;
}

throughput::SpreadPlan Replay::Spread(const std::string& index, std::string_view key, Access access,
                                      double units_per_second) const {
  const auto found = indexes_.find(index);
  const Resource& resource = found != indexes_.end() ? *found->second.resource : *table_.resource;
  return resource.PlanSpread(KeyForPeople(key), access, units_per_second);
}

ReplaySummary Replay::Finish() {
  out_.partitions = table_.resource->partition_count();
  int64_t most = 0;
  for (const auto& [who, count] : refusals_) {
    if (count <= most) continue;
    const auto& [index, access, limit] = who;
    most = count;
    const auto found = indexes_.find(index);
    const Resource& resource = found != indexes_.end() ? *found->second.resource : *table_.resource;
    out_.worst = resource.Worst(now_micros_ + kSecond, access, limit);
  }
  return std::move(out_);
}

}  // namespace stator::advise
