#include "ops/admission.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "ops/refusal_text.h"
#include "table/outcomes.h"

namespace stator::ops {
namespace {

// Looks are about a second apart, but for a manual clock that is moved by more.
constexpr int64_t kYoungMicros = 10'000'000;

using throughput::Access;
using throughput::Billing;
using throughput::Meter;
using throughput::Rates;
using throughput::SplitEvent;
using throughput::Throttling;

Billing BillingOf(const table::TableDescriptor& table) {
  return table.billing_mode == table::BillingMode::kProvisioned ? Billing::kProvisioned
                                                                : Billing::kOnDemand;
}

// What a table and an index have in common, in the model's terms.
struct CapacitySpec {
  Rates provisioned;
  std::optional<double> max_read;
  std::optional<double> max_write;
  std::optional<Rates> warm;
  const throughput::PartitionMap* partitions;
  bool operator==(const CapacitySpec&) const = default;
};

std::optional<double> AsDouble(const std::optional<int64_t>& units) {
  if (!units) return std::nullopt;
  return static_cast<double>(*units);
}

template <typename Throughput>
CapacitySpec SpecOf(const Throughput& t, const throughput::PartitionMap& partitions) {
  CapacitySpec spec;
  spec.provisioned = {static_cast<double>(t.read_units), static_cast<double>(t.write_units)};
  spec.max_read = AsDouble(t.max_read_request_units);
  spec.max_write = AsDouble(t.max_write_request_units);
  if (t.warm_read_units || t.warm_write_units) {
    spec.warm =
        Rates{AsDouble(t.warm_read_units).value_or(0), AsDouble(t.warm_write_units).value_or(0)};
  }
  spec.partitions = &partitions;
  return spec;
}

CapacitySpec SpecOf(const table::TableDescriptor& table, const table::IndexDescriptor* index) {
  return index != nullptr ? SpecOf(index->throughput, index->partitions)
                          : SpecOf(table, table.partitions);
}

// Starts of `wanted` that `map` has not.
std::vector<uint64_t> Missing(const throughput::PartitionMap& wanted,
                              const throughput::PartitionMap& map) {
  std::vector<uint64_t> missing;
  std::set_difference(wanted.starts().begin(), wanted.starts().end(), map.starts().begin(),
                      map.starts().end(), std::back_inserter(missing));
  return missing;
}

// The meter of a resource as it was before, now that its definition has changed.
void Follow(const table::TableDescriptor& before, const CapacitySpec& old_spec,
            const table::TableDescriptor& next, const CapacitySpec& spec, bool is_index,
            int64_t now, Meter* meter) {
  throughput::Resource& resource = meter->resource();
  const Billing billing = BillingOf(next);
  if (billing != BillingOf(before)) {
    meter->RecordSplits(billing == Billing::kOnDemand
                            ? resource.SwitchToOnDemand(now)
                            : resource.SwitchToProvisioned(now, spec.provisioned));
  } else if (billing == Billing::kProvisioned && spec.provisioned != old_spec.provisioned) {
    meter->RecordSplits(resource.SetProvisioned(now, spec.provisioned));
  }
  if (spec.max_read != old_spec.max_read || spec.max_write != old_spec.max_write)
    resource.SetMaximum(now, spec.max_read, spec.max_write);
  if (spec.warm && spec.warm != old_spec.warm) {
    // Where the resource is ready for more already, it stays so.
    const Rates ready = resource.warm();
    Result<std::vector<SplitEvent>> splits = resource.SetWarm(
        now, {std::max(ready.read, spec.warm->read), std::max(ready.write, spec.warm->write)});
    if (splits.ok()) meter->RecordSplits(*splits);
  }
  if (!is_index) resource.SetFeatures(next.HasLocalIndexes(), next.stream_view_type.has_value());
  for (const uint64_t start : Missing(*spec.partitions, resource.HashMap())) {
    if (const auto split = resource.Split(now, {start, {}})) meter->RecordSplits({*split});
  }
}

// What the model has split and the catalog not.
struct UnstoredSplits {
  std::vector<uint64_t> table;
  std::map<uint32_t, std::vector<uint64_t>> indexes;  // by tablet
};

Status AddSplits(const UnstoredSplits& splits, table::TableDescriptor* descriptor) {
  size_t added = 0;
  const auto add = [&added](const std::vector<uint64_t>& starts, throughput::PartitionMap* map) {
    const size_t before = map->size();
    for (const uint64_t start : starts) map->Split(start);
    added += map->size() - before;
  };
  add(splits.table, &descriptor->partitions);
  for (table::IndexDescriptor& index : descriptor->indexes) {
    const auto found =
        index.is_global() ? splits.indexes.find(index.tablet_id) : splits.indexes.end();
    if (found != splits.indexes.end()) add(found->second, &index.partitions);
  }
  if (added == 0) return Error(ErrorCode::kResourceNotFound, "nothing is to be split any more");
  return OkStatus();
}

// Returns since when a table or index has been used that is looked at for the first time: since it
// was made, or since now if that is longer ago than looks are apart, because the server began then.
int64_t FirstSeen(const Admission::Resource& resource, int64_t now_micros) {
  const int64_t created = resource.index != nullptr ? resource.index->created_micros
                                                    : resource.table->descriptor.created_micros;
  return created <= now_micros && now_micros - created <= kYoungMicros ? created : now_micros;
}

}  // namespace

Admission::~Admission() {
  if (started_) store_.Observe(nullptr);
}

void Admission::Start(ThrottlingModes modes, const throughput::ModelSettings& model) {
  {
    const MutexLock lock(mutex_);
    modes_ = std::move(modes);
  }
  model_ = model;
  started_ = true;
  for (const table::TablePtr& table : store_.List()) {
    // A count that cannot be read is as good as none: sizes of partitions are estimates.
    counts_[table->descriptor.tablet_id] = CountOf(*table, nullptr).value_or(table::TableCounts());
    for (const table::IndexDescriptor& index : table->descriptor.indexes) {
      if (!index.is_global()) continue;
      counts_[index.tablet_id] = CountOf(*table, &index).value_or(table::TableCounts());
    }
  }
  store_.Observe(this);
}

std::optional<table::TableCounts> Admission::CountOf(const table::Table& table,
                                                     const table::IndexDescriptor* index) {
  const auto counts = index != nullptr ? store_.IndexCounts(table, *index) : store_.Counts(table);
  if (!counts.ok()) return std::nullopt;
  table::TableCounts sum = *counts;
  if (index != nullptr) return sum;
  for (const table::IndexDescriptor& local : table.descriptor.indexes) {
    if (local.is_global()) continue;
    // Its entries stand beside the items, and are none.
    const auto entries = store_.IndexCounts(table, local);
    if (!entries.ok()) return std::nullopt;
    sum.bytes += entries->bytes;
  }
  return sum;
}

std::shared_ptr<Meter> Admission::NewMeter(const table::TableDescriptor& table,
                                           const table::IndexDescriptor* index) {
  const CapacitySpec spec = SpecOf(table, index);
  throughput::ResourceDefinition definition;
  definition.name = index != nullptr ? index->name : table.name;
  definition.is_index = index != nullptr;
  definition.billing = BillingOf(table);
  definition.provisioned = spec.provisioned;
  definition.max_read = spec.max_read;
  definition.max_write = spec.max_write;
  definition.warm = spec.warm;
  definition.has_local_indexes = index == nullptr && table.HasLocalIndexes();
  definition.has_sort_key = index != nullptr || table.key_schema.sort.has_value();
  definition.has_stream = index == nullptr && table.stream_view_type.has_value();
  definition.partitions = *spec.partitions;
  {
    const MutexLock lock(mutex_);
    definition.grant = grant_;
  }
  definition.tablet = index != nullptr ? index->tablet_id : table.tablet_id;
  if (const auto counts = counts_.find(index != nullptr ? index->tablet_id : table.tablet_id);
      counts != counts_.end()) {
    definition.bytes = counts->second.bytes;
    definition.items = counts->second.items;
  }
  // Entries that hold keys alone cannot be smaller: no projection is a cure.
  if (index != nullptr && index->projection == table::IndexDescriptor::Projection::kKeysOnly)
    definition.entry_bytes = 1;
  // Keys never change. What is needed of them is kept here, because the meter outlives descriptors.
  const model::IndexKeySchema key =
      index != nullptr ? index->key : model::IndexKeySchema::Of(table.key_schema);
  definition.readable_partition = [key](std::string_view bytes) {
    return table::ReadablePartition(key.partition, bytes);
  };
  definition.readable_sort = [key, is_index = index != nullptr](std::string_view bytes) {
    return table::ReadableSort(key, is_index, bytes);
  };
  auto meter = std::make_shared<Meter>(model_, std::move(definition), clock_.NowMicros(),
                                       ModeOf(table.name));
  meter->resource().SetDecides(decides());
  return meter;
}

void Admission::OnVersion(const table::Table* before, table::Table* next) {
  const table::TableDescriptor& table = next->descriptor;
  const int64_t now = clock_.NowMicros();
  const table::Meters old = before != nullptr ? before->meters : table::Meters();
  table::Meters meters;
  if (old.table == nullptr) {
    meters.table = NewMeter(table, nullptr);
  } else {
    meters.table = old.table;
    Follow(before->descriptor, SpecOf(before->descriptor, nullptr), table, SpecOf(table, nullptr),
           false, now, meters.table.get());
  }
  for (const table::IndexDescriptor& index : table.indexes) {
    std::shared_ptr<Meter>& meter = meters.indexes.emplace_back();
    if (!index.is_global()) continue;
    for (size_t i = 0; i < old.indexes.size(); ++i) {
      const table::IndexDescriptor& was = before->descriptor.indexes[i];
      if (old.indexes[i] == nullptr || was.tablet_id != index.tablet_id) continue;
      meter = old.indexes[i];
      Follow(before->descriptor, SpecOf(before->descriptor, &was), table, SpecOf(table, &index),
             true, now, meter.get());
    }
    if (meter == nullptr) meter = NewMeter(table, &index);
  }
  next->meters = std::move(meters);
}

ThrottlingModes Admission::modes() const {
  const MutexLock lock(mutex_);
  return modes_;
}

Throttling Admission::ModeOf(std::string_view table) const {
  const MutexLock lock(mutex_);
  const auto own = modes_.tables.find(table);
  return own != modes_.tables.end() ? own->second : modes_.all;
}

void Admission::SetMode(const std::string& table, std::optional<Throttling> mode) {
  const MutexLock spreading(spreading_);
  {
    const MutexLock lock(mutex_);
    if (mode) {
      modes_.tables[table] = *mode;
    } else {
      modes_.tables.erase(table);
    }
  }
  Spread();
}

void Admission::SetModeOfAll(Throttling mode) {
  const MutexLock spreading(spreading_);
  {
    const MutexLock lock(mutex_);
    modes_.all = mode;
  }
  Spread();
}

void Admission::Spread() {
  for (const Resource& resource : Resources())
    resource.meter->SetMode(ModeOf(resource.table->descriptor.name));
}

void Admission::Append(const table::TablePtr& table, std::vector<Resource>* resources) {
  if (table == nullptr || table->meters.table == nullptr) return;
  resources->push_back({table, nullptr, table->meters.table});
  for (size_t i = 0; i < table->meters.indexes.size(); ++i) {
    if (table->meters.indexes[i] == nullptr) continue;
    resources->push_back({table, &table->descriptor.indexes[i], table->meters.indexes[i]});
  }
}

std::vector<Admission::Resource> Admission::Resources() const {
  std::vector<Resource> resources;
  for (const table::TablePtr& table : store_.List()) Append(table, &resources);
  return resources;
}

std::vector<Admission::Resource> Admission::ResourcesOf(std::string_view table) const {
  std::vector<Resource> resources;
  Append(store_.Find(table), &resources);
  return resources;
}

Admission::Counts Admission::CountsOf(const Meter& meter, int64_t now_micros) {
  Counts counts;
  counts.at_micros = now_micros;
  counts.consumed = meter.resource().consumed();
  counts.let_pass = meter.let_pass();
  for (size_t l = 0; l < throughput::kLimits; ++l) {
    const auto limit = static_cast<throughput::Limit>(l);
    counts.refused[l] = meter.resource().refused(limit);
    for (size_t a = 0; a < throughput::kAccesses; ++a)
      counts.refused_requests[a][l] = meter.refusals(static_cast<Access>(a), limit);
  }
  return counts;
}

void Admission::Report(const Resource& resource, int64_t now_micros, Known* known) {
  const Counts now = CountsOf(*resource.meter, now_micros);
  Counts& last = known->counts;
  const auto since = [](const Rates& later, const Rates& earlier) {
    return Rates{later.read - earlier.read, later.write - earlier.write};
  };
  Usage usage{resource,
              last.at_micros,
              now_micros,
              since(now.consumed, last.consumed),
              since(now.let_pass, last.let_pass),
              {},
              {}};
  bool used = usage.consumed != Rates() || usage.let_pass != Rates();
  for (size_t l = 0; l < throughput::kLimits; ++l) {
    usage.refused[l] = since(now.refused[l], last.refused[l]);
    used |= usage.refused[l] != Rates();
    for (size_t a = 0; a < throughput::kAccesses; ++a)
      usage.refused_requests[a][l] = now.refused_requests[a][l] - last.refused_requests[a][l];
  }
  last = now;
  if (!used) return;
  known->used_at = advances_;
  known->used =
      usage.consumed.read + usage.consumed.write + usage.let_pass.read + usage.let_pass.write;
  for (const Watcher& watcher : watchers_) watcher(usage);
}

// A little more than needed, so that it is not needed again at once.
void Admission::ForgetKeys(const std::vector<Resource>& resources) {
  size_t bytes = key_bytes_.load(std::memory_order_relaxed);
  if (bytes <= most_key_bytes_) return;
  const size_t enough = most_key_bytes_ - most_key_bytes_ / 16;
  std::vector<std::pair<Known*, Meter*>> order;
  for (const Resource& resource : resources) {
    Known& known = known_.find(resource.meter.get())->second;
    if (known.key_bytes > 0) order.emplace_back(&known, resource.meter.get());
  }
  std::stable_sort(order.begin(), order.end(), [](const auto& a, const auto& b) {
    return a.first->used_at != b.first->used_at ? a.first->used_at < b.first->used_at
                                                : a.first->used < b.first->used;
  });
  for (const auto& [known, meter] : order) {
    if (bytes <= enough) break;
    meter->resource().ForgetKeys();
    bytes -= std::exchange(known->key_bytes, 0);
  }
  key_bytes_.store(bytes, std::memory_order_relaxed);
}

void Admission::Advance() {
  const MutexLock advancing(advancing_);
  const std::vector<Resource> resources = Resources();
  const int64_t now = clock_.NowMicros();
  // Keys change without a use where a window ends or nothing is counted: now and then all are
  // looked at.
  constexpr uint64_t kEvery = 8;
  ++advances_;
  std::unordered_map<const Meter*, Known> alive;
  size_t key_bytes = 0;
  uint64_t place = 0;
  for (const Resource& resource : resources) {
    throughput::Resource& model = resource.meter->resource();
    const auto [at, is_new] = known_.try_emplace(resource.meter.get());
    Known& known = at->second;
    if (is_new) known.counts.at_micros = FirstSeen(resource, now);
    known.resource = resource;
    // Report before Advance: Advance forgets partitions that were split since the last report.
    Report(resource, now, &known);
    resource.meter->RecordSplits(model.Advance(now));
    TellRefusals(resource, false);
    if (known.used_at == advances_ || ++place % kEvery == advances_ % kEvery)
      known.key_bytes = model.KeyBytes();
    key_bytes += known.key_bytes;
    alive.insert(known_.extract(at));
  }
  // The rest are tables and indexes that are gone: their refusals are still told.
  for (const auto& [meter, known] : known_) TellRefusals(known.resource, true);
  known_ = std::move(alive);
  key_bytes_.store(key_bytes, std::memory_order_relaxed);
  ForgetKeys(resources);
  // What is split here is stored when this process decides, or it is there already.
  if (decides()) StoreSplits(resources);
}

// On the request path nothing is logged: while its second lasts, a refusal knows little of what was
// asked for.
void Admission::TellRefusals(const Resource& resource, bool at_end) {
  Meter& meter = *resource.meter;
  const throughput::Resource& model = meter.resource();
  const Meter::LogTime at{clock_.NowMicros(), clock_.TicksMicros()};
  for (const Access access : {Access::kRead, Access::kWrite}) {
    for (size_t l = 0; l < throughput::kLimits; ++l) {
      const auto limit = static_cast<throughput::Limit>(l);
      // At the end a young line does not keep another one back.
      if (at_end ? meter.refusals(access, limit) == 0 : !meter.HasUnlogged(access, limit, at)) {
        continue;
      }
      std::optional<throughput::Explanation> why = model.Worst(at.now_micros, access, limit);
      const int64_t count = meter.TakeUnlogged(access, limit, at, !(why && why->so_far), at_end);
      if (count == 0) continue;
      if (!why) {
        why = model.Explain(at.now_micros, {false, access, limit,
                                            model.MostRefusedPartition(access, limit), &model, 0});
      }
      LogRefusals(*resource.table, meter, *why, count);
      for (const RefusalWatcher& watcher : refusal_watchers_) {
        watcher({resource, access, limit, *why, at.now_micros});
      }
    }
  }
}

void Admission::TellAllRefusals() {
  const MutexLock advancing(advancing_);
  for (const Resource& resource : Resources()) TellRefusals(resource, true);
  for (const auto& [meter, known] : known_) TellRefusals(known.resource, true);
}

void Admission::StoreSplits(const std::vector<Resource>& resources) {
  std::map<std::string, UnstoredSplits> unstored;
  std::vector<Meter*> meters;
  for (const Resource& resource : resources) {
    if (!resource.meter->TakeSplitsPending()) continue;
    const table::TableDescriptor& table = resource.table->descriptor;
    std::vector<uint64_t> missing =
        Missing(resource.meter->resource().HashMap(),
                resource.index != nullptr ? resource.index->partitions : table.partitions);
    if (missing.empty()) continue;
    UnstoredSplits& of_table = unstored[table.name];
    (resource.index != nullptr ? of_table.indexes[resource.index->tablet_id] : of_table.table) =
        std::move(missing);
    meters.push_back(resource.meter.get());
  }
  if (unstored.empty()) return;
  const auto outcomes = std::make_shared<table::Outcomes>(unstored.size());
  for (auto& [name, splits] : unstored) {
    store_.Alter(
        name,
        [splits = std::move(splits)](table::TableDescriptor* descriptor) {
          return AddSplits(splits, descriptor);
        },
        [outcomes](Result<table::TablePtr> altered) {
          // The table may have been deleted, or another process may have split it at this bound.
          const bool settled =
              altered.ok() || altered.error().code() == ErrorCode::kResourceNotFound;
          outcomes->Add(settled ? OkStatus() : Status(altered.error()));
        });
  }
  if (const Status stored = outcomes->Wait(); !stored.ok()) {
    for (Meter* meter : meters) meter->SetSplitsPending();
    LogWarn("splits will be stored later", {{"error", stored.error().message()}});
  }
}

}  // namespace stator::ops
