// An engine that keeps all data in this process's memory and loses it at the end: for tests and for
// --in-memory.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/string_hash.h"
#include "kv/disposal.h"
#include "kv/engine.h"
#include "kv/ordered_entries.h"
#include "kv/pin.h"
#include "kv/rewind.h"
#include "kv/split_map.h"

namespace stator::kv {

// Apply does its work and calls `done` before it returns. A visitor of Scan must not call Apply:
// readers hold a lock that excludes the writer.
class MemoryEngine final : public Engine, public Pinner, public Rewinder {
 public:
  MemoryEngine();
  ~MemoryEngine() override;
  // Returns the stamp of a batch. Calls do not overlap.
  using NextStamp = std::function<uint64_t(const Batch& batch)>;
  explicit MemoryEngine(NextStamp next_stamp);

  Capabilities capabilities() const override {
    return {.atomic_across_tablets = true, .exclusive = true, .blocking = false, .durable = false};
  }
  Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) override;
  Status MultiGet(std::span<const Point> points, Tier tier,
                  std::vector<std::optional<std::string>>* values) override;
  Status Scan(const Range& range, Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void Apply(Batch batch, ApplyDone done) override;
  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(Tablet tablet) const override;
  std::map<std::string, double> Statistics() const override;
  Status Checkpoint(const std::string& directory) override;
  // A write keeps the value that it replaces, once, for all pinned ranges that have still to read
  // it. When more than this is kept, the ranges that have the most are given up.
  static constexpr size_t kMaxKeptBytes = 256 << 20;
  Pinner* pinner() override { return this; }
  Result<std::unique_ptr<PinnedRange>> Pin(const Range& range) override;
  Rewinder* rewinder() override { return this; }
  std::unique_ptr<RewindPoint> SetPoint(std::vector<Watched> watched,
                                        std::shared_ptr<RewindBudget> budget) override;

 private:
  class Pinned;
  class Rewinding;
  struct Watch;
  struct Groups;
  // Values that were replaced. Absent: a new key.
  using Kept = SplitMap<
      std::unordered_map<std::string, std::optional<std::string>, StringHash, std::equal_to<>>>;
  struct TabletData {
    TabletData();
    ~TabletData();
    OrderedEntries entries;
    Watch* watch = nullptr;          // the first watch of all keys; null: there is none
    std::unique_ptr<Groups> groups;  // null: there is no watch of a part of the keys
  };
  // A value that pinned ranges keep; absent: a new key. Counts its bytes while it lives.
  struct Replaced;
  using KeptForPin = std::map<std::string, std::shared_ptr<const Replaced>, std::less<>>;
  // What is freed when the lock is not held, because it may be much.
  struct Trash {
    std::vector<Kept> kept;
    std::vector<std::shared_ptr<const OrderedEntries>> entries;
    std::vector<std::pair<KeptForPin, std::shared_ptr<const void>>> pinned;
    size_t keys = 0;
  };
  // The caller of these holds the lock.
  const std::string* Find(Tablet tablet, std::string_view key) const;
  Result<uint64_t> ApplyLocked(Batch& batch);
  void EraseRange(const DeleteRange& range);
  // To be called before a key changes: keeps what it has for pins, and for the points that watch
  // it but `except`.
  bool IsWatched(const TabletData& data) const {
    return data.watch != nullptr || data.groups != nullptr || !pins_.empty();
  }
  void Keep(Tablet tablet, const TabletData& data, std::string_view key,
            const Rewinding* except = nullptr);
  // Likewise, of all keys of a tablet, which are gone from it.
  static void KeepGone(const TabletData& data, const std::shared_ptr<const OrderedEntries>& gone);
  static void KeepFor(Watch* first, std::string_view key, const std::string* value,
                      const Rewinding* except);
  void KeepForPins(Tablet tablet, std::string_view key, const std::string* value);
  // Frees it, on another thread if it is much. The caller does not hold the lock.
  void Dispose(Trash trash);

  const NextStamp next_stamp_ = nullptr;  // null: stamps count up over the whole store
  mutable std::shared_mutex mutex_;
  std::map<Tablet, TabletData> tablets_;  // guarded by mutex_
  uint64_t last_stamp_ = 0;               // guarded by mutex_
  std::vector<Pinned*> pins_;             // guarded by mutex_
  std::weak_ptr<const void> releasing_;   // guarded by mutex_: of a pin's trash, until it is freed
  // What pins keep; readers of pins take away from it.
  const std::shared_ptr<std::atomic<size_t>> pinned_bytes_ =
      std::make_shared<std::atomic<size_t>>(0);
  // Guarded by mutex_: points that keep something, by the bit width of its bytes.
  std::map<int, std::set<Rewinding*>> points_;
  Trash trash_;  // guarded by mutex_
  Disposal disposal_;
};

}  // namespace stator::kv
