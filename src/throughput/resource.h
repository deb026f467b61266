// The throughput of one table or one global index: its partitions, its tokens, and what passes.
//
//   Resource table(settings, definition, clock.NowMicros());
//   Verdict v = table.Admit(now, draw);   // before the work: may it pass? charges draw.halves
//   table.Charge(now, rest);              // after it: what it cost beyond that
//   Verdict v = Admit(now, draws);        // a write with its global indexes: all or nothing
//   events = table.Advance(now);          // about once a second: splits, growth, windows
//
// Time is passed in: microseconds of one clock, in a server Clock::NowMicros, so that who moves a
// manual clock sees bursts refill and capacity grow. If it goes back, the next Advance goes on from
// where it was; until then requests may be refused. Nothing here waits, starts a thread or does
// I/O; equal calls give equal answers. One thread with virtual time, or many threads:
//
// - Admit, Charge, AddBytes, Explain and the read-only accessors may be called by any number of
//   threads at any time. Admit and Charge take no lock: a few atomic additions on the key's
//   partition, and on the table if its capacity is limited. Which keys are hot is looked at every
//   few units under a try-lock per partition; who finds it taken goes on.
// - Advance, the Set functions, Explain and the accessors that list or sum take a mutex of the
//   resource among themselves; requests do not wait for it.
// - Between the check and the charge other requests may pass. So capacity is overdrawn by at most
//   what is in flight at once, and paid back before the next request passes.
//
// Order of the limits: partition maximum, then (without adaptive capacity) the partition's share,
// then table quota, then provisioned capacity or OnDemandThroughput's maximum. A request passes
// while all of them have tokens left, whatever it costs.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "throughput/heavy_hitters.h"
#include "throughput/key_point.h"
#include "throughput/model_settings.h"
#include "throughput/partition_layout.h"
#include "throughput/partitions.h"
#include "throughput/published.h"
#include "throughput/shares.h"
#include "throughput/throttle.h"
#include "throughput/token_bucket.h"

namespace stator::throughput {

// Units per second, both ways.
struct Rates {
  double read = 0;
  double write = 0;
  double Of(Access access) const { return access == Access::kRead ? read : write; }
  bool operator==(const Rates&) const = default;
};

struct ResourceDefinition {
  std::string name;
  bool is_index = false;
  Billing billing = Billing::kProvisioned;
  Rates provisioned;  // ignored on demand
  // OnDemandThroughput; absent: no maximum. Ignored when provisioned.
  std::optional<double> max_read;
  std::optional<double> max_write;
  std::optional<Rates> warm;       // WarmThroughput
  bool has_local_indexes = false;  // item collections are kept together
  bool has_sort_key = true;        // a collection may hold many items
  bool has_stream = false;
  int64_t bytes = 0;  // of data that is there, spread evenly
  int64_t items = 0;  // the same; of an index: entries
  // Bytes of an index's entry where entries are not counted; 1 where its projection is the smallest
  // that there is; 0: as counted.
  int64_t entry_bytes = 0;
  std::optional<PartitionMap> partitions;  // as stored; absent: as many as a new table gets
  // Of one of several processes: what it is granted, and by which name; absent: everything.
  std::shared_ptr<const Grant> grant;
  uint32_t tablet = 0;
  // What people read for the keys of a KeyPoint, of which only the first bytes may be left; absent:
  // the bytes. Called by any thread.
  std::function<std::string(std::string_view)> readable_partition;
  std::function<std::string(std::string_view)> readable_sort;
};

// What a request takes from a table or index.
struct Draw {
  Resource* resource = nullptr;  // not owned; only for Admit of several
  Access access = Access::kRead;
  bool eventual = false;  // eventually consistent read
  int64_t halves = 0;     // half units: units.h
  KeyPoint point;
};

enum class SplitReason : uint8_t { kThroughput, kSize, kHeat, kOnDemandGrowth, kAsked };
std::string_view SplitReasonText(SplitReason reason);

struct SplitEvent {
  int64_t at_micros = 0;
  SplitReason reason = SplitReason::kThroughput;
  uint64_t parent = 0;
  uint64_t left = 0;
  uint64_t right = 0;
  KeyBound bound;
};

// One partition as people see it.
struct PartitionView {
  uint64_t id = 0;
  uint64_t parent = 0;  // 0: there from the start
  KeyRange range;
  double weight = 1;  // part of the provisioned capacity
  Rates share;        // that part in units per second; 0 on demand
  int64_t bytes = 0;
  // Of an index: entries. The sum is exact, but for what was written during a split, until the next
  // Advance. Below 0 where more was deleted than what was spread evenly here.
  int64_t items = 0;
  Rates consumed;     // units since it exists
  Rates last_window;  // units per second in the last full window
  Rates refused;      // units refused since it exists
  double heat = 0;    // last window: the larger part of its maxima that was consumed
  SplitObstacle obstacle = SplitObstacle::kNone;
  // Set by PartitionDetails only:
  Rates tokens;                   // of the partition's maximum; negative when overdrawn
  std::vector<HeavyKey> hottest;  // item collections, in this window and the last one
  double observed = 0;            // what the weights of `hottest` are parts of
};

class Resource {
 public:
  // `settings` is copied. `now_micros` starts the clock of this resource; buckets start full.
  Resource(const ModelSettings& settings, ResourceDefinition definition, int64_t now_micros);
  ~Resource();
  Resource(const Resource&) = delete;
  Resource& operator=(const Resource&) = delete;

  // ---- requests

  // May the request pass? If so it is charged. If not, it is counted as refused.
  Verdict Admit(int64_t now_micros, const Draw& draw);
  // The first so many of `count` equal requests that pass are charged, the rest counted as refused;
  // returns how many passed. `refusal` says why the others did not, when there are some.
  int64_t AdmitMany(int64_t now_micros, const Draw& draw, int64_t count, Verdict* refusal);
  // Takes units without asking: what a request cost more than its Draw said, or work that cannot be
  // refused.
  void Charge(int64_t now_micros, const Draw& draw, int64_t count = 1);
  // Data grew or shrank at a key, by so many items more or fewer (0: they are as many as before).
  void AddBytes(const KeyPoint& point, int64_t bytes, int64_t items);

  // The two halves of Admit, for requests that draw from several resources.
  int64_t Affordable(int64_t now_micros, const Draw& draw, int64_t count, Verdict* refusal) const;
  void Refuse(int64_t now_micros, const Draw& draw, int64_t count, const Verdict& refusal);

  // ---- control

  // Lets time pass: closes windows, grows on-demand capacity, splits for size and heat. Returns
  // what was split, in order.
  std::vector<SplitEvent> Advance(int64_t now_micros);
  // UpdateTable. Partitions double until each can hold its share; lowering never merges. Quotas and
  // the number of decreases are capacity_changes' business.
  std::vector<SplitEvent> SetProvisioned(int64_t now_micros, Rates units);
  // Keeps what was ready: at least a new on-demand table's units and the highest provisioned ones
  // ever.
  std::vector<SplitEvent> SwitchToOnDemand(int64_t now_micros);
  std::vector<SplitEvent> SwitchToProvisioned(int64_t now_micros, Rates units);
  // OnDemandThroughput; nullopt removes the maximum.
  void SetMaximum(int64_t now_micros, std::optional<double> read, std::optional<double> write);
  // Sets WarmThroughput. Returns the splits that make the resource ready for `units`. kValidation
  // if either of them is below what the resource is ready for now.
  Result<std::vector<SplitEvent>> SetWarm(int64_t now_micros, Rates units);
  // Splits, at `bound`, the partition that owns `bound`. Returns nullopt if the partition starts at
  // `bound` already.
  std::optional<SplitEvent> Split(int64_t now_micros, const KeyBound& bound);
  void SetFeatures(bool has_local_indexes, bool has_stream);
  // Forgets the keys that it remembers: hot ones, and the samples by which a bound is chosen.
  // Counts and capacity stay; what is asked for from now on is remembered again.
  void ForgetKeys();
  // ResourceDefinition::entry_bytes, as it has become known.
  void SetEntryBytes(int64_t bytes);

  // ---- as one of several processes (shares.h); nothing of it where ResourceDefinition::grant is
  // null
  //
  // Rates of all limits are the granted parts of them. Tokens are kept as far as there is room for
  // them: of provisioned capacity those that there is no room for are returned, and `moved` are
  // added. A partition's weight is its part of the hash space, whatever was split when, so that all
  // processes agree; and only one process decides about splits.

  Units SetGrant(int64_t now_micros, std::shared_ptr<const Grant> grant, const Units& moved = {});
  // There is no grant any more: what was unused is forgotten.
  void EndGrant(int64_t now_micros);
  // Whether partitions are split for throughput, size, heat and growth here; in the other processes
  // by Split, when they are told. True unless set.
  void SetDecides(bool decides);
  // Returns the units that were used since the last call, which was `seconds` ago. Partitions that
  // were asked for less than some percent of their grant are left out. nullopt: next to nothing was
  // used.
  std::optional<ResourceUse> TakeUse(double seconds);
  // Returns the parts of the resource's own capacity that this process has. nullopt: it is the only
  // process and has all.
  std::optional<Parts> Granted() const;
  // What all processes have together.
  SharedLimits Limits() const;
  // Other processes used this: counts for heat and growth, where these are decided.
  void AddForeign(const ResourceUse& use);
  // Units that AddForeign has heard of, what was let pass included.
  Rates foreign() const;
  // What all processes stored together: replaces the sums of the partitions' bytes and items.
  void SetTotals(int64_t bytes, int64_t items);
  // An on-demand table has grown to that elsewhere.
  void RaiseReady(Rates ready);
  // Bounds inside item collections, ascending.
  std::vector<KeyBound> InnerBounds() const;
  // A request while there is no valid grant: refused, and counted so. The limit is the resource's
  // own, or, where it has none, the partition's.
  Verdict RefuseUngranted(int64_t now_micros, const Draw& draw);

  // ---- what it knows

  const std::string& name() const { return definition_.name; }
  bool is_index() const { return definition_.is_index; }
  const ModelSettings& settings() const { return settings_; }
  Billing billing() const { return billing_.load(std::memory_order_relaxed); }
  Rates provisioned() const;
  // What the resource is ready for: DescribeTable's WarmThroughput.
  Rates warm() const;
  size_t partition_count() const;
  uint64_t PartitionOf(const KeyPoint& point) const;
  // `split`, if given: also those that were split, with what they have counted in the end, until an
  // Advance finds that no request can reach them any more.
  std::vector<PartitionView> Partitions(std::vector<PartitionView>* split = nullptr) const;
  std::vector<PartitionView> PartitionDetails(int64_t now_micros, size_t hottest) const;
  // Return the units since the resource was made: those consumed, and those refused by a limit.
  Rates consumed() const;
  Rates refused(Limit limit) const;
  // Returns the tokens in the resource's own bucket (provisioned capacity or on-demand maximum);
  // infinite if it has none.
  double Tokens(int64_t now_micros, Access access) const;
  // Returns the hottest item collections or items since the resource was made, with readable keys.
  std::vector<HeavyKey> Hottest(HeavyHitters::Of of, size_t limit) const;
  // Returns the item collections or items that were refused most.
  std::vector<HeavyKey> MostRefused(HeavyHitters::Of of, size_t limit) const;
  // Returns the partition in which `limit` refused most. If it has not refused in any present
  // partition, the one with the highest demand in the last window.
  uint64_t MostRefusedPartition(Access access, Limit limit) const;
  // Returns the sum of which Hottest's weights are parts: all units that were asked for. A write
  // unit counts as three read units.
  double ObservedWeight() const;
  // Returns the memory of the remembered keys, in bytes. ModelSettings bounds it for each
  // partition.
  size_t KeyBytes() const;
  Explanation Explain(int64_t now_micros, const Verdict& refusal) const;
  // Returns the worst second in which this limit refused: the one whose demand exceeded the limit
  // most. Kept until a worse one comes, capacity changes and a limit refuses again, or
  // `worst_kept_seconds` have passed. nullopt: there is none.
  std::optional<Explanation> Worst(int64_t now_micros, Access access, Limit limit) const;
  // The partition that the second that has not ended asked of most until then, told as if it had
  // refused. nullopt: that is less than `least` units per second.
  std::optional<Explanation> Busiest(int64_t until_micros, Access access, double least) const;
  // Returns how to spread one partition key that takes `units_per_second`.
  SpreadPlan PlanSpread(std::string_view key, Access access, double units_per_second) const;
  // The bounds in hash space alone, for the catalog. Bounds inside an item collection are left out.
  PartitionMap HashMap() const;

 private:
  using Pin = Published<Layout>::Pin;
  static constexpr size_t kLastKeys = 16;  // of a partition, in a ResourceUse

  int64_t Nanos(int64_t now_micros) const;
  int64_t AffordableIn(const Partition& partition, int64_t now, const Draw& draw, int64_t count,
                       Verdict* refusal) const;
  void ChargeIn(Partition& partition, int64_t now, const Draw& draw, int64_t count);
  void RefuseIn(Partition& partition, int64_t now_micros, const Draw& draw, int64_t count,
                Limit limit);
  // The observed keys of a partition, whose `observing` the caller has.
  KeyObservation& Observed(Partition& partition) const;
  void Observe(Partition& partition, const Draw& draw, double units, bool refused);

  bool shared() const { return definition_.grant != nullptr; }
  // Units per second of a partition's maximum that may be used here.
  double MaximumOf(size_t access, const KeyRange& range) const REQUIRES(mutex_);
  void Reweigh(const Layout& layout) REQUIRES(mutex_);
  void CloseSplit() REQUIRES(mutex_);
  void FollowClock(int64_t now_micros) REQUIRES(mutex_);
  void SetBuckets(int64_t now) REQUIRES(mutex_);
  void CloseWindow(int64_t now_micros, double seconds, std::vector<SplitEvent>* events)
      REQUIRES(mutex_);
  void Boost(Partition* partition, double seconds, bool refused) REQUIRES(mutex_);
  void PlanGrowth(int64_t now_micros, const Rates& used) REQUIRES(mutex_);
  void SplitForSize(int64_t now_micros, std::vector<SplitEvent>* events) REQUIRES(mutex_);
  void DoubleUntil(int64_t now_micros, int64_t count, SplitReason reason,
                   std::vector<SplitEvent>* events) REQUIRES(mutex_);
  void DoubleWhileShareTooLarge(int64_t now_micros, std::vector<SplitEvent>* events)
      REQUIRES(mutex_);
  void DoubleAll(int64_t now_micros, SplitReason reason, std::vector<SplitEvent>* events)
      REQUIRES(mutex_);
  PartitionView ViewOf(const Partition& partition, KeyRange range) const REQUIRES(mutex_);
  SplitEvent SplitAt(Layout* layout, size_t index, const KeyBound& bound, int64_t now_micros,
                     SplitReason reason) REQUIRES(mutex_);
  std::optional<KeyBound> Middle(const Layout& layout, size_t index) const REQUIRES(mutex_);
  std::unique_ptr<Layout> CopyLayout() const REQUIRES(mutex_);
  void PublishLayout(std::unique_ptr<Layout> layout) REQUIRES(mutex_);
  // `sum` and count(partition, access) of all partitions, those that were split included. Halves.
  template <typename Count>
  Halves Sum(Halves sum, const Count& count) const REQUIRES(mutex_) {
    const Layout& layout = layout_.Current();
    for (size_t a = 0; a < kAccesses; ++a) {
      for (size_t i = 0; i < layout.size(); ++i) sum[a] += count(layout.At(i), a);
      for (const SplitPartition& split : split_) sum[a] += count(*split.partition, a);
    }
    return sum;
  }
  Halves ConsumedHalves() const REQUIRES(mutex_);
  int64_t StoredBytes() const REQUIRES(mutex_);
  Halves RefusedHalves(Limit limit) const REQUIRES(mutex_);
  HeavyHitters Lifetime(const HeavyHitters& past, HeavyHitters KeyObservation::*seen) const
      REQUIRES(mutex_);
  std::vector<HeavyKey> Readable(std::vector<HeavyKey> keys) const REQUIRES(mutex_);
  // Demand: resource_demand.cc.
  double SecondsOfDemand(int64_t until_micros) const REQUIRES(mutex_);
  int64_t AskedInSecond(const Partition& partition, size_t access) const REQUIRES(mutex_);
  // Explains a limit by the second that is not over yet; nullopt: it did not refuse in it.
  std::optional<Explanation> WorstOfSecond(Access access, Limit limit) const REQUIRES(mutex_);
  // Keeps what was worst in the second, and begins the next one when it is over, or anyway if
  // `begin_next`.
  void CloseSecond(int64_t now_micros, bool begin_next = false) REQUIRES(mutex_);
  void FollowLeader(Access access) REQUIRES(mutex_);
  double LimitOf(Access access, Limit limit, const Partition* partition) const REQUIRES(mutex_);
  bool IsKept(int64_t at_micros, int64_t now_micros) const;
  SpreadPlan PlanSpreadLocked(std::string_view key, Access access, double units_per_second) const
      REQUIRES(mutex_);
  // Returns the explanation for the partition with this id, without the members that depend on
  // demand.
  Explanation Describe(Access access, Limit limit, uint64_t partition) const REQUIRES(mutex_);
  // Returns the average size of an entry in bytes; 0: not known.
  int64_t EntryBytes() const REQUIRES(mutex_);
  // Sets the texts of `e`: plan, cause, advice and lesson (explain.cc).
  void Advise(Access access, Limit limit, Explanation* e) const REQUIRES(mutex_);

  const ModelSettings settings_;
  const double
      eventual_scale_;  // tokens of a partition's maximum that one eventually consistent unit takes
  const double write_weight_;  // read units that a write unit counts as, where both are heat
  const size_t last_keys_;     // that a partition remembers for the other processes
  std::atomic<int64_t> origin_micros_;
  std::atomic<Billing> billing_;
  std::array<TokenBucket, kAccesses>
      capacity_;                              // provisioned units, or OnDemandThroughput's maximum
  std::array<TokenBucket, kAccesses> quota_;  // per table, on demand
  Published<Layout> layout_;

  mutable Mutex mutex_;
  ResourceDefinition definition_;  // name and is_index never change; the rest GUARDED_BY(mutex_)
  uint64_t next_partition_ GUARDED_BY(mutex_) = 1;
  Rates peak_provisioned_ GUARDED_BY(mutex_);
  Rates ready_ GUARDED_BY(mutex_);  // on demand: what was made ready
  Rates peak_ GUARDED_BY(mutex_);   // highest window of the life on demand
  struct Growth {
    int64_t due_micros;
    Rates ready;
  };
  std::vector<Growth> growths_ GUARDED_BY(mutex_);  // in the order of their time
  int64_t window_start_micros_ GUARDED_BY(mutex_);
  int64_t advanced_micros_ GUARDED_BY(mutex_);
  int64_t second_start_micros_ GUARDED_BY(mutex_);
  int64_t capacity_epoch_ GUARDED_BY(mutex_) = 0;  // rises when capacity or a maximum changes
  struct Moment {
    Explanation what;  // without words
    int64_t epoch = 0;
  };
  std::map<std::pair<Access, Limit>, Moment> moments_ GUARDED_BY(mutex_);
  // The partition that nearly all of the latest seconds' requests went to.
  struct Leader {
    uint64_t partition = 0;
    int seconds = 0;
    int changes = 0;  // seconds in which it was another one than in the second before
    bool Moves() const { return changes >= 3 && changes * 30 >= seconds; }
  };
  std::array<Leader, kAccesses> leaders_ GUARDED_BY(mutex_);
  bool decides_ GUARDED_BY(mutex_) = true;
  Halves foreign_ GUARDED_BY(mutex_) = {};  // of the whole resource
  Halves foreign_at_window_ GUARDED_BY(mutex_) = {};
  Halves foreign_let_pass_ GUARDED_BY(mutex_) = {};
  Halves consumed_at_use_ GUARDED_BY(mutex_) = {};
  Halves refused_at_use_ GUARDED_BY(mutex_) = {};
  HeavyHitters lifetime_collections_ GUARDED_BY(mutex_);
  HeavyHitters lifetime_items_ GUARDED_BY(mutex_);
  HeavyHitters lifetime_refused_ GUARDED_BY(mutex_);
  HeavyHitters lifetime_refused_items_ GUARDED_BY(mutex_);
  // Partitions that were split, while requests may still reach them, and the counts of earlier
  // ones.
  struct SplitPartition {
    std::shared_ptr<Partition> partition;
    KeyRange range;
    int64_t bytes;  // what its children got of it
    int64_t items;
  };
  std::vector<SplitPartition> split_ GUARDED_BY(mutex_);
  struct Past {
    std::array<int64_t, kAccesses> consumed{};
    std::array<std::array<int64_t, kLimits>, kAccesses> refused{};
  } past_ GUARDED_BY(mutex_);
};

// May a request pass that draws from several tables and indexes, as a write does from its table and
// the global indexes it touches, or a transaction from many? If so, all are charged; if not, none,
// and one that refused says why, Verdict::draw which: an index without capacity throttles writes of
// its table. Every draw names its resource.
Verdict Admit(int64_t now_micros, std::span<const Draw> draws);
// Admits `count` equal requests one after the other; returns how many passed.
int64_t AdmitMany(int64_t now_micros, std::span<const Draw> draws, int64_t count, Verdict* refusal);

}  // namespace stator::throughput
