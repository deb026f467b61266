#include "kv/memory_engine.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "kv/memory_rewind.h"

namespace stator::kv {
namespace {

// Keys that a write frees itself.
constexpr size_t kDisposedHere = 1'000;
// Bytes that a pin takes for a key that it keeps, beside the key's and the value's: the map's node.
constexpr size_t kPinnedOverhead = 112;

}  // namespace

struct MemoryEngine::Replaced {
  Replaced(std::shared_ptr<std::atomic<size_t>> all, const std::string* now) : sum(std::move(all)) {
    if (now != nullptr) value = *now;
    sum->fetch_add(bytes(), std::memory_order_relaxed);
  }
  Replaced(const Replaced&) = delete;
  Replaced& operator=(const Replaced&) = delete;
  ~Replaced() { sum->fetch_sub(bytes(), std::memory_order_relaxed); }
  size_t bytes() const { return sizeof(*this) + (value ? value->size() : 0); }

  const std::shared_ptr<std::atomic<size_t>> sum;
  std::optional<std::string> value;
};

// Reads on from `next_`. It no longer needs what writes replace behind it.
class MemoryEngine::Pinned final : public PinnedRange {
 public:
  // The caller holds the lock, alone.
  Pinned(MemoryEngine& engine, const Range& range)
      : engine_(engine), tablet_(range.tablet), next_(range.begin), end_(range.end) {
    engine_.pins_.push_back(this);
  }
  ~Pinned() override {
    {
      std::unique_lock lock(engine_.mutex_);
      std::erase(engine_.pins_, this);
    }
    Count(-static_cast<int64_t>(own_bytes_));
  }

  Result<bool> Next(Visit visit) override {
    TRY(failed_);
    if (done_) return false;
    std::vector<std::pair<std::string, std::string>> stretch;
    bool more = false;
    {
      std::shared_lock lock(engine_.mutex_);
      if (given_up_)
        failed_ = Error(ErrorCode::kUnavailable, "Too much was written while the table was read.");
      TRY(failed_);
      more = Read(&stretch);
    }
    for (const auto& [key, value] : stretch) {
      failed_ = visit(key, value);
      TRY(failed_);
    }
    return more;
  }

  // Whether what is about to change has still to be read. The caller holds the lock, alone.
  bool Needs(Tablet tablet, std::string_view key) const {
    return tablet == tablet_ && key >= next_ && (end_.empty() || key < end_) && !given_up_ &&
           !done_ && !kept_.contains(key);
  }
  void Keep(std::string_view key, std::shared_ptr<const Replaced> value) {
    kept_.emplace(key, std::move(value));
    own_bytes_ += OwnBytes(key);
    Count(static_cast<int64_t>(OwnBytes(key)));
  }
  size_t kept() const { return kept_.size(); }
  void GiveUp() {
    given_up_ = true;
    Count(-static_cast<int64_t>(std::exchange(own_bytes_, 0)));
    engine_.trash_.keys += kept_.size();
    const auto token = std::make_shared<char>();
    engine_.releasing_ = token;
    engine_.trash_.pinned.emplace_back(std::exchange(kept_, {}), token);
  }

 private:
  static constexpr size_t kStretchBytes = 256 << 10;

  static size_t OwnBytes(std::string_view key) { return kPinnedOverhead + key.size(); }
  void Count(int64_t bytes) {
    engine_.pinned_bytes_->fetch_add(static_cast<size_t>(bytes), std::memory_order_relaxed);
  }

  // Reads keys up to the end of a stretch. Returns whether keys may be left. Writers are locked
  // out, and other readers do not look at kept_ and next_.
  bool Read(std::vector<std::pair<std::string, std::string>>* stretch) {
    size_t bytes = 0;
    auto kept = kept_.lower_bound(next_);
    const auto take = [&](std::string_view key, std::string_view value) {
      bytes += key.size() + value.size();
      stretch->emplace_back(key, value);
    };
    const auto take_kept = [&] {
      if (kept->second->value) take(kept->first, *kept->second->value);
      ++kept;
    };
    bool full = false;
    std::string last;  // the last key that was looked at
    if (const auto found = engine_.tablets_.find(tablet_); found != engine_.tablets_.end()) {
      found->second.entries.Scan(next_, end_, false,
                                 [&](std::string_view key, std::string_view value) {
                                   while (kept != kept_.end() && kept->first < key) take_kept();
                                   if (kept != kept_.end() && kept->first == key) {
                                     take_kept();
                                   } else {
                                     take(key, value);
                                   }
                                   full = bytes >= kStretchBytes;
                                   if (full) last = key;
                                   return !full;
                                 });
    }
    if (!full) {
      while (kept != kept_.end()) take_kept();
      Count(-static_cast<int64_t>(std::exchange(own_bytes_, 0)));
      kept_.clear();
      done_ = true;
      return false;
    }
    next_ = last + '\0';
    size_t passed_bytes = 0;
    for (auto passed = kept_.begin(); passed != kept; ++passed)
      passed_bytes += OwnBytes(passed->first);
    own_bytes_ -= passed_bytes;
    Count(-static_cast<int64_t>(passed_bytes));
    kept_.erase(kept_.begin(), kept);
    return true;
  }

  MemoryEngine& engine_;
  const Tablet tablet_;
  // Under the engine's lock; this reader alone changes next_, and with it what is kept behind it.
  std::string next_;
  const std::string end_;
  KeptForPin kept_;
  size_t own_bytes_ = 0;  // of kept_, without the values
  bool given_up_ = false;
  bool done_ = false;
  Status failed_ = OkStatus();
};

MemoryEngine::TabletData::TabletData() = default;
MemoryEngine::TabletData::~TabletData() = default;

MemoryEngine::MemoryEngine() : MemoryEngine(nullptr) {}
MemoryEngine::MemoryEngine(NextStamp next_stamp) : next_stamp_(std::move(next_stamp)) {}
MemoryEngine::~MemoryEngine() = default;

void MemoryEngine::Dispose(Trash trash) {
  if (trash.keys >= kDisposedHere) disposal_.Add([trash = std::move(trash)] {});
}

const std::string* MemoryEngine::Find(Tablet tablet, std::string_view key) const {
  auto keys = tablets_.find(tablet);
  return keys == tablets_.end() ? nullptr : keys->second.entries.Find(key);
}

Result<bool> MemoryEngine::Get(Tablet tablet, std::string_view key, Tier, std::string* value) {
  std::shared_lock lock(mutex_);
  const std::string* found = Find(tablet, key);
  if (found == nullptr) return false;
  value->assign(*found);
  return true;
}

Status MemoryEngine::MultiGet(std::span<const Point> points, Tier,
                              std::vector<std::optional<std::string>>* values) {
  values->assign(points.size(), std::nullopt);
  std::shared_lock lock(mutex_);
  for (size_t i = 0; i < points.size(); ++i) {
    if (const std::string* found = Find(points[i].tablet, points[i].key)) values->at(i) = *found;
  }
  return OkStatus();
}

Status MemoryEngine::Scan(const Range& range, Tier,
                          FunctionRef<bool(std::string_view, std::string_view)> visit) {
  std::shared_lock lock(mutex_);
  if (const auto found = tablets_.find(range.tablet); found != tablets_.end()) {
    found->second.entries.Scan(range.begin, range.end, range.reverse, visit);
  }
  return OkStatus();
}

void MemoryEngine::KeepForPins(Tablet tablet, std::string_view key, const std::string* value) {
  std::shared_ptr<const Replaced> replaced;
  for (Pinned* pin : pins_) {
    if (!pin->Needs(tablet, key)) continue;
    if (replaced == nullptr) replaced = std::make_shared<Replaced>(pinned_bytes_, value);
    pin->Keep(key, replaced);
  }
  if (replaced == nullptr || pinned_bytes_->load(std::memory_order_relaxed) <= kMaxKeptBytes)
    return;
  // Values are shared, so one pin more may have to go, once it shows what this one has freed.
  if (!releasing_.expired()) return;
  Pinned* const most =
      *std::max_element(pins_.begin(), pins_.end(),
                        [](const Pinned* a, const Pinned* b) { return a->kept() < b->kept(); });
  if (most->kept() > 0) most->GiveUp();
}

Result<std::unique_ptr<PinnedRange>> MemoryEngine::Pin(const Range& range) {
  std::unique_lock lock(mutex_);
  return std::unique_ptr<PinnedRange>(std::make_unique<Pinned>(*this, range));
}

void MemoryEngine::EraseRange(const DeleteRange& range) {
  const auto found = tablets_.find(range.tablet);
  if (found == tablets_.end() || found->second.entries.size() == 0) return;
  TabletData& data = found->second;
  const bool whole = range.begin.empty() && range.end.empty();
  const bool one_by_one = !whole || data.groups != nullptr;
  if (one_by_one ? IsWatched(data) : !pins_.empty()) {
    data.entries.Scan(range.begin, range.end, false, [&](std::string_view key, std::string_view) {
      one_by_one ? Keep(range.tablet, data, key)
                 : KeepForPins(range.tablet, key, data.entries.Find(key));
      return true;
    });
  }
  if (!whole) return data.entries.EraseRange(range.begin, range.end);
  // All of a tablet takes no longer than one key.
  const auto gone = std::make_shared<OrderedEntries>();
  gone->Swap(&data.entries);
  if (!one_by_one) KeepGone(data, gone);
  trash_.keys += gone->size();
  trash_.entries.push_back(gone);
}

Result<uint64_t> MemoryEngine::ApplyLocked(Batch& batch) {
  if (IsVoid(batch)) return VoidBatchError();
  if (batch.empty()) return last_stamp_;
  TRY(CheckBatch(batch));
  for (const Guard& guard : batch.guards) {
    const std::string* found = Find(guard.tablet, guard.key);
    if ((found == nullptr ? 0 : StampOf(*found)) != guard.expected()) {
      return Error(ErrorCode::kGuardFailed, "A key has changed since it was read.");
    }
  }
  // Counters are read before anything changes, so that a bad one refuses the whole batch. Range
  // deletes come first.
  std::vector<int64_t> counts(batch.adds.size(), 0);
  for (size_t i = 0; i < batch.adds.size(); ++i) {
    const Add& add = batch.adds[i];
    bool deleted = false;
    for (const DeleteRange& range : batch.range_deletes) {
      deleted |= range.tablet == add.tablet && add.key >= range.begin &&
                 (range.end.empty() || add.key < range.end);
    }
    const std::string* found = deleted ? nullptr : Find(add.tablet, add.key);
    if (found != nullptr) {
      ASSIGN_OR_RETURN(counts[i], CounterOf(*found));
    }
  }

  const uint64_t stamp = next_stamp_ ? next_stamp_(batch) : last_stamp_ + 1;
  last_stamp_ = stamp;
  if (batch.fate != nullptr) batch.fate->stamp.store(stamp, std::memory_order_release);
  for (const DeleteRange& range : batch.range_deletes) EraseRange(range);
  for (Put& put : batch.puts) {
    SetStamp(&put.value, stamp);
    if (put.key_stamp_offset >= 0) SetKeyStamp(&put.key, put.key_stamp_offset, stamp);
    TabletData& data = tablets_[put.tablet];
    if (IsWatched(data)) Keep(put.tablet, data, put.key);
    data.entries.Put(put.key, std::move(put.value));
  }
  for (const Delete& key : batch.deletes) {
    const auto found = tablets_.find(key.tablet);
    if (found == tablets_.end()) continue;
    if (IsWatched(found->second)) Keep(key.tablet, found->second, key.key);
    found->second.entries.Erase(key.key);
  }
  for (size_t i = 0; i < batch.adds.size(); ++i) {
    const Add& add = batch.adds[i];
    TabletData& data = tablets_[add.tablet];
    if (IsWatched(data)) Keep(add.tablet, data, add.key);
    data.entries.Put(add.key, EncodeCounter(stamp, counts[i] + add.delta));
  }
  return stamp;
}

void MemoryEngine::Apply(Batch batch, ApplyDone done) {
  Trash trash;
  Result<uint64_t> outcome = [&] {
    std::unique_lock lock(mutex_);
    Result<uint64_t> applied = ApplyLocked(batch);
    if (trash_.keys > 0) std::swap(trash, trash_);
    return applied;
  }();
  done(std::move(outcome));
  Dispose(std::move(trash));
}

uint64_t MemoryEngine::ApproximateBytes(Tablet tablet) const {
  std::shared_lock lock(mutex_);
  const auto found = tablets_.find(tablet);
  return found == tablets_.end() ? 0 : found->second.entries.bytes();
}

std::map<std::string, double> MemoryEngine::Statistics() const {
  std::shared_lock lock(mutex_);
  size_t keys = 0;
  for (const auto& tablet : tablets_) keys += tablet.second.entries.size();
  return {{"kv_keys", static_cast<double>(keys)},
          {"kv_last_stamp", static_cast<double>(last_stamp_)}};
}

Status MemoryEngine::Checkpoint(const std::string&) {
  return Error(
      ErrorCode::kUnavailable,
      "A store in memory cannot be copied to a directory. Start the server with a data directory.");
}

}  // namespace stator::kv
