// What every request runs through. Splits, growth and windows: resource_control.cc; what other
// processes have to do with it: resource_shared.cc; words for people: explain.cc.
#include "throughput/resource.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "throughput/units.h"

namespace stator::throughput {
namespace {

// SplitMix64's finaliser: spreads the looks at keys over the stream, so that no rhythm of the
// requests hides a key.
uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
  z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
  return z ^ (z >> 31);
}

// A try-lock on the keys of a partition.
class Look {
 public:
  explicit Look(Partition& partition)
      : flag_(partition.observing), taken_(!flag_.test_and_set(std::memory_order_acquire)) {}
  ~Look() {
    if (taken_) flag_.clear(std::memory_order_release);
  }
  Look(const Look&) = delete;
  Look& operator=(const Look&) = delete;
  bool taken() const { return taken_; }

 private:
  std::atomic_flag& flag_;
  const bool taken_;
};

}  // namespace

int64_t Resource::Nanos(int64_t now_micros) const {
  constexpr int64_t kMostMicros = std::numeric_limits<int64_t>::max() / 4000;
  return std::clamp<int64_t>(now_micros - origin_micros_.load(std::memory_order_relaxed), 0,
                             kMostMicros) *
         1000;
}

int64_t Resource::AffordableIn(const Partition& partition, int64_t now, const Draw& draw,
                               int64_t count, Verdict* refusal) const {
  const size_t access = static_cast<size_t>(draw.access);
  const double units = HalvesToUnits(draw.halves);
  int64_t passing = count;
  Limit limit = Limit::kProvisioned;
  const auto consider = [&](const TokenBucket& bucket, double cost, Limit of) {
    const int64_t n =
        passing == 1 ? (bucket.Positive(now) ? 1 : 0) : bucket.Affordable(now, cost, passing);
    if (n < passing) {
      passing = n;
      limit = of;
    }
  };
  const Partition::Side& side = partition.side[access];
  consider(side.maximum, draw.eventual ? units * eventual_scale_ : units, Limit::kKeyRange);
  if (!side.share.unlimited() && !partition.boosted.load(std::memory_order_relaxed)) {
    consider(side.share, units, Limit::kKeyRange);
  }
  consider(quota_[access], units, Limit::kAccount);
  consider(capacity_[access], units,
           billing() == Billing::kProvisioned ? Limit::kProvisioned : Limit::kMaxOnDemand);
  if (passing < count && refusal != nullptr)
    *refusal = {false, draw.access, limit, partition.id, this, 0};
  return passing;
}

void Resource::ChargeIn(Partition& partition, int64_t now, const Draw& draw, int64_t count) {
  const size_t access = static_cast<size_t>(draw.access);
  const int64_t halves = draw.halves * count;
  const double units = HalvesToUnits(halves);
  Partition::Side& side = partition.side[access];
  side.maximum.Charge(now, draw.eventual ? units * eventual_scale_ : units);
  side.share.Charge(now, units);
  quota_[access].Charge(now, units);
  capacity_[access].Charge(now, units);
  const int64_t total = side.consumed.fetch_add(halves, std::memory_order_relaxed) + halves;
  if (total < side.next_look.load(std::memory_order_relaxed)) return;
  const Look look(partition);
  if (!look.taken()) return;
  const int64_t weight = total - std::exchange(partition.looked_at[access], total);
  if (weight > 0) Observe(partition, draw, HalvesToUnits(weight), false);
  const uint64_t spread =
      static_cast<uint64_t>(2 * side.look_every.load(std::memory_order_relaxed) - 1);
  side.next_look.store(total + 1 + static_cast<int64_t>(Mix(static_cast<uint64_t>(total)) % spread),
                       std::memory_order_relaxed);
}

void Resource::RefuseIn(Partition& partition, int64_t now_micros, const Draw& draw, int64_t count,
                        Limit limit) {
  const int64_t halves = draw.halves * count;
  const size_t access = static_cast<size_t>(draw.access);
  partition.refused_at[access].store(now_micros, std::memory_order_relaxed);
  auto& counter = partition.refused[access][static_cast<size_t>(limit)];
  const int64_t before = counter.fetch_add(halves, std::memory_order_relaxed);
  const int64_t every = partition.side[access].look_every.load(std::memory_order_relaxed);
  const int64_t looks = (before + halves) / every - before / every;
  if (looks == 0) return;
  const Look look(partition);
  if (look.taken()) Observe(partition, draw, HalvesToUnits(looks * every), true);
}

KeyObservation& Resource::Observed(Partition& partition) const {
  if (partition.observation == nullptr)
    partition.observation = std::make_unique<KeyObservation>(settings_, last_keys_);
  return *partition.observation;
}

void Resource::Observe(Partition& partition, const Draw& draw, double units, bool refused) {
  const double weight = draw.access == Access::kWrite ? units * write_weight_ : units;
  KeyObservation& seen = Observed(partition);
  seen.collections.Add(draw.point, weight);
  seen.items.Add(draw.point, weight);
  seen.heat.Add(draw.point, weight);
  if (seen.last) seen.last->Add(draw.point, weight);
  if (draw.access == Access::kRead) (draw.eventual ? seen.eventual : seen.strong) += units;
  if (!refused) return;
  seen.refused.Add(draw.point, weight);
  seen.refused_items.Add(draw.point, weight);
}

Verdict Resource::Admit(int64_t now_micros, const Draw& draw) {
  const int64_t now = Nanos(now_micros);
  const Pin layout(layout_);
  Partition& partition = layout->At(layout->Find(draw.point));
  Verdict verdict;
  if (AffordableIn(partition, now, draw, 1, &verdict) == 1) {
    ChargeIn(partition, now, draw, 1);
  } else {
    RefuseIn(partition, now_micros, draw, 1, verdict.limit);
  }
  return verdict;
}

int64_t Resource::AdmitMany(int64_t now_micros, const Draw& draw, int64_t count, Verdict* refusal) {
  const int64_t now = Nanos(now_micros);
  const Pin layout(layout_);
  Partition& partition = layout->At(layout->Find(draw.point));
  Verdict verdict;
  const int64_t passed = AffordableIn(partition, now, draw, count, &verdict);
  if (passed > 0) ChargeIn(partition, now, draw, passed);
  if (passed < count) {
    RefuseIn(partition, now_micros, draw, count - passed, verdict.limit);
    if (refusal != nullptr) *refusal = verdict;
  }
  return passed;
}

void Resource::Charge(int64_t now_micros, const Draw& draw, int64_t count) {
  const Pin layout(layout_);
  ChargeIn(layout->At(layout->Find(draw.point)), Nanos(now_micros), draw, count);
}

int64_t Resource::Affordable(int64_t now_micros, const Draw& draw, int64_t count,
                             Verdict* refusal) const {
  const Pin layout(layout_);
  return AffordableIn(layout->At(layout->Find(draw.point)), Nanos(now_micros), draw, count,
                      refusal);
}

void Resource::Refuse(int64_t now_micros, const Draw& draw, int64_t count, const Verdict& refusal) {
  const Pin layout(layout_);
  RefuseIn(layout->At(layout->Find(draw.point)), now_micros, draw, count, refusal.limit);
}

Verdict Resource::RefuseUngranted(int64_t now_micros, const Draw& draw) {
  const Pin layout(layout_);
  Partition& partition = layout->At(layout->Find(draw.point));
  const Limit limit = billing() == Billing::kProvisioned ? Limit::kProvisioned
                      : capacity_[static_cast<size_t>(draw.access)].unlimited()
                          ? Limit::kKeyRange
                          : Limit::kMaxOnDemand;
  RefuseIn(partition, now_micros, draw, 1, limit);
  return {false, draw.access, limit, partition.id, this, 0};
}

void Resource::AddBytes(const KeyPoint& point, int64_t bytes, int64_t items) {
  const Pin layout(layout_);
  Partition& partition = layout->At(layout->Find(point));
  partition.bytes.fetch_add(bytes, std::memory_order_relaxed);
  if (items != 0) partition.items.fetch_add(items, std::memory_order_relaxed);
  if (bytes <= 0) return;
  const Look look(partition);
  if (look.taken()) Observed(partition).data.Add(point, static_cast<double>(bytes));
}

Verdict Admit(int64_t now_micros, std::span<const Draw> draws) {
  Verdict verdict;
  if (draws.size() == 1) return draws[0].resource->Admit(now_micros, draws[0]);
  AdmitMany(now_micros, draws, 1, &verdict);
  return verdict;
}

int64_t AdmitMany(int64_t now_micros, std::span<const Draw> draws, int64_t count,
                  Verdict* refusal) {
  if (draws.size() == 1) return draws[0].resource->AdmitMany(now_micros, draws[0], count, refusal);
  int64_t passed = count;
  Verdict verdict;
  const Draw* refused_by = nullptr;
  for (const Draw& draw : draws) {
    const int64_t n = draw.resource->Affordable(now_micros, draw, passed, &verdict);
    if (n < passed) {
      refused_by = &draw;
      verdict.draw = static_cast<size_t>(&draw - draws.data());
    }
    passed = n;
  }
  if (passed > 0) {
    for (const Draw& draw : draws) draw.resource->Charge(now_micros, draw, passed);
  }
  if (refused_by != nullptr) {
    refused_by->resource->Refuse(now_micros, *refused_by, count - passed, verdict);
    if (refusal != nullptr) *refusal = verdict;
  }
  return passed;
}

}  // namespace stator::throughput
