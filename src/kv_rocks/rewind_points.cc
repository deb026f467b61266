#include "kv_rocks/rewind_points.h"

#include <algorithm>
#include <array>
#include <bit>
#include <future>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/string_hash.h"
#include "kv_rocks/committer.h"
#include "kv_rocks/rocks_tuning.h"

namespace stator::kv_rocks {
namespace {

// Bytes that a noted key takes beside its own: the set's node and place, and the allocator's.
constexpr size_t kNotedOverhead = 128;
// Bytes that a key of a return takes beside its own and those of its values.
constexpr size_t kReturnedOverhead = 128;
constexpr size_t kReadAtOnce = 32;
// A deleted tablet of this size on the disk has more than a return may write.
constexpr uint64_t kTooLarge = 4 * kv::RewindPoint::kMostWritten;
// Keys that are forgotten on the committer's thread.
constexpr size_t kForgottenHere = 1'000;

Error TooMuch() {
  return Error(ErrorCode::kUnavailable,
               "More was written since that moment than there is room for.");
}

}  // namespace

struct RewindPoints::Watch {
  Point* point = nullptr;
  kv::Tablet tablet;
  bool grouped = false;
  std::function<std::string_view(std::string_view key)> group_of;
  std::string group;
  // Keys that were written since.
  std::unordered_set<std::string, StringHash, std::equal_to<>> keys;
  // Ranges that were deleted since, by their begin; none meets another. An empty end is the
  // tablet's.
  std::map<std::string, std::string> ranges;
};

// All keys, and groups of them.
struct RewindPoints::OfTablet {
  std::vector<Watch*> all;
  std::function<std::string_view(std::string_view key)> group_of;
  std::map<std::string, std::vector<Watch*>, std::less<>> groups;  // none is empty
};

class RewindPoints::Point final : public kv::RewindPoint {
 public:
  Point(RewindPoints& points, Committer& committer, std::vector<kv::Watched> watched,
        std::shared_ptr<kv::RewindBudget> budget)
      : points_(points),
        committer_(committer),
        budget_(std::move(budget)),
        watches_(watched.size()) {
    for (size_t i = 0; i < watched.size(); ++i) {
      Watch& watch = watches_[i];
      watch.point = this;
      watch.tablet = watched[i].tablet;
      watch.grouped = watched[i].group_of != nullptr;
      watch.group_of = std::move(watched[i].group_of);
      watch.group = std::move(watched[i].group);
    }
  }
  ~Point() override {
    points_.Unregister(this);
    budget_->Sub(bytes());
  }

  Result<uint64_t> Rewind(kv::Batch batch, Visit visit) override;
  size_t bytes() const override { return bytes_.load(std::memory_order_relaxed); }
  bool given_up() const override { return given_up_.load(std::memory_order_relaxed); }

 private:
  friend class RewindPoints;
  friend class Return;

  RewindPoints& points_;
  Committer& committer_;
  const std::shared_ptr<kv::RewindBudget> budget_;
  std::atomic<size_t> bytes_{0};
  std::atomic<bool> given_up_{false};
  // Guarded by the mutex of points_.
  std::vector<Watch> watches_;  // never grows: tablets point to them
  SnapshotPtr snapshot_;        // null: it was given up
  uint64_t version_ = 0;        // odd while a group that writes watched keys is being written
  int weight_ = 0;              // the bit width of bytes_
  bool returning_ = false;
};

// One return. Its values are read on the caller's thread, while others write; those of keys that
// are written meanwhile make the committer read again, which callers prevent.
class RewindPoints::Return final : public Restoring {
 public:
  Return(RewindPoints& points, Point& point, kv::RewindPoint::Visit visit)
      : points_(points), point_(point), visit_(visit) {}

  Status Read() {
    changes_.clear();
    back_ = {};
    back_tablets_.clear();
    bytes_ = 0;
    SnapshotPtr snapshot;
    std::vector<Part> parts;
    {
      const MutexLock lock(points_.mutex_);
      version_ = point_.version_;
      snapshot = point_.snapshot_;
      for (const Watch& watch : point_.watches_) {
        if (watch.keys.empty() && watch.ranges.empty()) continue;
        const auto whole = watch.ranges.find("");
        if (!watch.grouped && whole != watch.ranges.end() && whole->second.empty())
          back_tablets_.push_back(watch.tablet);
        Part& part = parts.emplace_back();
        part.watch = &watch;
        part.keys.assign(watch.keys.begin(), watch.keys.end());
        part.ranges = watch.ranges;
      }
    }
    if (snapshot == nullptr) return TooMuch();
    for (Part& part : parts) {
      std::sort(part.keys.begin(), part.keys.end());
      TRY(ReadKeys(part, *snapshot));
      for (const auto& [begin, end] : part.ranges) TRY(ReadRange(part, begin, end, *snapshot));
    }
    return OkStatus();
  }

  Result<kv::Batch*> Prepare() override {
    bool same = false;
    {
      const MutexLock lock(points_.mutex_);
      same = version_ == point_.version_ && version_ % 2 == 0 && point_.snapshot_ != nullptr;
    }
    if (!same) TRY(Read());
    for (const Change& change : changes_) {
      if (change.then) {
        back_.puts.push_back({change.tablet, change.key, *change.then});
      } else {
        back_.deletes.push_back({change.tablet, change.key});
      }
    }
    return &back_;
  }

  void Begin() override {
    {
      const MutexLock lock(points_.mutex_);
      point_.returning_ = true;
    }
    for (const Change& change : changes_) {
      visit_(change.tablet, change.key, change.now ? &*change.now : nullptr,
             change.then ? &*change.then : nullptr);
    }
  }

  void End(bool written) override {
    // These are freed without the lock.
    std::vector<Watch> gone(point_.watches_.size());
    SnapshotPtr before;
    SnapshotPtr now = written ? points_.TakeSnapshot() : nullptr;
    const MutexLock lock(points_.mutex_);
    point_.returning_ = false;
    point_.version_ += 2;  // other returns to the point read again
    if (!written) return;
    for (const kv::Tablet tablet : back_tablets_) {
      if (points_.back_.insert(tablet).second)
        points_.count_.fetch_add(1, std::memory_order_relaxed);
    }
    if (point_.given_up()) return;
    for (size_t i = 0; i < gone.size(); ++i) {
      std::swap(gone[i].keys, point_.watches_[i].keys);
      std::swap(gone[i].ranges, point_.watches_[i].ranges);
    }
    point_.budget_->Sub(point_.bytes_.exchange(0));
    points_.Weigh(&point_);
    // The watched keys are as they were, and RocksDB may forget what others were.
    before = std::exchange(point_.snapshot_, std::move(now));
  }

 private:
  struct Part {
    const Watch* watch = nullptr;
    std::vector<std::string> keys;
    std::map<std::string, std::string> ranges;
  };
  struct Change {
    kv::Tablet tablet;
    std::string key;
    std::optional<std::string> now;
    std::optional<std::string> then;
  };

  Status ReadKeys(const Part& part, const rocksdb::Snapshot& snapshot) {
    for (size_t begin = 0; begin < part.keys.size(); begin += kReadAtOnce) {
      const size_t end = std::min(part.keys.size(), begin + kReadAtOnce);
      std::vector<std::string_view> keys(part.keys.begin() + begin, part.keys.begin() + end);
      TRY(ReadNow(part.watch->tablet, keys));
      std::array<std::optional<std::string>, kReadAtOnce> now;
      for (size_t i = 0; i < keys.size(); ++i) now[i] = std::move(found_[i]);
      TRY(ReadAt(part.watch->tablet, keys, &snapshot));
      for (size_t i = 0; i < keys.size(); ++i)
        TRY(Add(part.watch->tablet, keys[i], std::move(now[i]), std::move(found_[i])));
    }
    return OkStatus();
  }

  // Adds the keys that a deleted range had; keys that were written since come with the others.
  Status ReadRange(const Part& part, const std::string& begin, const std::string& end,
                   const rocksdb::Snapshot& snapshot) {
    const Watch& watch = *part.watch;
    char room[kTabletBytes];
    const PrefixedKey first(watch.tablet.id, begin);
    const PrefixedKey last(watch.tablet.id, end);
    const rocksdb::Slice lower = first.slice();
    const rocksdb::Slice upper =
        end.empty() ? ToSlice(PrefixedKey::TabletEnd(watch.tablet.id, room)) : last.slice();
    rocksdb::ReadOptions options;
    options.snapshot = &snapshot;
    options.iterate_lower_bound = &lower;
    options.iterate_upper_bound = &upper;
    options.total_order_seek = true;
    options.fill_cache = false;
    const std::unique_ptr<rocksdb::Iterator> it(
        points_.db_->NewIterator(options, Family(watch.tablet)));
    for (it->Seek(lower); it->Valid(); it->Next()) {
      const std::string_view key = ToView(it->key()).substr(kTabletBytes);
      if (watch.grouped && watch.group_of(key) != watch.group) continue;
      if (std::binary_search(part.keys.begin(), part.keys.end(), key)) continue;
      TRY(ReadNow(watch.tablet, {key}));
      TRY(Add(watch.tablet, key, std::move(found_[0]), std::string(ToView(it->value()))));
    }
    return it->status().ok() ? OkStatus() : Status(ReadError(it->status()));
  }

  Status ReadNow(kv::Tablet tablet, const std::vector<std::string_view>& keys) {
    return ReadAt(tablet, keys, nullptr);
  }
  // Fills found_.
  Status ReadAt(kv::Tablet tablet, const std::vector<std::string_view>& keys,
                const rocksdb::Snapshot* snapshot) {
    rocksdb::ReadOptions options;
    options.snapshot = snapshot;
    std::string room[kReadAtOnce];
    rocksdb::Slice slices[kReadAtOnce];
    rocksdb::PinnableSlice values[kReadAtOnce];
    rocksdb::Status statuses[kReadAtOnce];
    for (size_t i = 0; i < keys.size(); ++i) {
      room[i] = PrefixedKey(tablet.id, keys[i]).view();
      slices[i] = room[i];
    }
    points_.db_->MultiGet(options, Family(tablet), keys.size(), slices, values, statuses);
    for (size_t i = 0; i < keys.size(); ++i) {
      found_[i].reset();
      if (statuses[i].IsNotFound()) continue;
      if (!statuses[i].ok()) return ReadError(statuses[i]);
      found_[i].emplace(values[i].data(), values[i].size());
    }
    return OkStatus();
  }

  Status Add(kv::Tablet tablet, std::string_view key, std::optional<std::string> now,
             std::optional<std::string> then) {
    if (now == then) return OkStatus();
    bytes_ += kReturnedOverhead + key.size() + (now ? now->size() : 0) + (then ? then->size() : 0);
    if (bytes_ > kv::RewindPoint::kMostWritten) {
      const MutexLock lock(points_.mutex_);
      points_.GiveUp(&point_);
      points_.UnlinkGivenUp();
      return TooMuch();
    }
    changes_.push_back({tablet, std::string(key), std::move(now), std::move(then)});
    return OkStatus();
  }

  rocksdb::ColumnFamilyHandle* Family(kv::Tablet tablet) const {
    return points_.families_[FamilyIndex(tablet.space)];
  }

  RewindPoints& points_;
  Point& point_;
  const kv::RewindPoint::Visit visit_;
  uint64_t version_ = 0;  // of the point, when it was read
  std::vector<Change> changes_;
  size_t bytes_ = 0;
  std::array<std::optional<std::string>, kReadAtOnce> found_;
  kv::Batch back_;
  std::vector<kv::Tablet> back_tablets_;  // all of their keys were deleted
};

Result<uint64_t> RewindPoints::Point::Rewind(kv::Batch batch, Visit visit) {
  Return work(points_, *this, visit);
  TRY(work.Read());
  std::promise<Result<uint64_t>> outcome;
  std::future<Result<uint64_t>> waiting = outcome.get_future();
  committer_.ApplyReturn(std::move(batch), &work, [&outcome](Result<uint64_t> stamp) {
    outcome.set_value(std::move(stamp));
  });
  return waiting.get();
}

RewindPoints::RewindPoints(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> families)
    : db_(db), families_(std::move(families)) {}
RewindPoints::~RewindPoints() = default;

std::unique_ptr<kv::RewindPoint> RewindPoints::Set(Committer& committer,
                                                   std::vector<kv::Watched> watched,
                                                   std::shared_ptr<kv::RewindBudget> budget) {
  auto point = std::make_unique<Point>(*this, committer, std::move(watched), std::move(budget));
  std::promise<void> set;
  std::future<void> waiting = set.get_future();
  // An empty batch is done between two groups, on the thread that writes them, or when nothing is
  // written any more.
  committer.Apply({}, [&](const Result<uint64_t>&) {
    Register(point.get());
    set.set_value();
  });
  waiting.get();
  return point;
}

RewindPoints::SnapshotPtr RewindPoints::TakeSnapshot() {
  const MutexLock lock(snapshots_mutex_);
  const rocksdb::Snapshot* const snapshot = db_->GetSnapshot();
  ++snapshots_;
  return SnapshotPtr(snapshot, [this](const rocksdb::Snapshot* held) {
    const MutexLock release(snapshots_mutex_);
    db_->ReleaseSnapshot(held);
    --snapshots_;
  });
}

bool RewindPoints::HoldAllSnapshots() const {
  const MutexLock lock(snapshots_mutex_);
  uint64_t all = 0;
  return db_->GetIntProperty(rocksdb::DB::Properties::kNumSnapshots, &all) && all == snapshots_;
}

bool RewindPoints::MayReturn(kv::Tablet tablet) const {
  const MutexLock lock(mutex_);
  return tablets_.contains(tablet) || back_.contains(tablet);
}

void RewindPoints::Register(Point* point) {
  const MutexLock lock(mutex_);
  point->snapshot_ = TakeSnapshot();
  for (Watch& watch : point->watches_) {
    std::unique_ptr<OfTablet>& tablet = tablets_[watch.tablet];
    if (tablet == nullptr) tablet = std::make_unique<OfTablet>();
    if (watch.grouped) {
      if (tablet->group_of == nullptr) tablet->group_of = watch.group_of;
      tablet->groups[watch.group].push_back(&watch);
    } else {
      tablet->all.push_back(&watch);
    }
  }
  count_.fetch_add(1, std::memory_order_relaxed);
}

void RewindPoints::Unregister(Point* point) {
  SnapshotPtr gone;
  const MutexLock lock(mutex_);
  if (!point->given_up()) Unlink(point);
  std::erase(touched_, point);
  gone = std::move(point->snapshot_);
  count_.fetch_sub(1, std::memory_order_relaxed);
}

void RewindPoints::Unlink(Point* point) {
  for (Watch& watch : point->watches_) {
    const auto tablet = tablets_.find(watch.tablet);
    if (watch.grouped) {
      const auto group = tablet->second->groups.find(watch.group);
      std::erase(group->second, &watch);
      if (group->second.empty()) tablet->second->groups.erase(group);
    } else {
      std::erase(tablet->second->all, &watch);
    }
    if (tablet->second->all.empty() && tablet->second->groups.empty()) tablets_.erase(tablet);
  }
  SetWeight(point, 0);
}

void RewindPoints::Note(const kv::Batch& batch) {
  const MutexLock lock(mutex_);
  for (const kv::DeleteRange& range : batch.range_deletes) NoteRange(range);
  for (const kv::Put& put : batch.puts) NoteKey(put.tablet, put.key);
  for (const kv::Delete& gone : batch.deletes) NoteKey(gone.tablet, gone.key);
  for (const kv::Add& add : batch.adds) NoteKey(add.tablet, add.key);
  UnlinkGivenUp();
}

void RewindPoints::EndGroup() {
  const MutexLock lock(mutex_);
  for (Point* const point : touched_) ++point->version_;
  touched_.clear();
}

void RewindPoints::Touch(Point* point) {
  if (point->version_ % 2 != 0) return;
  ++point->version_;
  touched_.push_back(point);
}

void RewindPoints::NoteKey(kv::Tablet tablet, std::string_view key) {
  const auto found = tablets_.find(tablet);
  if (found == tablets_.end()) return;
  const auto note = [&](const std::vector<Watch*>& watches) REQUIRES(mutex_) {
    for (Watch* const watch : watches) {
      Point* const point = watch->point;
      if (point->given_up()) continue;
      Touch(point);
      if (watch->keys.contains(key)) continue;
      if (Count(point, kNotedOverhead + key.size())) watch->keys.emplace(key);
    }
  };
  note(found->second->all);
  if (found->second->groups.empty()) return;
  const auto group = found->second->groups.find(found->second->group_of(key));
  if (group != found->second->groups.end()) note(group->second);
}

void RewindPoints::NoteRange(const kv::DeleteRange& range) {
  if (!range.end.empty() && range.begin >= range.end) return;
  if (range.begin.empty() && range.end.empty() && back_.erase(range.tablet) > 0)
    count_.fetch_sub(1, std::memory_order_relaxed);
  const auto found = tablets_.find(range.tablet);
  if (found == tablets_.end()) return;
  for (Watch* const watch : found->second->all) NoteRangeOf(watch, range);
  for (const auto& [group, watches] : found->second->groups) {
    for (Watch* const watch : watches) NoteRangeOf(watch, range);
  }
}

void RewindPoints::NoteRangeOf(Watch* watch, const kv::DeleteRange& range) {
  Point* const point = watch->point;
  if (point->given_up()) return;
  Touch(point);
  std::string begin = range.begin;
  std::string end = range.end;
  const auto before_end = [](const std::string& key, const std::string& of) {
    return of.empty() || key <= of;
  };
  // Grows over those that it meets.
  auto met = watch->ranges.upper_bound(begin);
  if (met != watch->ranges.begin() && before_end(begin, std::prev(met)->second)) --met;
  size_t less = 0;
  while (met != watch->ranges.end() && before_end(met->first, end)) {
    if (met->first <= begin && !end.empty() && before_end(end, met->second)) return;  // is in it
    if (met->first <= begin && met->second.empty()) return;
    begin = std::min(begin, met->first);
    if (met->second.empty() || (!end.empty() && met->second > end)) end = met->second;
    less += kNotedOverhead + met->first.size() + met->second.size();
    met = watch->ranges.erase(met);
  }
  point->budget_->Sub(less);
  point->bytes_.fetch_sub(less, std::memory_order_relaxed);
  if (!Count(point, kNotedOverhead + begin.size() + end.size())) return;
  watch->ranges.emplace(std::move(begin), std::move(end));
  // No return brings a large table back, so nothing is kept of it. The size on the disk is an
  // estimate, and has what was replaced; the return counts.
  if (watch->grouped || !range.begin.empty() || !range.end.empty()) return;
  rocksdb::ColumnFamilyHandle* const family = families_[FamilyIndex(range.tablet.space)];
  if (SizeOfTablet(*db_, family, range.tablet.id) > kTooLarge) GiveUp(point);
}

bool RewindPoints::Count(Point* point, size_t more) {
  while (!point->budget_->TryAdd(more)) {
    Point* heaviest = nullptr;
    for (auto weight = by_weight_.rbegin(); weight != by_weight_.rend(); ++weight) {
      for (Point* const other : weight->second) {
        if (other->budget_ == point->budget_ && !other->returning_) heaviest = other;
        if (heaviest != nullptr) break;
      }
      if (heaviest != nullptr) break;
    }
    const int own = std::bit_width(point->bytes() + more);
    if (heaviest != nullptr && heaviest != point && heaviest->weight_ > own) {
      GiveUp(heaviest);
    } else if (point->returning_) {
      point->budget_->Add(more);
      break;
    } else {
      GiveUp(point);
      return false;
    }
  }
  point->bytes_.fetch_add(more, std::memory_order_relaxed);
  Weigh(point);
  return true;
}

void RewindPoints::Weigh(Point* point) { SetWeight(point, std::bit_width(point->bytes())); }

void RewindPoints::SetWeight(Point* point, int weight) {
  if (weight == point->weight_) return;
  if (point->weight_ > 0) {
    const auto found = by_weight_.find(point->weight_);
    found->second.erase(point);
    if (found->second.empty()) by_weight_.erase(found);
  }
  point->weight_ = weight;
  if (weight > 0) by_weight_[weight].insert(point);
}

void RewindPoints::GiveUp(Point* point) {
  if (point->given_up_.exchange(true)) return;
  for (Watch& watch : point->watches_) {
    if (watch.keys.size() > kForgottenHere)
      disposal_.Add([keys = std::exchange(watch.keys, {})] {});
    watch.keys.clear();
    watch.ranges.clear();
  }
  point->budget_->Sub(point->bytes_.exchange(0));
  Weigh(point);
  point->snapshot_ = nullptr;
  given_up_.push_back(point);
}

void RewindPoints::UnlinkGivenUp() {
  for (Point* const point : given_up_) Unlink(point);
  given_up_.clear();
}

}  // namespace stator::kv_rocks
