#include "kv/shared_memory.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <iterator>
#include <optional>

#include "base/mutex_wait.h"
#include "kv/partial_ahead.h"

namespace stator::kv {
namespace {

// Calls fn(tablet, key) for everything that the batch names.
template <typename Fn>
void ForEachKey(const Batch& batch, Fn fn) {
  for (const Guard& guard : batch.guards) fn(guard.tablet, guard.key);
  for (const Put& put : batch.puts) fn(put.tablet, put.key);
  for (const Delete& gone : batch.deletes) fn(gone.tablet, gone.key);
  for (const Add& add : batch.adds) fn(add.tablet, add.key);
}

constexpr uint64_t kDoubtEvery = 7;

Error FencedError() { return Error(ErrorCode::kFenced, "The tablet has been fenced off."); }
Error SpanError() { return Error(ErrorCode::kSpansUnits, "These keys are not in one unit."); }

}  // namespace

class SharedMemory::Member final : public Engine, public Bulletin {
 public:
  explicit Member(SharedMemory& store) : store_(store) {}
  ~Member() override { Listen(nullptr); }

  Capabilities capabilities() const override {
    return {.atomic_across_tablets = false,
            .exclusive = false,
            .blocking = true,
            .durable = true,
            .scans_of_one_state = false};
  }

  Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) override {
    std::vector<std::optional<std::string>> values;
    const Point point{tablet, key};
    TRY(MultiGet({&point, 1}, tier, &values));
    if (!values.front()) return false;
    *value = std::move(*values.front());
    return true;
  }

  Status MultiGet(std::span<const Point> points, Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    if (tier == Tier::kMemory) return WouldBlock();
    values->assign(points.size(), std::nullopt);
    if (tier == Tier::kGuarded) {
      MutexLock lock(seen_mutex_);
      for (size_t i = 0; i < points.size(); ++i) {
        const auto found = seen_.find({points[i].tablet, std::string(points[i].key)});
        if (found == seen_.end()) return WouldBlock();
        if (++guarded_reads_ % kDoubtEvery == 0)
          return Error(ErrorCode::kGuardFailed, "Injected: the cached value is doubted.");
        values->at(i) = found->second;
      }
      return OkStatus();
    }
    std::optional<Unit> unit;
    for (const Point& point : points) {
      TRY(CheckReadable(point.tablet));
      if (!Same(&unit, point.tablet, point.key)) return SpanError();
    }
    TRY(store_.memory_.MultiGet(points, tier, values));
    MutexLock lock(seen_mutex_);
    for (size_t i = 0; i < points.size(); ++i)
      seen_[{points[i].tablet, std::string(points[i].key)}] = values->at(i);
    return OkStatus();
  }

  Status Scan(const Range& range, Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override {
    size_t left = tier == Tier::kAny ? SIZE_MAX : PartialAhead::Take(range);
    if (left == 0) return WouldBlock();
    TRY(CheckReadable(range.tablet));
    bool blocks = false;
    TRY(store_.memory_.Scan(range, tier, [&](std::string_view key, std::string_view value) {
      blocks = left == 0;
      return !blocks && left-- > 0 && visit(key, value);
    }));
    return blocks ? Status(WouldBlock()) : OkStatus();
  }

  // Returns in turns: no result (null), an empty result, few keys, many keys, and a result too
  // large to be consumed on this thread.
  void ReadAhead(const Range& range, AheadDone done) override {
    static constexpr size_t kKeys[] = {0, 2, 1000, 1000}, kBytes[] = {0, 100, 1000, SIZE_MAX};
    const size_t turn = aheads_.fetch_add(1) % (std::size(kKeys) + 1);
    done(turn == std::size(kKeys)
             ? nullptr
             : std::make_unique<PartialAhead>(range, kKeys[turn], kBytes[turn]));
  }

  void Apply(Batch batch, ApplyDone done) override {
    Result<uint64_t> outcome = ApplyNow(std::move(batch));
    done(std::move(outcome));
  }

  Result<Unit> UnitOf(Tablet tablet, std::string_view key, Tier) override {
    return Unit{tablet, store_.part_of_ ? store_.part_of_(tablet, key) : std::string()};
  }

  bool SpansUnits(const Batch& batch) const override {
    std::optional<Unit> unit;
    return Spans(batch, &unit);
  }

  Status RaiseFence(Tablet tablet, uint64_t fence) override {
    MutexLock lock(store_.mutex_);
    uint64_t& now = store_.fences_[tablet];
    now = std::max(now, fence);
    if (now != kDroppedFence) return OkStatus();
    Batch batch;
    batch.range_deletes.push_back({tablet, "", ""});
    Status emptied;
    store_.memory_.Apply(std::move(batch), [&emptied](Result<uint64_t> result) {
      if (!result.ok()) emptied = std::move(result).error();
    });
    return emptied;
  }

  Bulletin* bulletin() override { return this; }

  Status Announce(std::string_view message) override {
    struct Waiting {
      Mutex mutex;
      std::condition_variable_any wake;
      size_t left = 0;
    };
    const auto waiting = std::make_shared<Waiting>();
    {
      // The lock is held during the calls, so that Listen can promise that none is under way.
      MutexLock lock(store_.listeners_mutex_);
      waiting->left = store_.listeners_.size();
      for (const auto& [member, listener] : store_.listeners_) {
        listener(message, [waiting] {
          MutexLock left(waiting->mutex);
          --waiting->left;
          waiting->wake.notify_all();
        });
      }
    }
    UniqueMutexLock lock(waiting->mutex);
    const bool all =
        waiting->wake.wait_for(lock, std::chrono::seconds(3), [&] { return waiting->left == 0; });
    return all ? OkStatus()
               : Status(Error(ErrorCode::kUnavailable,
                              "Not every process has acknowledged the message."));
  }

  void Listen(Listener listener) override {
    MutexLock lock(store_.listeners_mutex_);
    if (listener) {
      store_.listeners_[this] = std::move(listener);
    } else {
      store_.listeners_.erase(this);
    }
  }

  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(Tablet tablet) const override {
    return store_.memory_.ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override { return store_.memory_.Statistics(); }
  Status Checkpoint(const std::string& directory) override {
    return store_.memory_.Checkpoint(directory);
  }

 private:
  static Error WouldBlock() { return Error(ErrorCode::kWouldBlock, "This read has to wait."); }

  bool Same(std::optional<Unit>* unit, Tablet tablet, std::string_view key) const {
    Unit of{tablet, store_.part_of_ ? store_.part_of_(tablet, key) : std::string()};
    if (!*unit)
      *unit = std::move(of);
    else if (**unit != of)
      return false;
    return true;
  }

  // Sets *unit to the unit of the keys. A range by itself may span units.
  bool Spans(const Batch& batch, std::optional<Unit>* unit) const {
    bool spans = false;
    ForEachKey(batch,
               [&](Tablet tablet, std::string_view key) { spans |= !Same(unit, tablet, key); });
    if (!*unit) return false;
    for (const DeleteRange& range : batch.range_deletes) {
      spans |= !Same(unit, range.tablet, range.begin) ||
               !Same(unit, range.tablet, range.end.empty() ? "\xff" : range.end);
    }
    return spans;
  }

  Status CheckReadable(Tablet tablet) {
    MutexLock lock(store_.mutex_);
    const auto fence = store_.fences_.find(tablet);
    return fence != store_.fences_.end() && fence->second == kDroppedFence ? Status(FencedError())
                                                                           : OkStatus();
  }

  Result<uint64_t> ApplyNow(Batch batch) {
    std::optional<Unit> unit;
    if (Spans(batch, &unit)) return SpanError();
    MutexLock lock(store_.mutex_);
    if (!IsVoid(batch) && !batch.empty()) {
      for (const Fence& fence : batch.fences) {
        const auto now = store_.fences_.find(fence.tablet);
        if (now != store_.fences_.end() && now->second > fence.most) return FencedError();
      }
      bool dropped = false;
      ForEachKey(batch, [&](Tablet tablet, std::string_view) {
        AssertHeld(store_.mutex_);
        const auto now = store_.fences_.find(tablet);
        dropped |= now != store_.fences_.end() && now->second == kDroppedFence;
      });
      if (dropped) return FencedError();
    }
    std::vector<std::pair<Tablet, std::string>> changed;
    for (const Put& put : batch.puts) {
      if (put.key_stamp_offset < 0) changed.emplace_back(put.tablet, put.key);
    }
    for (const Delete& gone : batch.deletes) changed.emplace_back(gone.tablet, gone.key);
    for (const Add& add : batch.adds) changed.emplace_back(add.tablet, add.key);
    const bool ranges = !batch.range_deletes.empty();
    std::optional<Result<uint64_t>> outcome;
    store_.memory_.Apply(std::move(batch), [&outcome](Result<uint64_t> result) {
      outcome.emplace(std::move(result));
    });
    MutexLock seen(seen_mutex_);
    if (ranges) seen_.clear();
    for (const auto& place : changed) {
      std::string value;
      const Result<bool> found = store_.memory_.Get(place.first, place.second, Tier::kAny, &value);
      if (found.ok()) seen_[place] = *found ? std::optional(std::move(value)) : std::nullopt;
    }
    return std::move(*outcome);
  }

  SharedMemory& store_;
  std::atomic<size_t> aheads_ = 0;
  Mutex seen_mutex_;
  uint64_t guarded_reads_ GUARDED_BY(seen_mutex_) = 0;
  std::map<std::pair<Tablet, std::string>, std::optional<std::string>> seen_
      GUARDED_BY(seen_mutex_);
};

uint64_t SharedMemory::NextStamp(const Batch& batch) {
  std::optional<Tablet> tablet;
  ForEachKey(batch, [&](Tablet of, std::string_view) { tablet = of; });
  if (!tablet) tablet = batch.range_deletes.front().tablet;
  const auto [last, fresh] = stamps_.try_emplace(*tablet, 0);
  // The first stamp differs between tablets and does not rise with their ids.
  if (fresh) last->second = tablet->id * uint64_t{2'654'435'761} % 1009 * 1000;
  return ++last->second;
}

std::unique_ptr<Engine> SharedMemory::Attach() { return std::make_unique<Member>(*this); }

}  // namespace stator::kv
