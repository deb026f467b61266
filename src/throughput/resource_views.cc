// What a resource tells of itself.
#include <algorithm>
#include <utility>

#include "throughput/resource.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

Rates UnitsOf(const Halves& halves) { return {HalvesToUnits(halves[0]), HalvesToUnits(halves[1])}; }

}  // namespace

std::string_view SplitReasonText(SplitReason reason) {
  switch (reason) {
    case SplitReason::kThroughput: return "throughput";
    case SplitReason::kSize: return "size";
    case SplitReason::kHeat: return "heat";
    case SplitReason::kOnDemandGrowth: return "on-demand growth";
    case SplitReason::kAsked: return "asked for";
  }
  return "";
}

Rates Resource::provisioned() const {
  const MutexLock lock(mutex_);
  return definition_.billing == Billing::kProvisioned ? definition_.provisioned : Rates{};
}

Rates Resource::warm() const {
  const MutexLock lock(mutex_);
  if (definition_.billing == Billing::kOnDemand) return ready_;
  return {std::max(ready_.read, peak_provisioned_.read),
          std::max(ready_.write, peak_provisioned_.write)};
}

int64_t Resource::StoredBytes() const {
  int64_t bytes = 0;
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i)
    bytes += layout.At(i).bytes.load(std::memory_order_relaxed);
  return bytes;
}

size_t Resource::partition_count() const { return Pin(layout_)->size(); }

uint64_t Resource::PartitionOf(const KeyPoint& point) const {
  const Pin layout(layout_);
  return layout->At(layout->Find(point)).id;
}

PartitionView Resource::ViewOf(const Partition& p, KeyRange range) const {
  PartitionView v;
  v.id = p.id;
  v.parent = p.parent;
  v.range = std::move(range);
  v.weight = p.weight;
  if (definition_.billing == Billing::kProvisioned)
    v.share = {definition_.provisioned.read * p.weight, definition_.provisioned.write * p.weight};
  v.bytes = p.bytes.load(std::memory_order_relaxed);
  v.items = p.items.load(std::memory_order_relaxed);
  v.consumed = {HalvesToUnits(p.side[0].consumed.load(std::memory_order_relaxed)),
                HalvesToUnits(p.side[1].consumed.load(std::memory_order_relaxed))};
  for (size_t l = 0; l < kLimits; ++l) {
    v.refused.read += HalvesToUnits(p.refused[0][l].load(std::memory_order_relaxed));
    v.refused.write += HalvesToUnits(p.refused[1][l].load(std::memory_order_relaxed));
  }
  v.last_window = {p.last_rate[0], p.last_rate[1]};
  v.heat = p.heat;
  v.obstacle = p.obstacle;
  return v;
}

std::vector<PartitionView> Resource::Partitions(std::vector<PartitionView>* split) const {
  const MutexLock lock(mutex_);
  const Layout& layout = layout_.Current();
  std::vector<PartitionView> views;
  for (size_t i = 0; i < layout.size(); ++i)
    views.push_back(ViewOf(layout.At(i), layout.RangeOf(i)));
  if (split == nullptr) return views;
  for (const SplitPartition& s : split_) split->push_back(ViewOf(*s.partition, s.range));
  return views;
}

std::vector<PartitionView> Resource::PartitionDetails(int64_t now_micros, size_t hottest) const {
  std::vector<PartitionView> views = Partitions();
  const MutexLock lock(mutex_);
  const Layout& layout = layout_.Current();
  size_t i = 0;
  for (PartitionView& view : views) {
    // Find the partition again by its id. Splits that happened meanwhile can only have inserted
    // partitions, so it is at `i` or behind.
    while (i < layout.size() && layout.At(i).id != view.id) ++i;
    if (i == layout.size()) {
      i = 0;
      continue;
    }
    Partition& p = layout.At(i);
    view.tokens = {p.side[0].maximum.Tokens(Nanos(now_micros)),
                   p.side[1].maximum.Tokens(Nanos(now_micros))};
    const ObservationLock look(p);
    HeavyHitters seen = p.seen().last_collections;
    seen.Merge(p.seen().collections);
    view.hottest = Readable(seen.Top(hottest));
    view.observed = seen.total();
  }
  return views;
}

Halves Resource::ConsumedHalves() const {
  return Sum(past_.consumed, [](const Partition& p, size_t access) {
    return p.side[access].consumed.load(std::memory_order_relaxed);
  });
}

Halves Resource::RefusedHalves(Limit limit) const {
  const size_t l = static_cast<size_t>(limit);
  return Sum({past_.refused[0][l], past_.refused[1][l]}, [l](const Partition& p, size_t access) {
    return p.refused[access][l].load(std::memory_order_relaxed);
  });
}

Rates Resource::consumed() const {
  const MutexLock lock(mutex_);
  return UnitsOf(ConsumedHalves());
}

Rates Resource::refused(Limit limit) const {
  const MutexLock lock(mutex_);
  return UnitsOf(RefusedHalves(limit));
}

double Resource::Tokens(int64_t now_micros, Access access) const {
  return capacity_[static_cast<size_t>(access)].Tokens(Nanos(now_micros));
}

// Returns the sketch of the resource's whole life: `past`, with what its present partitions see.
HeavyHitters Resource::Lifetime(const HeavyHitters& past,
                                HeavyHitters KeyObservation::*seen) const {
  HeavyHitters sum = past;
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i) {
    const ObservationLock look(layout.At(i));
    sum.Merge(layout.At(i).seen().*seen);
  }
  return sum;
}

std::vector<HeavyKey> Resource::Hottest(HeavyHitters::Of of, size_t limit) const {
  const MutexLock lock(mutex_);
  const HeavyHitters sum = of == HeavyHitters::Of::kCollections
                               ? Lifetime(lifetime_collections_, &KeyObservation::collections)
                               : Lifetime(lifetime_items_, &KeyObservation::items);
  return Readable(sum.Top(limit));
}

std::vector<HeavyKey> Resource::MostRefused(HeavyHitters::Of of, size_t limit) const {
  const MutexLock lock(mutex_);
  const HeavyHitters sum = of == HeavyHitters::Of::kCollections
                               ? Lifetime(lifetime_refused_, &KeyObservation::refused)
                               : Lifetime(lifetime_refused_items_, &KeyObservation::refused_items);
  return Readable(sum.Top(limit));
}

uint64_t Resource::MostRefusedPartition(Access access, Limit limit) const {
  const MutexLock lock(mutex_);
  const size_t a = static_cast<size_t>(access);
  const Layout& layout = layout_.Current();
  uint64_t id = 0;
  std::pair<int64_t, double> most{-1, 0};
  for (size_t i = 0; i < layout.size(); ++i) {
    const Partition& p = layout.At(i);
    const std::pair<int64_t, double> its{
        p.refused[a][static_cast<size_t>(limit)].load(std::memory_order_relaxed),
        p.last_rate[a] + p.last_refused[a]};
    if (its <= most) continue;
    most = its;
    id = p.id;
  }
  return id;
}

std::vector<HeavyKey> Resource::Readable(std::vector<HeavyKey> keys) const {
  for (HeavyKey& key : keys) {
    if (definition_.readable_partition)
      key.partition = definition_.readable_partition(key.partition);
    if (definition_.readable_sort) key.sort = definition_.readable_sort(key.sort);
  }
  return keys;
}

size_t Resource::KeyBytes() const {
  const MutexLock lock(mutex_);
  size_t bytes = lifetime_collections_.Bytes() + lifetime_items_.Bytes() +
                 lifetime_refused_.Bytes() + lifetime_refused_items_.Bytes();
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i) {
    Partition& p = layout.At(i);
    const ObservationLock look(p);
    if (p.observation != nullptr) bytes += p.observation->Bytes();
  }
  return bytes;
}

double Resource::ObservedWeight() const {
  const MutexLock lock(mutex_);
  double sum = lifetime_collections_.total();
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i) {
    const ObservationLock look(layout.At(i));
    sum += layout.At(i).seen().collections.total();
  }
  return sum;
}

PartitionMap Resource::HashMap() const {
  const Pin layout(layout_);
  std::vector<uint64_t> starts;
  for (size_t i = 0; i < layout->size(); ++i) {
    const KeyRange range = layout->RangeOf(i);
    if (range.from.sort.empty()) starts.push_back(range.from.hash);
  }
  return PartitionMap::FromStarts(std::move(starts));
}

}  // namespace stator::throughput
