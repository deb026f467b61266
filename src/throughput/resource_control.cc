// What changes slowly: capacity, partitions, windows of observation. One caller at a time, beside
// any number of requests.
#include <algorithm>
#include <cmath>
#include <utility>

#include "throughput/resource.h"
#include "throughput/units.h"

namespace stator::throughput {
namespace {

constexpr int64_t kMicros = 1'000'000;
// A rate of 0 would be no limit.
constexpr double kLeastRate = 0.001;

int64_t MicrosOf(double seconds) { return static_cast<int64_t>(seconds * kMicros); }

Rates Larger(const Rates& a, const Rates& b) {
  return {std::max(a.read, b.read), std::max(a.write, b.write)};
}

int64_t Whole(double units) { return static_cast<int64_t>(std::ceil(std::max(0.0, units))); }

int64_t SumOf(const std::array<std::atomic<int64_t>, kLimits>& counters) {
  int64_t sum = 0;
  for (const auto& counter : counters) sum += counter.load(std::memory_order_relaxed);
  return sum;
}

// Equal or the given ranges, with weights by their part of the hash space.
std::vector<KeyBound> InitialBounds(const ModelSettings& s, const ResourceDefinition& d) {
  PartitionMap map;
  if (d.partitions) {
    map = *d.partitions;
  } else {
    int64_t count = d.billing == Billing::kOnDemand
                        ? InitialPartitionsOnDemand(s, Whole(s.on_demand_read_units),
                                                    Whole(s.on_demand_write_units))
                        : InitialPartitionsProvisioned(s, Whole(d.provisioned.read),
                                                       Whole(d.provisioned.write));
    if (d.warm) {
      count =
          std::max(count, InitialPartitionsOnDemand(s, Whole(d.warm->read), Whole(d.warm->write)));
    }
    count = std::max(count, PartitionsForBytes(d.bytes, Whole(s.partition_bytes)));
    map = PartitionMap::Even(std::clamp<int64_t>(count, 1, s.most_partitions));
  }
  std::vector<KeyBound> bounds;
  for (const uint64_t start : map.starts()) bounds.push_back({start, {}});
  return bounds;
}

}  // namespace

Resource::Resource(const ModelSettings& settings, ResourceDefinition definition, int64_t now_micros)
    : settings_(settings),
      eventual_scale_(settings.partition_read_units / settings.eventual_partition_read_units),
      write_weight_(settings.partition_read_units / settings.partition_write_units),
      last_keys_(definition.grant != nullptr ? kLastKeys : 0),
      origin_micros_(now_micros),
      billing_(definition.billing),
      layout_(nullptr),
      definition_(std::move(definition)),
      window_start_micros_(now_micros),
      advanced_micros_(now_micros),
      second_start_micros_(now_micros),
      lifetime_collections_(HeavyHitters::Of::kCollections, settings.lifetime_hot_keys,
                            settings.key_label_bytes),
      lifetime_items_(HeavyHitters::Of::kItems, settings.lifetime_hot_keys,
                      settings.key_label_bytes),
      lifetime_refused_(HeavyHitters::Of::kCollections, settings.lifetime_hot_keys,
                        settings.key_label_bytes),
      lifetime_refused_items_(HeavyHitters::Of::kItems, settings.lifetime_hot_keys,
                              settings.key_label_bytes) {
  const MutexLock lock(mutex_);
  std::vector<KeyBound> bounds = InitialBounds(settings_, definition_);
  std::vector<std::shared_ptr<Partition>> partitions;
  // Exact quotients where the ranges are equal but for rounding.
  const bool even =
      !definition_.partitions ||
      *definition_.partitions == PartitionMap::Even(static_cast<int64_t>(bounds.size()));
  double share_before = 0;
  int64_t bytes_left = definition_.bytes;
  int64_t items_left = definition_.items;
  for (size_t i = 0; i < bounds.size(); ++i) {
    const KeyRange range{bounds[i], i + 1 < bounds.size() ? bounds[i + 1] : KeyBound{},
                         i + 1 == bounds.size()};
    const double share = even ? 1.0 / static_cast<double>(bounds.size()) : range.HashShare();
    // Each range gets its part of the remainder, so that rounding loses nothing.
    const double part =
        i + 1 == bounds.size() ? 1 : std::min(1.0, share / std::max(share, 1 - share_before));
    const int64_t bytes = std::llround(part * static_cast<double>(bytes_left));
    const int64_t items = std::llround(part * static_cast<double>(items_left));
    share_before += share;
    bytes_left -= bytes;
    items_left -= items;
    partitions.push_back(std::make_shared<Partition>(
        next_partition_++, 0, share, static_cast<double>(bytes), static_cast<double>(items)));
    partitions.back()->bytes.store(bytes, std::memory_order_relaxed);
    partitions.back()->items.store(items, std::memory_order_relaxed);
    for (size_t a = 0; a < kAccesses; ++a) {
      partitions.back()->side[a].maximum.Configure(0, MaximumOf(a, range),
                                                   settings_.partition_burst_seconds,
                                                   settings_.partition_burst_seconds);
    }
  }
  if (definition_.warm) ready_ = *definition_.warm;
  if (definition_.billing == Billing::kOnDemand) {
    ready_ = Larger(ready_, {settings_.on_demand_read_units, settings_.on_demand_write_units});
  } else {
    peak_provisioned_ = definition_.provisioned;
  }
  PublishLayout(std::make_unique<Layout>(std::move(bounds), std::move(partitions)));
  SetBuckets(0);
}

Resource::~Resource() = default;

void Resource::SetBuckets(int64_t now) {
  const bool provisioned = definition_.billing == Billing::kProvisioned;
  const double initial = settings_.initial_burst_seconds;
  const Parts whole = shared() ? definition_.grant->Whole(definition_.tablet) : Parts{1, 1};
  for (size_t a = 0; a < kAccesses; ++a) {
    const Access access = static_cast<Access>(a);
    const auto granted = [&](double units) { return std::max(units * whole[a], kLeastRate); };
    if (provisioned) {
      // The service's minimum is 1.
      capacity_[a].SetRate(now, granted(definition_.provisioned.Of(access)),
                           settings_.burst_seconds, initial);
      quota_[a].SetRate(now, 0, 0, 0);
    } else {
      const std::optional<double>& most =
          access == Access::kRead ? definition_.max_read : definition_.max_write;
      capacity_[a].SetRate(now, most ? granted(*most) : 0, settings_.maximum_burst_seconds,
                           initial);
      const double quota = access == Access::kRead ? settings_.table_quota_read_units
                                                   : settings_.table_quota_write_units;
      quota_[a].SetRate(now, quota > 0 ? granted(quota) : 0, settings_.maximum_burst_seconds,
                        initial);
    }
    const Layout& layout = layout_.Current();
    for (size_t i = 0; i < layout.size(); ++i) {
      Partition& partition = layout.At(i);
      double part = 1;
      if (shared()) {
        const KeyRange range = layout.RangeOf(i);
        part = definition_.grant->Least(definition_.tablet, range)[a];
        partition.side[a].maximum.SetRate(now, MaximumOf(a, range),
                                          settings_.partition_burst_seconds, 0);
      }
      const double rate =
          provisioned && settings_.adaptive != Adaptive::kInstant
              ? std::max(definition_.provisioned.Of(access) * partition.weight * part, kLeastRate)
              : 0;
      partition.side[a].share.SetRate(now, rate, settings_.burst_seconds, initial);
    }
  }
}

double Resource::MaximumOf(size_t access, const KeyRange& range) const {
  const double most =
      access == 0 ? settings_.partition_read_units : settings_.partition_write_units;
  if (!shared() || most <= 0) return most;
  return std::max(most * definition_.grant->Least(definition_.tablet, range)[access], kLeastRate);
}

std::unique_ptr<Layout> Resource::CopyLayout() const {
  return std::make_unique<Layout>(layout_.Current());
}

void Resource::PublishLayout(std::unique_ptr<Layout> layout) {
  if (shared()) Reweigh(*layout);
  layout_.Publish(std::move(layout));
}

std::optional<KeyBound> Resource::Middle(const Layout& layout, size_t index) const {
  const KeyRange range = layout.RangeOf(index);
  const uint64_t end = range.to_end ? UINT64_MAX : range.to.hash;
  const KeyBound middle{range.from.hash + (end - range.from.hash) / 2 + (range.to_end ? 1 : 0), {}};
  if (middle > range.from && range.Contains({middle.hash, middle.sort, {}})) return middle;
  Partition& partition = layout.At(index);
  const ObservationLock look(partition);
  const SplitRules rules{.min_side = settings_.heat_min_side,
                         .min_samples = settings_.heat_min_samples,
                         .inside_collections = !definition_.has_local_indexes,
                         .heat_may_move = true};
  return partition.seen().data.ChooseBound(range, rules).bound;
}

SplitEvent Resource::SplitAt(Layout* layout, size_t index, const KeyBound& bound,
                             int64_t now_micros, SplitReason reason) {
  const std::shared_ptr<Partition> keep = layout->Share(index);  // `layout` drops it below
  Partition& parent = *keep;
  const KeyRange range = layout->RangeOf(index);
  const KeyRange left_range{range.from, bound, false};
  const KeyRange right_range{bound, range.to, range.to_end};
  const ObservationLock look(parent);
  const double width = range.HashShare();
  const double even_share = width > 0 ? left_range.HashShare() / width : 0.5;
  const double added_share = parent.seen().data.ShareBefore(bound);
  // Returns the left child's part of the parent's amount `all`. `even` of it was there at the
  // start, evenly spread; the rest was added.
  const auto left_of = [&](int64_t all, double even) {
    const double left = even * even_share + (static_cast<double>(all) - even) * added_share;
    return std::clamp<int64_t>(std::llround(left), std::min<int64_t>(0, all),
                               std::max<int64_t>(0, all));
  };
  const int64_t bytes = parent.bytes.load(std::memory_order_relaxed);
  const int64_t items = parent.items.load(std::memory_order_relaxed);
  const int64_t bytes_left = left_of(bytes, parent.even_bytes);
  const int64_t items_left = left_of(items, parent.even_items);

  const auto child = [&](const KeyRange& part, double even, int64_t its_bytes,
                         int64_t its_items) REQUIRES(mutex_) {
    auto partition =
        std::make_shared<Partition>(next_partition_++, parent.id, parent.weight / 2,
                                    parent.even_bytes * even, parent.even_items * even);
    partition->bytes.store(its_bytes, std::memory_order_relaxed);
    partition->items.store(its_items, std::memory_order_relaxed);
    if (parent.observation != nullptr)
      Observed(*partition).data = parent.observation->data.Within(part);
    partition->boosted.store(parent.boosted.load(std::memory_order_relaxed),
                             std::memory_order_relaxed);
    for (size_t a = 0; a < kAccesses; ++a) {
      Partition::Side& side = partition->side[a];
      side.maximum.Configure(0, MaximumOf(a, part), settings_.partition_burst_seconds, 0);
      side.maximum.CopyTime(parent.side[a].maximum);
      // Half the share and, in seconds of it, the same unused time: half of the tokens.
      side.share.Configure(0, parent.side[a].share.rate() / 2, settings_.burst_seconds, 0);
      side.share.CopyTime(parent.side[a].share);
      partition->last_rate[a] = parent.last_rate[a] / 2;
    }
    return partition;
  };
  auto left = child(left_range, even_share, bytes_left, items_left);
  auto right = child(right_range, 1 - even_share, bytes - bytes_left, items - items_left);

  // Until the new layout is published, and a little longer, it is charged.
  split_.push_back({keep, range, bytes, items});
  lifetime_collections_.Merge(parent.seen().collections);
  lifetime_items_.Merge(parent.seen().items);
  lifetime_refused_.Merge(parent.seen().refused);
  lifetime_refused_items_.Merge(parent.seen().refused_items);

  SplitEvent event{now_micros, reason, parent.id, left->id, right->id, bound};
  layout->Split(index, bound, std::move(left), std::move(right));
  return event;
}

void Resource::DoubleAll(int64_t now_micros, SplitReason reason, std::vector<SplitEvent>* events) {
  std::unique_ptr<Layout> layout = CopyLayout();
  for (size_t i = layout->size(); i-- > 0;) {
    if (static_cast<int64_t>(layout->size()) >= settings_.most_partitions) break;
    if (const std::optional<KeyBound> middle = Middle(*layout, i)) {
      events->push_back(SplitAt(layout.get(), i, *middle, now_micros, reason));
    }
  }
  PublishLayout(std::move(layout));
}

void Resource::DoubleUntil(int64_t now_micros, int64_t count, SplitReason reason,
                           std::vector<SplitEvent>* events) {
  if (!decides_) return;
  count = std::min(count, settings_.most_partitions);
  for (size_t before = 0; static_cast<int64_t>(layout_.Current().size()) < count &&
                          layout_.Current().size() != before;) {
    before = layout_.Current().size();
    DoubleAll(now_micros, reason, events);
  }
}

void Resource::DoubleWhileShareTooLarge(int64_t now_micros, std::vector<SplitEvent>* events) {
  const auto too_large = [this] {
    const Layout& layout = layout_.Current();
    for (size_t i = 0; i < layout.size(); ++i) {
      const double weight = layout.At(i).weight;
      const double load = definition_.provisioned.read * weight / settings_.partition_read_units +
                          definition_.provisioned.write * weight / settings_.partition_write_units;
      if (load > 1 + 1e-9) return true;
    }
    return false;
  };
  for (size_t before = 0; too_large() && layout_.Current().size() != before;) {
    before = layout_.Current().size();
    DoubleAll(now_micros, SplitReason::kThroughput, events);
  }
}

std::vector<SplitEvent> Resource::SetProvisioned(int64_t now_micros, Rates units) {
  const MutexLock lock(mutex_);
  std::vector<SplitEvent> events;
  CloseSecond(now_micros, true);
  ++capacity_epoch_;
  definition_.provisioned = units;
  if (definition_.billing != Billing::kProvisioned) return events;
  peak_provisioned_ = Larger(peak_provisioned_, units);
  if (decides_) DoubleWhileShareTooLarge(now_micros, &events);
  SetBuckets(Nanos(now_micros));
  return events;
}

std::vector<SplitEvent> Resource::SwitchToOnDemand(int64_t now_micros) {
  const MutexLock lock(mutex_);
  std::vector<SplitEvent> events;
  CloseSecond(now_micros, true);
  ++capacity_epoch_;
  definition_.billing = Billing::kOnDemand;
  billing_.store(Billing::kOnDemand, std::memory_order_relaxed);
  ready_ = Larger(Larger(ready_, peak_provisioned_),
                  {settings_.on_demand_read_units, settings_.on_demand_write_units});
  DoubleUntil(now_micros,
              InitialPartitionsOnDemand(settings_, Whole(ready_.read), Whole(ready_.write)),
              SplitReason::kThroughput, &events);
  SetBuckets(Nanos(now_micros));
  return events;
}

std::vector<SplitEvent> Resource::SwitchToProvisioned(int64_t now_micros, Rates units) {
  {
    const MutexLock lock(mutex_);
    definition_.billing = Billing::kProvisioned;
    billing_.store(Billing::kProvisioned, std::memory_order_relaxed);
    growths_.clear();
  }
  return SetProvisioned(now_micros, units);
}

void Resource::SetMaximum(int64_t now_micros, std::optional<double> read,
                          std::optional<double> write) {
  const MutexLock lock(mutex_);
  CloseSecond(now_micros, true);
  ++capacity_epoch_;
  definition_.max_read = read;
  definition_.max_write = write;
  if (definition_.billing == Billing::kOnDemand) SetBuckets(Nanos(now_micros));
}

Result<std::vector<SplitEvent>> Resource::SetWarm(int64_t now_micros, Rates units) {
  const Rates now_ready = warm();
  if (units.read < now_ready.read || units.write < now_ready.write) {
    return ValidationError("warm throughput can be raised, not lowered");
  }
  const MutexLock lock(mutex_);
  std::vector<SplitEvent> events;
  ready_ = Larger(ready_, units);
  DoubleUntil(now_micros,
              InitialPartitionsOnDemand(settings_, Whole(ready_.read), Whole(ready_.write)),
              SplitReason::kThroughput, &events);
  if (shared() && !events.empty()) SetBuckets(Nanos(now_micros));
  return events;
}

std::optional<SplitEvent> Resource::Split(int64_t now_micros, const KeyBound& bound) {
  const MutexLock lock(mutex_);
  std::unique_ptr<Layout> layout = CopyLayout();
  const size_t index = layout->Find({bound.hash, bound.sort, {}});
  if (layout->RangeOf(index).from == bound) return std::nullopt;
  SplitEvent event = SplitAt(layout.get(), index, bound, now_micros, SplitReason::kAsked);
  PublishLayout(std::move(layout));
  if (shared()) SetBuckets(Nanos(now_micros));
  return event;
}

void Resource::SetEntryBytes(int64_t bytes) {
  const MutexLock lock(mutex_);
  definition_.entry_bytes = bytes;
}

void Resource::SetFeatures(bool has_local_indexes, bool has_stream) {
  const MutexLock lock(mutex_);
  definition_.has_local_indexes = has_local_indexes;
  definition_.has_stream = has_stream;
}

void Resource::ForgetKeys() {
  const MutexLock lock(mutex_);
  const auto none = [this](HeavyHitters::Of of) {
    return HeavyHitters(of, settings_.lifetime_hot_keys, settings_.key_label_bytes);
  };
  lifetime_collections_ = none(HeavyHitters::Of::kCollections);
  lifetime_items_ = none(HeavyHitters::Of::kItems);
  lifetime_refused_ = none(HeavyHitters::Of::kCollections);
  lifetime_refused_items_ = none(HeavyHitters::Of::kItems);
  const Layout& layout = layout_.Current();
  for (size_t i = 0; i < layout.size(); ++i) {
    Partition& p = layout.At(i);
    std::unique_ptr<KeyObservation> forgotten;
    const ObservationLock look(p);
    forgotten = std::move(p.observation);
    // The next key is looked at, and with its own units only, however seldom they were looked at.
    for (size_t a = 0; a < kAccesses; ++a) {
      p.looked_at[a] = p.side[a].consumed.load(std::memory_order_relaxed);
      p.side[a].next_look.store(0, std::memory_order_relaxed);
    }
  }
}

// A clock that was set back: all that is kept in its time moves with it.
void Resource::FollowClock(int64_t now_micros) {
  const int64_t back = advanced_micros_ - now_micros;
  advanced_micros_ = now_micros;
  if (back <= 0) return;
  origin_micros_.fetch_sub(back, std::memory_order_relaxed);
  window_start_micros_ -= back;
  second_start_micros_ -= back;
  for (auto& [limit, moment] : moments_) moment.what.at_micros -= back;
  for (Growth& growth : growths_) growth.due_micros -= back;
}

// Adds up the counts of split partitions that no request can reach any more.
void Resource::CloseSplit() {
  layout_.Reclaim();
  std::erase_if(split_, [this](const SplitPartition& split) REQUIRES(mutex_) {
    const std::shared_ptr<Partition>& p = split.partition;
    if (p.use_count() != 1) return false;
    for (size_t a = 0; a < kAccesses; ++a) {
      past_.consumed[a] += p->side[a].consumed.load(std::memory_order_relaxed);
      for (size_t l = 0; l < kLimits; ++l) {
        past_.refused[a][l] += p->refused[a][l].load(std::memory_order_relaxed);
      }
    }
    // Bytes and items that were written to this partition after its split are added to its first
    // child, because their keys are not known any more.
    const KeyBound& first = split.range.from;
    const Layout& layout = layout_.Current();
    Partition& heir = layout.At(layout.Find({first.hash, first.sort, {}}));
    heir.bytes.fetch_add(p->bytes.load(std::memory_order_relaxed) - split.bytes,
                         std::memory_order_relaxed);
    heir.items.fetch_add(p->items.load(std::memory_order_relaxed) - split.items,
                         std::memory_order_relaxed);
    return true;
  });
}

std::vector<SplitEvent> Resource::Advance(int64_t now_micros) {
  const MutexLock lock(mutex_);
  std::vector<SplitEvent> events;
  FollowClock(now_micros);
  CloseSecond(now_micros);
  CloseSplit();
  if (shared() && decides_) {
    // What another process had to decide, and did not come to.
    if (definition_.billing == Billing::kProvisioned) {
      DoubleWhileShareTooLarge(now_micros, &events);
    } else {
      DoubleUntil(now_micros,
                  InitialPartitionsOnDemand(settings_, Whole(ready_.read), Whole(ready_.write)),
                  SplitReason::kThroughput, &events);
    }
  }
  if (decides_) SplitForSize(now_micros, &events);
  const double elapsed = static_cast<double>(now_micros - window_start_micros_) / kMicros;
  if (elapsed >= settings_.window_seconds) CloseWindow(now_micros, elapsed, &events);
  // Growth that has become due.
  while (!growths_.empty() && growths_.front().due_micros <= now_micros) {
    ready_ = Larger(ready_, growths_.front().ready);
    growths_.erase(growths_.begin());
    DoubleUntil(now_micros,
                InitialPartitionsOnDemand(settings_, Whole(ready_.read), Whole(ready_.write)),
                SplitReason::kOnDemandGrowth, &events);
  }
  if (shared() && !events.empty()) SetBuckets(Nanos(now_micros));
  return events;
}

void Resource::CloseWindow(int64_t now_micros, double seconds, std::vector<SplitEvent>* events) {
  window_start_micros_ = now_micros;
  Rates used;
  const Layout& before = layout_.Current();
  std::unique_ptr<Layout> layout;  // a copy, once something is split
  for (size_t i = before.size();
       i-- > 0;) {  // from the end, so that splits leave the indices before them as they are
    Partition& p = before.At(i);
    p.heat = 0;
    double all_heat = 0;  // of all processes
    bool share_refused = false;
    for (size_t a = 0; a < kAccesses; ++a) {
      const int64_t consumed = p.side[a].consumed.load(std::memory_order_relaxed);
      const int64_t refused = SumOf(p.refused[a]);
      p.last_rate[a] =
          HalvesToUnits(consumed - std::exchange(p.consumed_at_window[a], consumed)) / seconds;
      p.last_refused[a] =
          HalvesToUnits(refused - std::exchange(p.refused_at_window[a], refused)) / seconds;
      const double most = a == 0 ? settings_.partition_read_units : settings_.partition_write_units;
      p.heat = std::max(p.heat, p.last_rate[a] / most);
      const int64_t foreign = p.foreign[a] - std::exchange(p.foreign_at_window[a], p.foreign[a]);
      all_heat = std::max(all_heat, (p.last_rate[a] + HalvesToUnits(foreign) / seconds) / most);
      share_refused |= p.last_refused[a] > 0;
      const double halves = 2 * (p.last_rate[a] + p.last_refused[a]);
      p.side[a].look_every.store(
          std::clamp<int64_t>(static_cast<int64_t>(halves / settings_.looks_per_second), 1,
                              std::max<int64_t>(1, settings_.observe_every_halves)),
          std::memory_order_relaxed);
    }
    used.read += p.last_rate[0];
    used.write += p.last_rate[1];
    Boost(&p, seconds, share_refused);

    const bool hot = all_heat >= settings_.heat_threshold;
    p.hot_windows =
        hot ? p.hot_windows + std::max(1.0, std::floor(seconds / settings_.window_seconds)) : 0;
    const bool decide = decides_ && settings_.split_for_heat &&
                        p.hot_windows >= settings_.heat_windows &&
                        static_cast<int64_t>(before.size()) < settings_.most_partitions;
    SplitChoice choice;
    {
      const ObservationLock look(p);
      if (KeyObservation* const seen = p.observation.get(); seen != nullptr) {
        lifetime_collections_.Merge(seen->collections);
        lifetime_items_.Merge(seen->items);
        lifetime_refused_.Merge(seen->refused);
        lifetime_refused_items_.Merge(seen->refused_items);
        std::swap(seen->last_collections, seen->collections);
        seen->collections.Clear();
        seen->items.Clear();
        seen->refused.Clear();
        seen->refused_items.Clear();
        seen->strong /= 2;
        seen->eventual /= 2;
      }
      if (decide) {
        const bool isolate =
            !(definition_.has_stream && definition_.billing == Billing::kProvisioned);
        choice = p.seen().heat.ChooseBound(before.RangeOf(i),
                                           {.min_side = settings_.heat_min_side,
                                            .isolation_share = settings_.isolation_share,
                                            .min_samples = settings_.heat_min_samples,
                                            .inside_collections = !definition_.has_local_indexes,
                                            .isolate = isolate});
      }
      // Each decision (to split or not) uses only the samples since the previous one.
      if ((decide || !hot) && p.observation != nullptr) p.observation->heat.Clear();
    }
    if (!decide) continue;
    p.hot_windows = 0;
    p.obstacle = choice.obstacle;
    if (!choice.bound) continue;
    if (layout == nullptr) layout = CopyLayout();
    events->push_back(SplitAt(layout.get(), i, *choice.bound, now_micros, SplitReason::kHeat));
  }
  if (layout != nullptr) PublishLayout(std::move(layout));
  const auto foreign = [&](size_t a) REQUIRES(mutex_) {
    return HalvesToUnits(foreign_[a] - std::exchange(foreign_at_window_[a], foreign_[a])) / seconds;
  };
  used.read += foreign(0);
  used.write += foreign(1);
  if (decides_ && definition_.billing == Billing::kOnDemand) PlanGrowth(now_micros, used);
}

void Resource::Boost(Partition* p, double seconds, bool refused) {
  if (settings_.adaptive != Adaptive::kDelayed || definition_.billing != Billing::kProvisioned)
    return;
  if (p->boosted.load(std::memory_order_relaxed)) {
    const bool above = p->last_rate[0] > definition_.provisioned.read * p->weight ||
                       p->last_rate[1] > definition_.provisioned.write * p->weight;
    if (!above) p->boosted.store(false, std::memory_order_relaxed);
    return;
  }
  p->throttled_seconds = refused ? p->throttled_seconds + seconds : 0;
  if (p->throttled_seconds >= settings_.adaptive_delay_seconds)
    p->boosted.store(true, std::memory_order_relaxed);
}

void Resource::PlanGrowth(int64_t now_micros, const Rates& used) {
  if (used.read <= peak_.read && used.write <= peak_.write) return;
  peak_ = Larger(peak_, used);
  const Rates wanted{peak_.read * settings_.growth_factor, peak_.write * settings_.growth_factor};
  if (wanted.read > ready_.read || wanted.write > ready_.write) {
    growths_.push_back({now_micros + MicrosOf(settings_.growth_seconds), wanted});
  }
}

void Resource::SplitForSize(int64_t now_micros, std::vector<SplitEvent>* events) {
  std::unique_ptr<Layout> layout;
  for (size_t i = 0;; ++i) {
    const Layout& now = layout != nullptr ? *layout : layout_.Current();
    if (i >= now.size()) break;
    Partition& p = now.At(i);
    // A partition that is exactly full stays: 50 GB are five partitions, and remain five.
    if (static_cast<double>(p.bytes.load(std::memory_order_relaxed)) <= settings_.partition_bytes)
      continue;
    if (static_cast<int64_t>(now.size()) >= settings_.most_partitions) break;
    std::optional<KeyBound> bound;
    if (static_cast<double>(p.bytes.load(std::memory_order_relaxed)) >= 2 * p.even_bytes) {
      // Most of it was added since: cut where that data is.
      const ObservationLock look(p);
      bound =
          p.seen()
              .data
              .ChooseBound(now.RangeOf(i), {.min_side = settings_.heat_min_side,
                                            .min_samples = settings_.heat_min_samples,
                                            .inside_collections = !definition_.has_local_indexes,
                                            .heat_may_move = true})
              .bound;
    } else {
      bound = Middle(now, i);
    }
    // Where that data is may be known to other processes only.
    if (!bound && shared()) bound = Middle(now, i);
    if (!bound) continue;
    if (layout == nullptr) layout = CopyLayout();
    events->push_back(SplitAt(layout.get(), i, *bound, now_micros, SplitReason::kSize));
    --i;  // look at the left child too
  }
  if (layout != nullptr) PublishLayout(std::move(layout));
}

}  // namespace stator::throughput
