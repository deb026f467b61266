#include "kv_rados/rados_engine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/random.h"
#include "kv_rados/bulletin.h"
#include "kv_rados/cluster.h"
#include "kv_rados/fences.h"
#include "kv_rados/layout.h"
#include "kv_rados/point_reads.h"
#include "kv_rados/tablet_map.h"
#include "kv_rados/value_cache.h"
#include "kv_rados/writer.h"

namespace stator::kv_rados {
namespace {

// The first read of a scan is small: nobody says how far it will go. Each further one is twice as large, up to kReadBytes.
constexpr size_t kFirstReadBytes = 128 << 10;
// Threads for what GetLater cannot do without waiting, and how many reads may stand in line for them.
constexpr int kWaiters = 2;
constexpr size_t kMaxInLine = 10'000;
constexpr int kRounds = 10;  // of a read whose operations are refused, because the tablet changes

class RadosEngine final : public kv::Engine {
 public:
  RadosEngine(std::unique_ptr<Cluster> cluster, std::string process)
      : bulletin_(*cluster),
        cluster_(std::move(cluster)),
        map_(*cluster_),
        cache_(cluster_->options().guarded_cache_bytes),
        writer_(*cluster_, map_, cache_, std::move(process)),
        channel_(*cluster_),
        points_(channel_, [this] { return cluster_->clock().TicksMicros(); },
                [this](int64_t ticks) { return cluster_->PastDeadline(ticks); }),
        waiters_(kWaiters, kMaxInLine) {}
  ~RadosEngine() override;

  kv::Capabilities capabilities() const override {
    return {.atomic_across_tablets = false,
            .exclusive = false,
            .blocking = true,
            .durable = true,
            .scans_of_one_state = false,
            .max_tablet_bytes = cluster_->options().max_tablet_bytes};
  }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier, std::string* value) override;
  void GetLater(kv::Tablet tablet, std::string_view key, GetDone done) override;
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier, std::vector<std::optional<std::string>>* values) override;
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void Apply(kv::Batch batch, kv::ApplyDone done) override { writer_.Apply(std::move(batch), std::move(done)); }
  Status RaiseFence(kv::Tablet tablet, uint64_t fence) override { return kv_rados::RaiseFence(*cluster_, map_, tablet, fence); }
  kv::Bulletin* bulletin() override { return &bulletin_; }
  Status Health() const override { return writer_.Health(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override;
  std::map<std::string, double> Statistics() const override {
    std::map<std::string, double> statistics;
    writer_.AddStatistics(&statistics);
    statistics["kv_rados_watches_lost"] = static_cast<double>(bulletin_.lost());
    statistics["kv_rados_point_reads"] = static_cast<double>(points_.reads());
    statistics["kv_rados_point_read_operations"] = static_cast<double>(points_.operations());
    statistics["kv_rados_cache_bytes"] = static_cast<double>(cache_.bytes());
    statistics["kv_rados_cache_hits"] = static_cast<double>(cache_.hits());
    statistics["kv_rados_cache_misses"] = static_cast<double>(cache_.misses());
    return statistics;
  }
  Status Checkpoint(const std::string&) override {
    return Error(ErrorCode::kUnavailable,
                 "A store in a Ceph pool cannot be copied to a directory. Take a snapshot of the pool instead.");
  }

 private:
  // Fills an operation on the part that holds the tablet, and reads. *part is null, and nothing was read, if the tablet was never
  // written to.
  Status Read(kv::Tablet tablet, FunctionRef<void(ReadOp&)> fill, PartPtr* part, std::unique_ptr<ReadOp>* read) const;

  // Reads cells of a tablet from one state, together with what others read. *part as of Read.
  Status ReadPoints(kv::Tablet tablet, const std::vector<std::string>& cells, PartPtr* part, FetchedPtr* fetched);
  // As MultiGet, from what is remembered.
  Status GetGuarded(std::span<const kv::Point> points, std::vector<std::optional<std::string>>* values);
  // Where operations on the tablet go, and the header that they compare; part is null if it was never written to. May wait.
  struct Place {
    PartPtr part;
    HeaderPtr header;
  };
  Result<Place> Locate(kv::Tablet tablet);
  // An operation failed with `result`. OK if it is worth another round at a place that is located anew.
  Status Mend(const Place& place, int result);

  // A read that no thread waits for.
  struct Later {
    kv::Tablet tablet;
    std::string key;
    GetDone done;
    ValueCache::Moment began;
    int round = 0;
  };
  using LaterPtr = std::shared_ptr<Later>;
  void SendLater(const LaterPtr& later);
  void LocateLater(const LaterPtr& later, const Place& failed, int result);
  void FinishLater(Later& later, Result<std::optional<std::string>> value);

  using Entries = std::vector<std::pair<std::string, std::string>>;  // keys and values
  // The next entries of a range from one state, in order: at most `limit` and all with keys in [begin, end). *more says whether
  // the range may have others behind them.
  Status ReadForward(const kv::Range& range, size_t limit, Entries* entries, bool* more);
  Status ReadReverse(const kv::Range& range, size_t limit, Entries* entries, bool* more);

  RadosBulletin bulletin_;  // outlives the cluster
  const std::unique_ptr<Cluster> cluster_;
  mutable TabletMap map_;  // a cache
  ValueCache cache_;
  Writer writer_;
  ClusterChannel channel_;
  PointReads points_;

  Mutex later_mutex_;
  std::condition_variable_any later_ended_;
  size_t later_ GUARDED_BY(later_mutex_) = 0;  // without an answer
  WorkerPool waiters_;
};

Error WouldBlockError() { return Error(ErrorCode::kWouldBlock, "Every read of this store waits for the network."); }

Status RadosEngine::Read(kv::Tablet tablet, FunctionRef<void(ReadOp&)> fill, PartPtr* part,
                         std::unique_ptr<ReadOp>* read) const {
  for (int round = 0;; ++round) {
    ASSIGN_OR_RETURN(*part, map_.Find(tablet, {}));
    if (*part == nullptr) return OkStatus();
    HeaderPtr header = (*part)->header();
    if (header != nullptr && header->header.fence == kv::kDroppedFence) return FencedError(header->header);
    // Where the header is not known it comes with what is read.
    const int result = cluster_->Read((*part)->object, [&](ReadOp& op) {
      header != nullptr ? op.GuardAttribute(kHeaderAttribute, header->bytes) : op.Attributes();
      fill(op);
    }, read);
    if (result >= 0) {
      if (header == nullptr) {
        ASSIGN_OR_RETURN(header, (*part)->Learn((*read)->attribute(kHeaderAttribute)));
        if (header->header.fence == kv::kDroppedFence) return FencedError(header->header);
      }
      return OkStatus();
    }
    if (result == -ENOENT) {
      TRY(map_.Recheck(*part));
    } else if (result == -ECANCELED) {
      (*part)->Forget(header);
    } else {
      return cluster_->ErrorOf(result, (*part)->object, false);
    }
    if (round == 10) return Error(ErrorCode::kUnavailable, "A tablet changes faster than its map can be read.");
  }
}

Result<bool> RadosEngine::Get(kv::Tablet tablet, std::string_view key, kv::Tier tier, std::string* value) {
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
  if (tier == kv::Tier::kGuarded) return GetGuarded(points, values);
  if (tier != kv::Tier::kAny) return WouldBlockError();
  std::vector<std::string> cells;
  std::map<std::string, std::vector<size_t>, std::less<>> places;  // a key may be asked for more than once
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i].tablet != points[0].tablet) {
      return Error(ErrorCode::kSpansUnits, "a read spans tablets, which are not read together on this engine.");
    }
    cells.push_back(KeyCell(points[i].key));
    places[cells.back()].push_back(i);
  }
  const ValueCache::Moment began = cache_.Now();
  PartPtr part;
  FetchedPtr fetched;
  TRY(ReadPoints(points[0].tablet, cells, &part, &fetched));
  if (part == nullptr) return OkStatus();
  Status status;
  fetched->ForEach(cells, [&](std::string_view cell, std::string_view stored) {
    Result<std::string> value = LoadedValue(stored);
    if (!value.ok()) return status = std::move(value).error(), false;
    const std::vector<size_t>& wanted = places.find(cell)->second;
    part->NoteBytes(cell.size() + stored.size());
    part->seen.Note(points[wanted.front()].key, kv::StampOf(*value), value->size());
    for (const size_t i : wanted) values->at(i) = *value;
    return true;
  });
  TRY(std::move(status));
  for (size_t i = 0; i < points.size(); ++i) cache_.NoteRead(points[i].tablet, points[i].key, values->at(i), began);
  return OkStatus();
}

Status RadosEngine::GetGuarded(std::span<const kv::Point> points, std::vector<std::optional<std::string>>* values) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (!cache_.Find(points[i].tablet, points[i].key, &values->at(i))) return WouldBlockError();
  }
  return OkStatus();
}

Result<RadosEngine::Place> RadosEngine::Locate(kv::Tablet tablet) {
  ASSIGN_OR_RETURN(PartPtr part, map_.Find(tablet, {}));
  if (part == nullptr) return Place();
  HeaderPtr header = part->header();
  if (header == nullptr) {
    ASSIGN_OR_RETURN(header, ReadHeader(*cluster_, *part));
  }
  if (header->header.fence == kv::kDroppedFence) return FencedError(header->header);
  return Place{std::move(part), std::move(header)};
}

Status RadosEngine::Mend(const Place& place, int result) {
  if (result == -ENOENT) return map_.Recheck(place.part);
  if (result != -ECANCELED) return cluster_->ErrorOf(result, place.part->object, false);
  place.part->Forget(place.header);
  return OkStatus();
}

Status RadosEngine::ReadPoints(kv::Tablet tablet, const std::vector<std::string>& cells, PartPtr* part, FetchedPtr* fetched) {
  for (int round = 0; round < kRounds; ++round) {
    ASSIGN_OR_RETURN(const Place place, Locate(tablet));
    *part = place.part;
    if (place.part == nullptr) return OkStatus();
    *fetched = points_.ReadAndWait(place.part, place.header, cells);
    if ((*fetched)->result >= 0) return OkStatus();
    TRY(Mend(place, (*fetched)->result));
  }
  return Error(ErrorCode::kUnavailable, "A tablet changes faster than its map can be read.");
}

// ---- reads that no thread waits for ----------------------------------------------------------------------------------

RadosEngine::~RadosEngine() {
  bulletin_.Stop();
  std::unique_lock<Mutex> lock(later_mutex_);
  later_ended_.wait(lock, [this]() NO_THREAD_SAFETY_ANALYSIS { return later_ == 0; });
}

void RadosEngine::GetLater(kv::Tablet tablet, std::string_view key, GetDone done) {
  {
    MutexLock lock(later_mutex_);
    ++later_;
  }
  SendLater(std::make_shared<Later>(Later{tablet, std::string(key), std::move(done), cache_.Now()}));
}

void RadosEngine::SendLater(const LaterPtr& later) {
  Place place{map_.FindCached(later->tablet), nullptr};
  if (place.part != nullptr) place.header = place.part->header();
  if (place.header == nullptr || place.header->header.fence == kv::kDroppedFence) return LocateLater(later, {}, 0);
  std::vector<std::string> cells = {KeyCell(later->key)};
  points_.ReadLater(place.part, place.header, cells, [this, later, place, cells](const FetchedPtr& fetched) {
    if (fetched->result < 0) return LocateLater(later, place, fetched->result);
    Result<std::optional<std::string>> value = std::optional<std::string>();
    fetched->ForEach(cells, [&](std::string_view cell, std::string_view stored) {
      Result<std::string> loaded = LoadedValue(stored);
      if (!loaded.ok()) return value = std::move(loaded).error(), false;
      place.part->NoteBytes(cell.size() + stored.size());
      place.part->seen.Note(later->key, kv::StampOf(*loaded), loaded->size());
      value = std::optional(std::move(*loaded));
      return true;
    });
    if (value.ok()) cache_.NoteRead(later->tablet, later->key, *value, later->began);
    FinishLater(*later, std::move(value));
  });
}

void RadosEngine::LocateLater(const LaterPtr& later, const Place& failed, int result) {
  if (++later->round > kRounds) {
    return FinishLater(*later, Error(ErrorCode::kUnavailable, "A tablet changes faster than its map can be read."));
  }
  UniqueFunction<void()> task = [this, later, failed, result] {
    if (result < 0) {
      if (Status mended = Mend(failed, result); !mended.ok()) return FinishLater(*later, std::move(mended).error());
    }
    const Result<Place> place = Locate(later->tablet);
    if (!place.ok()) return FinishLater(*later, place.error());
    if (place->part == nullptr) return FinishLater(*later, std::optional<std::string>());
    SendLater(later);
  };
  if (!waiters_.TryPost(task)) FinishLater(*later, Error(ErrorCode::kUnavailable, "Too many reads wait for the Ceph cluster."));
}

void RadosEngine::FinishLater(Later& later, Result<std::optional<std::string>> value) {
  later.done(std::move(value));
  MutexLock lock(later_mutex_);
  if (--later_ == 0) later_ended_.notify_all();
}

// ---- ranges ------------------------------------------------------------------------------------------------------------

Status RadosEngine::ReadForward(const kv::Range& range, size_t limit, Entries* entries, bool* more) {
  PartPtr part;
  std::unique_ptr<ReadOp> read;
  TRY(Read(range.tablet, [&](ReadOp& op) { op.Range(StartAt(range.begin), CommonCellPrefix(range.begin, range.end), limit); },
           &part, &read));
  *more = false;
  if (part == nullptr) return OkStatus();
  *more = read->more(0);
  Status status;
  read->ForEach(0, [&](std::string_view cell, std::string_view stored) {
    Result<std::string> key = KeyOfCell(cell);
    if (!key.ok()) return status = std::move(key).error(), false;
    if (!range.end.empty() && *key >= range.end) return *more = false;
    Result<std::string> value = LoadedValue(stored);
    if (!value.ok()) return status = std::move(value).error(), false;
    part->NoteBytes(cell.size() + stored.size());
    part->seen.Note(*key, kv::StampOf(*value), value->size());
    entries->emplace_back(std::move(*key), std::move(*value));
    return true;
  });
  return status;
}

// First the keys, from the reverse order; then their values, and the keys again: if they are still the same, the second read
// alone shows one state. Only keys that come and go make it start over, not values that change.
Status RadosEngine::ReadReverse(const kv::Range& range, size_t limit, Entries* entries, bool* more) {
  const std::string start = range.end.empty() ? std::string(1, kReverseCell) : ReverseCell(range.end);
  const std::string prefix = CommonReversePrefix(range.begin, range.end);
  const int64_t started = cluster_->clock().TicksMicros();
  std::vector<std::string> keys, cells;
  for (bool first = true;; first = false) {
    PartPtr part;
    std::unique_ptr<ReadOp> read;
    TRY(Read(range.tablet, [&](ReadOp& op) {
      op.Range(start, prefix, limit);
      if (!cells.empty()) op.Keys(cells);
    }, &part, &read));
    *more = false;
    if (part == nullptr) return OkStatus();
    *more = read->more(0);
    std::vector<std::string> now;
    Status status;
    read->ForEach(0, [&](std::string_view cell, std::string_view) {
      Result<std::string> key = KeyOfCell(cell);
      if (!key.ok()) return status = std::move(key).error(), false;
      if (*key < range.begin) return *more = false;
      now.push_back(std::move(*key));
      return true;
    });
    TRY(std::move(status));
    if (now.empty()) return OkStatus();
    if (now == keys) {
      std::map<std::string, std::string, std::less<>> values;
      read->ForEach(1, [&](std::string_view cell, std::string_view stored) {
        Result<std::string> value = LoadedValue(stored);
        if (!value.ok()) return status = std::move(value).error(), false;
        part->NoteBytes(cell.size() + stored.size());
        values.emplace(cell, std::move(*value));
        return true;
      });
      TRY(std::move(status));
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto value = values.find(cells[i]);
        if (value == values.end()) {
          return CorruptionError(fmt::format("The object {} has a key in its reverse order that has no value.", part->object));
        }
        part->seen.Note(keys[i], kv::StampOf(value->second), value->second.size());
        entries->emplace_back(std::move(keys[i]), std::move(value->second));
      }
      return OkStatus();
    }
    if (!first && cluster_->PastDeadline(started)) {
      return Error(ErrorCode::kUnavailable, "Keys come and go faster than they can be read in reverse.");
    }
    keys = std::move(now);
    cells.clear();
    for (const std::string& key : keys) cells.push_back(KeyCell(key));
  }
}

Status RadosEngine::Scan(const kv::Range& range, kv::Tier tier,
                         FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
  if (!range.end.empty() && range.begin >= range.end) return OkStatus();
  if (tier != kv::Tier::kAny) return WouldBlockError();
  std::string begin(range.begin), end(range.end);
  ASSIGN_OR_RETURN(const PartPtr part, map_.Find(range.tablet, {}));
  if (part == nullptr) return OkStatus();
  size_t bytes = kFirstReadBytes;
  for (bool more = true; more; bytes = std::min(2 * bytes, kReadBytes)) {
    const size_t limit = part->KeysFor(bytes);
    Entries entries;
    const kv::Range rest{range.tablet, begin, end, range.reverse};
    TRY(range.reverse ? ReadReverse(rest, limit, &entries, &more) : ReadForward(rest, limit, &entries, &more));
    for (const auto& [key, value] : entries) {
      if (!visit(key, value)) return OkStatus();
    }
    if (entries.empty()) return OkStatus();
    if (range.reverse) {
      end = std::move(entries.back().first);
      if (end.empty()) return OkStatus();  // the first of all keys
    } else {
      begin = std::move(entries.back().first);
      begin.push_back('\0');
    }
  }
  return OkStatus();
}

uint64_t RadosEngine::ApproximateBytes(kv::Tablet tablet) const {
  PartPtr part;
  std::unique_ptr<ReadOp> read;
  const Status status = Read(tablet, [](ReadOp& op) { op.Attributes(); }, &part, &read);
  if (!status.ok() || part == nullptr) return 0;
  const Result<TabletSize> size = DecodeSize(read->attribute(kSizeAttribute));
  return size.ok() ? size->bytes : 0;
}

// Finds the store object, or creates it; then writes to it, so that what keeps this process from writing shows now.
Status OpenStore(Cluster& cluster, const std::string& process) {
  std::unique_ptr<ReadOp> read;
  int result = cluster.Read(kStoreObject, [](ReadOp& op) { op.Attributes(); }, &read);
  if (result == -ENOENT) {
    WriteOp create(cluster.api());
    create.CreateExclusively();
    create.SetAttribute(kFormatAttribute, FormatText());
    // In the same operation, so that a pool that has no keys and values gets no store object either.
    create.Set("opened", process);
    result = cluster.Write(kStoreObject, create);
    if (result < 0 && result != -EEXIST) return cluster.ErrorOf(result, kStoreObject, true);
    result = cluster.Read(kStoreObject, [](ReadOp& op) { op.Attributes(); }, &read);
  }
  if (result < 0) return cluster.ErrorOf(result, kStoreObject, false);
  TRY(CheckFormat(read->attribute(kFormatAttribute)));
  WriteOp opened(cluster.api());
  opened.GuardAttribute(kFormatAttribute, FormatText());
  opened.Set("opened", process);
  result = cluster.Write(kStoreObject, opened);
  return result < 0 ? Status(cluster.ErrorOf(result, kStoreObject, true)) : OkStatus();
}

}  // namespace

Result<std::unique_ptr<kv::Engine>> OpenRados(const RadosOptions& options) {
  ASSIGN_OR_RETURN(std::unique_ptr<Cluster> cluster, Cluster::Connect(options));
  const std::string process = fmt::format("{:016x}{:016x}", SystemSeed(), SystemSeed());
  if (Status status = OpenStore(*cluster, process); !status.ok()) {
    // Nothing was written but who opened the store, so no outcome is unknown to anybody.
    if (status.error().code() != ErrorCode::kOutcomeUnknown) return status.error();
    return Error(ErrorCode::kUnavailable, fmt::format("The OSDs of the pool \"{}\" do not answer.", options.pool));
  }
  return std::unique_ptr<kv::Engine>(std::make_unique<RadosEngine>(std::move(cluster), process));
}

}  // namespace stator::kv_rados
