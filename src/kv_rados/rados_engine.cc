#include "kv_rados/rados_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <numeric>
#include <set>
#include <utility>

#include "base/mutex_wait.h"
#include "base/random.h"
#include "kv_rados/bulletin.h"
#include "kv_rados/cluster.h"
#include "kv_rados/fences.h"
#include "kv_rados/layout.h"
#include "kv_rados/point_reads.h"
#include "kv_rados/range_cache.h"
#include "kv_rados/routing.h"
#include "kv_rados/scan.h"
#include "kv_rados/splitter.h"
#include "kv_rados/tablet_map.h"
#include "kv_rados/value_cache.h"
#include "kv_rados/writer.h"

namespace stator::kv_rados {
namespace {

constexpr int kRounds = 50;  // of a read whose operations are refused, because the tablet changes
// Threads for what GetLater cannot do without waiting, and how many reads may stand in line for
// them.
constexpr int kWaiters = 2;
constexpr size_t kMaxInLine = 10'000;
constexpr size_t kAheadsAtOnce =
    32;  // long reads that nobody waits for, and what they brought; more stand in line for a worker
constexpr size_t kPartsAtOnce = 64;  // that are asked for their counters together

Error LookOnlyError() {
  return Error(ErrorCode::kUnavailable, "The store was opened to be looked at only.");
}

class RadosEngine final : public kv::Engine, public kv::FeatureKeeper {
 public:
  RadosEngine(std::unique_ptr<Cluster> cluster, const std::string& process)
      : bulletin_(*cluster),
        cluster_(std::move(cluster)),
        map_(
            *cluster_,
            [this](const PartPtr& part) {
              if (!look_only()) splitter_.Watch(part);
            },
            [this](kv::Tablet tablet) {
              if (!look_only()) CreateLater(tablet);
            }),
        splitter_(*cluster_, map_, process),
        ranges_(cluster_->options().range_cache_bytes),
        cache_(cluster_->options().guarded_cache_bytes,
               [this] { return cluster_->clock().TicksMicros(); }),
        writer_(
            *cluster_, map_, cache_, process,
            [this](const PartPtr& part, const PartSize& size) { splitter_.Consider(part, size); }),
        channel_(*cluster_),
        points_(
            channel_, [this] { return cluster_->clock().TicksMicros(); },
            [this](int64_t ticks) { return cluster_->PastDeadline(ticks); }, cluster_->host()),
        later_ended_(cluster_->host()),
        waiters_(cluster_->host(), kWaiters, kMaxInLine) {
    points_.StartWatching();
  }
  ~RadosEngine() override;

  kv::Capabilities capabilities() const override {
    return {.atomic_across_tablets = false,
            .exclusive = false,
            .blocking = true,
            .durable = true,
            .scans_of_one_state = false,
            .max_tablet_bytes = cluster_->options().max_tablet_bytes};
  }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override;
  void GetLater(kv::Tablet tablet, std::string_view key, GetDone done) override;
  void GetRecent(kv::Tablet tablet, std::string_view key, GetDone done) override;
  void NoteElsewhere(kv::Tablet tablet, std::string_view key) { cache_.NoteElsewhere(tablet, key); }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override;
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void ReadAhead(const kv::Range& range, AheadDone done) override;
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    if (look_only() && !batch.empty()) return done(LookOnlyError());
    writer_.Apply(std::move(batch), std::move(done));
  }
  Result<kv::Unit> UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) override;
  void NoteUnused(kv::Tablet tablet, std::string_view key) override {
    writer_.NoteUnused(tablet, key);
  }
  void SetHooks(WriterHooks hooks) { writer_.SetHooks(std::move(hooks)); }
  bool SpansUnits(const kv::Batch& batch) const override;
  Result<std::vector<PartInfo>> Parts(kv::Tablet tablet) const;
  Status Split(kv::Tablet tablet, std::string_view key) {
    return splitter_.SplitNow(tablet, RouteOf(tablet.space, key).value_or(std::string_view()));
  }
  Status RaiseFence(kv::Tablet tablet, uint64_t fence) override {
    if (look_only()) return LookOnlyError();
    return kv_rados::RaiseFence(*cluster_, map_, tablet, fence);
  }
  kv::FeatureKeeper* feature_keeper() override { return this; }
  Status AddFeature(std::string_view name) override {
    if (look_only()) return LookOnlyError();
    return kv_rados::AddFeature(*cluster_, name);
  }
  kv::Features RequiredFeatures() const override { return cluster_->format().features(); }
  kv::Bulletin* bulletin() override { return &bulletin_; }
  Status Health() const override { return writer_.Health(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override;
  std::map<std::string, double> Statistics() const override {
    std::map<std::string, double> statistics;
    writer_.AddStatistics(&statistics);
    splitter_.AddStatistics(&statistics);
    statistics["kv_rados_watches_lost"] = static_cast<double>(bulletin_.lost());
    statistics["kv_rados_point_reads"] = static_cast<double>(points_.reads());
    statistics["kv_rados_point_read_operations"] = static_cast<double>(points_.operations());
    statistics["kv_rados_cache_bytes"] = static_cast<double>(cache_.bytes());
    statistics["kv_rados_recent_reads"] = static_cast<double>(cache_.recent_hits());
    statistics["kv_rados_cache_hits"] = static_cast<double>(cache_.hits());
    statistics["kv_rados_cache_misses"] = static_cast<double>(cache_.misses());
    statistics["kv_rados_range_cache_bytes"] = static_cast<double>(ranges_.bytes());
    statistics["kv_rados_range_cache_hits"] = static_cast<double>(ranges_.hits());
    statistics["kv_rados_range_cache_misses"] = static_cast<double>(ranges_.misses());
    return statistics;
  }
  Status Checkpoint(const std::string&) override {
    return Error(ErrorCode::kUnavailable,
                 "A store in a Ceph pool cannot be copied to a directory. Take a snapshot of the "
                 "pool instead.");
  }

 private:
  bool look_only() const { return cluster_->options().look_only; }
  // Calls `operate`, which returns the result of an operation (0 or -errno), with the place of the
  // route; locates the place anew and repeats the call while the operation is refused. If the
  // tablet was never written to, sets place->part to null and does not call `operate`.
  Status At(kv::Tablet tablet, std::string_view route, Place* place,
            FunctionRef<int(const Place& place)> operate) const;
  // Handles the failure of an operation at a place. Returns OK if the operation may be repeated at
  // a newly located place.
  Status Mend(const Place& place, int result) const;
  // Runs one read operation at the place of the route, as At does.
  Status Read(kv::Tablet tablet, std::string_view route, FunctionRef<void(ReadOp&)> fill,
              Place* place, std::unique_ptr<ReadOp>* read) const;
  // Reads from every part of a tablet, one part after the other, and calls `take` for each answer.
  // Ends at the first error and returns it.
  Status ReadAll(kv::Tablet tablet, FunctionRef<void(ReadOp&)> fill,
                 FunctionRef<Status(const Place& place, ReadOp& read)> take) const;
  // What MultiGet has read.
  struct Wanted {
    std::vector<std::string> cells;  // each once
    std::map<std::string, std::vector<size_t>, std::less<>>
        places;  // a key may be asked for more than once
  };
  Status TakeValues(const Place& place, const Fetched& fetched, const Wanted& wanted,
                    std::vector<std::optional<std::string>>* values);
  // From every part, whose counters are its own: many at a time, not from one state.
  Status GetEverywhere(kv::Tablet tablet, const Wanted& wanted,
                       std::vector<std::optional<std::string>>* values);
  // Do MultiGet: GetAny reads from the pool, GetGuarded also uses cached values.
  Status GetAny(std::span<const kv::Point> points, std::vector<std::optional<std::string>>* values);
  Status GetGuarded(std::span<const kv::Point> points,
                    std::vector<std::optional<std::string>>* values);

  // A read that no thread waits for.
  struct Later {
    kv::Tablet tablet;
    std::string key;
    GetDone done;
    ValueCache::Moment began;
    int64_t arrived = 0;  // ticks
    int round = 0;
  };
  using LaterPtr = std::shared_ptr<Later>;
  // None if it cannot be told without waiting.
  std::optional<Place> LocateCached(kv::Tablet tablet, std::string_view route) const;
  void SendLater(const LaterPtr& later);
  // Waits elsewhere until the place is known, and sends it then. `failed` was refused with
  // `result`, if that is not 0.
  void LocateLater(const LaterPtr& later, const Place& failed, int result);
  void FinishLater(Later& later, Result<std::optional<std::string>> value);
  void EndLater();

  // To be sure that a tablet was never written to takes two operations; that one which is there is
  // empty, one.
  void CreateLater(kv::Tablet tablet);

  Mutex mutex_;
  std::set<kv::Tablet> created_
      GUARDED_BY(mutex_);  // by CreateLater, or about to be; outlives who may call it

  RadosBulletin bulletin_;  // outlives the cluster
  const std::unique_ptr<Cluster> cluster_;
  mutable TabletMap map_;  // a cache
  Splitter splitter_;
  RangeCache ranges_;
  ValueCache cache_;
  Writer writer_;
  ClusterChannel channel_;
  PointReads points_;

  Mutex later_mutex_;
  Signal later_ended_;
  size_t later_ GUARDED_BY(later_mutex_) = 0;  // without an answer
  // Read ahead and not taken yet: they may outlive the engine.
  const std::shared_ptr<std::atomic<size_t>> aheads_ = std::make_shared<std::atomic<size_t>>(0);
  Workers waiters_;
};

Error SpanError(std::string_view what) {
  return Error(ErrorCode::kSpansUnits,
               fmt::format("{}, which are not read together on this engine.", what));
}

Error BusyError() {
  return Error(ErrorCode::kUnavailable, "A tablet changes faster than its map can be read.");
}

Error WouldBlockError() {
  return Error(ErrorCode::kWouldBlock, "Every read of this store waits for the network.");
}

Status RadosEngine::At(kv::Tablet tablet, std::string_view route, Place* place,
                       FunctionRef<int(const Place& place)> operate) const {
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(*place, map_.Locate(tablet, route));
    if (place->part == nullptr) return OkStatus();
    const int result = operate(*place);
    if (result >= 0) return OkStatus();
    TRY(Mend(*place, result));
  }
  return BusyError();
}

Status RadosEngine::Mend(const Place& place, int result) const {
  if (result == -ENOENT) return map_.Recheck(place.part);
  if (result != -ECANCELED) return cluster_->ErrorOf(result, place.part->object, false);
  place.part->Forget(place.header);
  return OkStatus();
}

Status RadosEngine::Read(kv::Tablet tablet, std::string_view route, FunctionRef<void(ReadOp&)> fill,
                         Place* place, std::unique_ptr<ReadOp>* read) const {
  return At(tablet, route, place, [&](const Place& at) {
    return cluster_->Read(
        at.part->object,
        [&](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, at.header->bytes);
          fill(op);
        },
        read);
  });
}

Status RadosEngine::ReadAll(kv::Tablet tablet, FunctionRef<void(ReadOp&)> fill,
                            FunctionRef<Status(const Place& place, ReadOp& read)> take) const {
  std::string route;
  do {
    Place place;
    std::unique_ptr<ReadOp> read;
    TRY(Read(tablet, route, fill, &place, &read));
    if (place.part == nullptr) return OkStatus();
    TRY(take(place, *read));
    route = place.header->header.routes.end;
  } while (!route.empty());
  return OkStatus();
}

Result<bool> RadosEngine::Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                              std::string* value) {
  std::vector<std::optional<std::string>> values;
  const kv::Point point{tablet, key};
  TRY(MultiGet({&point, 1}, tier, &values));
  if (!values.front()) return false;
  *value = std::move(*values.front());
  return true;
}

Status RadosEngine::MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                             std::vector<std::optional<std::string>>* values) {
  values->assign(points.size(), std::nullopt);
  if (points.empty()) return OkStatus();
  switch (tier) {
    case kv::Tier::kAny: return GetAny(points, values);
    case kv::Tier::kGuarded: return GetGuarded(points, values);
    case kv::Tier::kMemory: break;
  }
  return WouldBlockError();
}

Status RadosEngine::GetGuarded(std::span<const kv::Point> points,
                               std::vector<std::optional<std::string>>* values) {
  for (size_t i = 0; i < points.size(); ++i) {
    switch (cache_.Find(points[i].tablet, points[i].key, &values->at(i))) {
      case ValueCache::Known::kYes: break;
      case ValueCache::Known::kNo: return WouldBlockError();
      case ValueCache::Known::kDoubted:
        return Error(ErrorCode::kGuardFailed, "Others change the tablet too often.");
    }
  }
  return OkStatus();
}

Status RadosEngine::GetAny(std::span<const kv::Point> points,
                           std::vector<std::optional<std::string>>* values) {
  if (Cluster::InCallback())
    return InternalError("a thread that brings answers of the cluster was to wait for one.");
  const kv::Tablet tablet = points[0].tablet;
  const ValueCache::Moment began = cache_.Now();
  Wanted wanted;
  std::vector<std::string_view> routes;
  bool counters = false;
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].tablet != tablet) return SpanError("a read spans tablets");
    std::string cell = KeyCell(points[i].key);
    std::vector<size_t>& places = wanted.places[cell];
    if (places.empty()) wanted.cells.push_back(std::move(cell));
    places.push_back(i);
    if (const std::optional<std::string_view> of_key = RouteOf(tablet.space, points[i].key)) {
      routes.push_back(*of_key);
    } else {
      counters = true;
    }
  }
  Place place;
  FetchedPtr fetched;
  const auto read = [&](const Place& at) {
    fetched = points_.ReadAndWait(at.part, at.header, wanted.cells);
    return fetched->result;
  };
  TRY(At(tablet, routes.empty() ? std::string_view() : routes.front(), &place, read));
  if (place.part == nullptr) return OkStatus();
  const RouteRange& has = place.header->header.routes;
  if (!std::all_of(routes.begin(), routes.end(),
                   [&has](std::string_view each) { return has.Has(each); })) {
    return SpanError("a read spans parts of a tablet");
  }
  if (!counters || has == RouteRange()) {
    TRY(TakeValues(place, *fetched, wanted, values));
  } else {
    TRY(GetEverywhere(tablet, wanted, values));
  }
  for (size_t i = 0; i < points.size(); ++i)
    cache_.NoteRead(tablet, points[i].key, values->at(i), began);
  return OkStatus();
}

Status RadosEngine::GetEverywhere(kv::Tablet tablet, const Wanted& wanted,
                                  std::vector<std::optional<std::string>>* values) {
  struct Asked {
    Place place;
    FetchedPtr fetched;
  };
  std::string from;
  do {
    std::vector<Asked> asked;
    do {
      ASSIGN_OR_RETURN(Place place, map_.Locate(tablet, from));
      if (place.part == nullptr) return OkStatus();
      from = place.header->header.routes.end;
      asked.push_back({std::move(place), nullptr});
    } while (!from.empty() && asked.size() < kPartsAtOnce);
    Mutex mutex;
    Signal came(cluster_->host());
    size_t left = asked.size();
    for (Asked& each : asked) {
      points_.ReadLater(each.place.part, each.place.header, wanted.cells, [&](FetchedPtr fetched) {
        MutexLock lock(mutex);
        each.fetched = std::move(fetched);
        if (--left == 0) came.NotifyOne();  // under the lock: once it is free, all this may be gone
      });
    }
    {
      UniqueMutexLock lock(mutex);
      came.Wait(lock, [&] { return left == 0; });
    }
    for (const Asked& each : asked) {
      if (each.fetched->result >= 0) {
        TRY(TakeValues(each.place, *each.fetched, wanted, values));
        continue;
      }
      TRY(Mend(each.place, each.fetched->result));
      // It has been split: those that have its routes now, one after the other.
      const std::string end = each.place.header->header.routes.end;
      std::string route = each.place.header->header.routes.begin;
      do {
        Place place;
        FetchedPtr fetched;
        TRY(At(tablet, route, &place, [&](const Place& at) {
          fetched = points_.ReadAndWait(at.part, at.header, wanted.cells);
          return fetched->result;
        }));
        if (place.part == nullptr) break;
        TRY(TakeValues(place, *fetched, wanted, values));
        route = place.header->header.routes.end;
      } while (route != end && !route.empty());
    }
  } while (!from.empty());
  return OkStatus();
}

Status RadosEngine::TakeValues(const Place& place, const Fetched& fetched, const Wanted& wanted,
                               std::vector<std::optional<std::string>>* values) {
  Status status;
  fetched.ForEach(wanted.cells, [&](std::string_view cell, std::string_view stored) {
    status = [&]() -> Status {
      ASSIGN_OR_RETURN(std::string value, LoadedValue(stored));
      const auto found = wanted.places.find(cell);
      if (found == wanted.places.end())
        return InternalError("a read returned a key that nobody asked for.");
      ASSIGN_OR_RETURN(const std::string key, KeyOfCell(cell));
      place.part->NoteBytes(cell.size() + stored.size());
      place.part->NoteSeen(key, kv::StampOf(value), value.size());
      const std::optional<std::string_view> route = RouteOf(place.part->tablet.space, key);
      if (route && !place.header->header.routes.Has(*route))
        return OkStatus();  // given up, and not yet removed
      for (const size_t i : found->second) {
        if (!route && values->at(i)) {
          ASSIGN_OR_RETURN(values->at(i), AddCounters(*values->at(i), value));
        } else {
          values->at(i) = value;
        }
      }
      return OkStatus();
    }();
    return status.ok();
  });
  return status;
}

// ---- reads that no thread waits for -------------------------------------------------------------

RadosEngine::~RadosEngine() {
  bulletin_.Stop();
  UniqueMutexLock lock(later_mutex_);
  later_ended_.Wait(lock, [this]() REQUIRES(later_mutex_) { return later_ == 0; });
}

void RadosEngine::GetLater(kv::Tablet tablet, std::string_view key, GetDone done) {
  {
    MutexLock lock(later_mutex_);
    ++later_;
  }
  SendLater(std::make_shared<Later>(Later{tablet, std::string(key), std::move(done), cache_.Now(),
                                          cluster_->clock().TicksMicros()}));
}

void RadosEngine::GetRecent(kv::Tablet tablet, std::string_view key, GetDone done) {
  std::optional<std::string> value;
  bool ask = false;
  if (!cache_.FindRecent(tablet, key, cluster_->options().recent_micros, &value, &ask))
    return GetLater(tablet, key, std::move(done));
  if (ask) GetLater(tablet, key, [](const Result<std::optional<std::string>>&) {});
  done(std::move(value));
}

std::optional<Place> RadosEngine::LocateCached(kv::Tablet tablet, std::string_view route) const {
  const PartListPtr parts = map_.Cached(tablet);
  if (parts == nullptr) return std::nullopt;
  const PartPtr& part = std::prev(parts->upper_bound(route))->second;
  const HeaderPtr header = part->header();
  if (header == nullptr) return std::nullopt;
  const PartHeader& is = header->header;
  const bool open = is.state != PartHeader::State::kFilling && is.fence != kv::kDroppedFence &&
                    is.routes.Has(route);
  return open ? std::optional(Place{part, header}) : std::nullopt;
}

void RadosEngine::SendLater(const LaterPtr& later) {
  const std::optional<std::string_view> route = RouteOf(later->tablet.space, later->key);
  const std::optional<Place> place = route ? LocateCached(later->tablet, *route) : std::nullopt;
  if (!place) return LocateLater(later, {}, 0);
  std::vector<std::string> cells = {KeyCell(later->key)};
  points_.ReadLater(place->part, place->header, cells,
                    [this, later, place, cells](const FetchedPtr& fetched) {
                      if (fetched->result == -ETIMEDOUT)
                        return FinishLater(
                            *later, cluster_->ErrorOf(fetched->result, place->part->object, false));
                      if (fetched->result < 0) return LocateLater(later, *place, fetched->result);
                      Result<std::optional<std::string>> value = std::optional<std::string>();
                      fetched->ForEach(cells, [&](std::string_view cell, std::string_view stored) {
                        Result<std::string> loaded = LoadedValue(stored);
                        if (!loaded.ok()) return value = std::move(loaded).error(), false;
                        place->part->NoteBytes(cell.size() + stored.size());
                        place->part->NoteSeen(later->key, kv::StampOf(*loaded), loaded->size());
                        value = std::optional(std::move(*loaded));
                        return true;
                      });
                      if (value.ok())
                        cache_.NoteRead(later->tablet, later->key, *value, later->began);
                      FinishLater(*later, std::move(value));
                    });
}

void RadosEngine::LocateLater(const LaterPtr& later, const Place& failed, int result) {
  if (++later->round > kRounds) return FinishLater(*later, BusyError());
  UniqueFunction<void()> task = [this, later, failed, result] {
    const Cluster::Since since(later->arrived);  // others may have waited here before it
    if (result < 0) {
      if (Status mended = Mend(failed, result); !mended.ok())
        return FinishLater(*later, std::move(mended).error());
    }
    const std::optional<std::string_view> route = RouteOf(later->tablet.space, later->key);
    if (!route) {  // a counter
      std::string value;
      const Result<bool> exists = Get(later->tablet, later->key, kv::Tier::kAny, &value);
      if (!exists.ok()) return FinishLater(*later, exists.error());
      return FinishLater(*later, *exists ? std::optional(std::move(value)) : std::nullopt);
    }
    const Result<Place> place = map_.Locate(later->tablet, *route);
    if (!place.ok()) return FinishLater(*later, place.error());
    if (place->part == nullptr) return FinishLater(*later, std::optional<std::string>());
    SendLater(later);
  };
  if (!waiters_.TryPost(task))
    FinishLater(*later,
                Error(ErrorCode::kUnavailable, "Too many reads wait for the Ceph cluster."));
}

void RadosEngine::FinishLater(Later& later, Result<std::optional<std::string>> value) {
  later.done(std::move(value));
  EndLater();
}

void RadosEngine::EndLater() {
  MutexLock lock(later_mutex_);
  if (--later_ == 0) later_ended_.NotifyAll();
}

// ---- the rest -----------------------------------------------------------------------------------

void RadosEngine::CreateLater(kv::Tablet tablet) {
  {
    MutexLock lock(mutex_);
    if (!created_.insert(tablet).second) return;
  }
  // If this fails, the first write creates the tablet. The reader does not wait for it: a full pool
  // refuses it, and the tablet can be read nevertheless.
  UniqueFunction<void()> task = [this, tablet] { (void)map_.PartsOrCreate(tablet).ok(); };
  writer_.TryWork(task);
}

Status RadosEngine::Scan(const kv::Range& range, kv::Tier tier,
                         FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
  if (!range.end.empty() && range.begin >= range.end) return OkStatus();
  if (tier != kv::Tier::kAny && range.ahead == nullptr) return WouldBlockError();
  return ScanParts(*cluster_, map_, range, tier, visit);
}

void RadosEngine::ReadAhead(const kv::Range& range, AheadDone done) {
  const bool empty = !range.end.empty() && range.begin >= range.end;
  const bool room = aheads_->fetch_add(1, std::memory_order_relaxed) < kAheadsAtOnce;
  std::shared_ptr<void> until_taken(
      nullptr, [aheads = aheads_](void*) { aheads->fetch_sub(1, std::memory_order_relaxed); });
  if (empty || !room) return done(nullptr);
  {
    MutexLock lock(later_mutex_);
    ++later_;
  }
  AheadDone then = [this, done = std::move(done)](std::unique_ptr<kv::Ahead> ahead) mutable {
    done(std::move(ahead));
    EndLater();
  };
  const auto locate = [&](std::string_view route) { return LocateCached(range.tablet, route); };
  if (!ReadPartAhead(*cluster_, ranges_, range, locate, std::move(until_taken), then))
    then(nullptr);
}

bool RadosEngine::SpansUnits(const kv::Batch& batch) const {
  PartListPtr parts;
  std::string_view part;  // the first route of it
  bool named = false;
  bool spans = false;
  ForEachRoute(batch, [&](kv::Tablet tablet, std::optional<std::string_view> route) {
    if (spans) return;
    if (parts == nullptr) parts = map_.Cached(tablet);
    if (parts == nullptr || parts->size() < 2) return;
    if (!route) return spans = true, void();
    const std::string_view begin = std::prev(parts->upper_bound(*route))->first;
    spans = named && begin != part;
    part = begin;
    named = true;
  });
  if (spans || !named) return spans;
  for (const kv::DeleteRange& range : batch.range_deletes) {
    const std::optional<RouteRange> routes =
        RoutesOfKeys(range.tablet.space, range.begin, range.end);
    const auto next = parts->upper_bound(part);
    spans |= !routes || routes->begin < part ||
             (next != parts->end() && (routes->end.empty() || routes->end > next->first));
  }
  return spans;
}

Result<kv::Unit> RadosEngine::UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) {
  const std::optional<std::string_view> route = RouteOf(tablet.space, key);
  if (!route) return kv::Unit{tablet, {}};
  Place place;
  if (tier == kv::Tier::kAny) {
    ASSIGN_OR_RETURN(place, map_.Locate(tablet, *route));
  } else {
    std::optional<Place> cached = LocateCached(tablet, *route);
    if (!cached) return WouldBlockError();
    place = *std::move(cached);
  }
  return kv::Unit{tablet, std::to_string(place.part == nullptr ? 0 : place.part->number)};
}

Result<std::vector<PartInfo>> RadosEngine::Parts(kv::Tablet tablet) const {
  std::vector<PartInfo> parts;
  TRY(ReadAll(
      tablet, [](ReadOp& op) { op.Attributes(); },
      [&parts](const Place& place, ReadOp& read) -> Status {
        ASSIGN_OR_RETURN(const PartSize size, DecodeSize(read.attribute(kSizeAttribute)));
        const PartHeader& header = place.header->header;
        parts.push_back({place.part->number, header.routes.begin,
                         size.bytes - std::min(size.bytes, header.given.bytes),
                         size.keys - std::min(size.keys, header.given.keys), size.unsure});
        return OkStatus();
      }));
  return parts;
}

uint64_t RadosEngine::ApproximateBytes(kv::Tablet tablet) const {
  const Result<std::vector<PartInfo>> parts = Parts(tablet);
  if (!parts.ok()) return 0;
  return std::accumulate(parts->begin(), parts->end(), uint64_t{0},
                         [](uint64_t sum, const PartInfo& part) { return sum + part.bytes; });
}

// Finds the store object, or creates it; then writes to it, so that what keeps this process from
// writing shows now.
Status OpenStore(Cluster& cluster, const std::string& process) {
  std::unique_ptr<ReadOp> read;
  int result = cluster.Read(
      kStoreObject, [](ReadOp& op) { op.Attributes(); }, &read);
  const bool look_only = cluster.options().look_only;
  if (result == -ENOENT && look_only) {
    // Check here, because a process that only reads would not find out: an erasure-coded pool
    // refuses keys only of an existing object.
    if (cluster.IsErasureCoded()) return cluster.ErrorOf(-EOPNOTSUPP, kStoreObject, false);
    const std::string& space = cluster.options().name_space;
    return Error(ErrorCode::kUnavailable,
                 fmt::format("There is no store in the pool \"{}\"{}.", cluster.options().pool,
                             space.empty() ? "" : fmt::format(", namespace \"{}\"", space)));
  }
  if (result == -ENOENT) {
    WriteOp create(cluster.api());
    create.CreateExclusively();
    create.SetAttribute(kFormatAttribute, FormatText());
    // In the same operation, so that a pool that has no keys and values gets no store object
    // either.
    create.Set("opened", process);
    result = cluster.Write(kStoreObject, create);
    if (result < 0 && result != -EEXIST) return cluster.ErrorOf(result, kStoreObject, true);
    result = cluster.Read(
        kStoreObject, [](ReadOp& op) { op.Attributes(); }, &read);
  }
  if (result < 0) return cluster.ErrorOf(result, kStoreObject, false);
  read.reset();
  TRY(RereadFormat(cluster));
  if (look_only) return OkStatus();
  while (true) {
    WriteOp opened(cluster.api());
    cluster.format().Guard(opened);
    opened.Set("opened", process);
    result = cluster.Write(kStoreObject, opened);
    if (result == 0) return OkStatus();
    if (result != -ECANCELED) return cluster.ErrorOf(result, kStoreObject, true);
    // Another process has raised the format since.
    ASSIGN_OR_RETURN(const bool changed, RereadFormat(cluster));
    if (!changed) return cluster.ErrorOf(result, kStoreObject, true);
  }
}

}  // namespace

Result<std::vector<PartInfo>> PartsOf(kv::Engine& engine, kv::Tablet tablet) {
  const auto* rados = dynamic_cast<const RadosEngine*>(&engine);
  if (rados == nullptr) return InternalError("The engine is none on RADOS.");
  return rados->Parts(tablet);
}

Status SplitPart(kv::Engine& engine, kv::Tablet tablet, std::string_view key) {
  return static_cast<RadosEngine&>(engine).Split(tablet, key);
}

void SetHooks(kv::Engine& engine, WriterHooks hooks) {
  if (auto* const rados = dynamic_cast<RadosEngine*>(&engine); rados != nullptr)
    rados->SetHooks(std::move(hooks));
}

void NoteElsewhere(kv::Engine& engine, kv::Tablet tablet, std::string_view key) {
  if (auto* const rados = dynamic_cast<RadosEngine*>(&engine); rados != nullptr)
    rados->NoteElsewhere(tablet, key);
}

Result<std::unique_ptr<kv::Engine>> OpenRados(const RadosOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Cluster> cluster, Cluster::Connect(options));
  return OpenOn(std::move(cluster), fmt::format("{:016x}{:016x}", SystemSeed(), SystemSeed()));
}

Result<std::unique_ptr<kv::Engine>> OpenOn(std::unique_ptr<Cluster> cluster,
                                           const std::string& process) {
  if (Status status = OpenStore(*cluster, process); !status.ok()) {
    // The only write was the note of the opening process, so no batch has an unknown outcome.
    if (status.error().code() != ErrorCode::kOutcomeUnknown) return status.error();
    return Error(ErrorCode::kUnavailable, fmt::format("The OSDs of the pool \"{}\" do not answer.",
                                                      cluster->options().pool));
  }
  return std::unique_ptr<kv::Engine>(std::make_unique<RadosEngine>(std::move(cluster), process));
}

}  // namespace stator::kv_rados
