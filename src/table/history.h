// Keeps in memory what items and index entries were before recent changes, so that a read can
// return a state from some seconds ago (stale reads, lagging indexes: docs/faults.md).
//
// A change is recorded before its batch is handed to the engine, with what it replaces, and gets
// its time when the batch is durable. A read of a past moment takes the engine's answer. For each
// key that has changed since the moment it puts there what the first of these changes replaced. A
// change without a time yet is later than every moment. Nothing of this is on disk: after a restart
// there is no past.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "kv/engine.h"
#include "model/value.h"
#include "table/past.h"

namespace stator::table {

// Thread-safe. Outlives the recordings and moments that it gave out.
class History {
 public:
  static constexpr size_t kMaxBytes = 64u << 20;
  // Holds at most `max_bytes` of changes; beyond that the oldest go, and reads of older moments get
  // fresher.
  explicit History(const Clock& clock, size_t max_bytes = kMaxBytes)
      : clock_(clock), max_bytes_(max_bytes) {}

  // For how many microseconds changes are kept, by table name; "*": of every table. Replaces what
  // was asked for before. Tables need not exist.
  void Keep(std::map<std::string, int64_t, std::less<>> ages);
  // Returns true if changes of a table are to be recorded. Costs one relaxed load while no table's
  // are.
  bool Keeps(std::string_view table) const {
    return keeping_.load(std::memory_order_relaxed) && KeepsTable(table);
  }

  // The state that a change replaces.
  struct Before {
    kv::Tablet tablet;
    std::string key;
    // Encoded; null: absent. If no batch that is durable left it, the one that did is recorded.
    std::shared_ptr<const std::string> item;
  };

 private:
  struct Change {
    uint64_t number;
    int64_t time;  // kPending until it is durable
    std::shared_ptr<const std::string> before;
  };
  static constexpr int64_t kPending = std::numeric_limits<int64_t>::max();

  using Place = std::pair<kv::Tablet, std::string>;
  using PlaceView = std::pair<kv::Tablet, std::string_view>;
  struct PlaceLess {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      if (a.first != b.first) return a.first < b.first;
      return std::string_view(a.second) < std::string_view(b.second);
    }
  };
  // The changes of one key, in the order in which they took effect. Never empty.
  using Changes = std::map<Place, std::deque<Change>, PlaceLess>;

 public:
  // The recorded changes of one batch.
  using Recording = std::vector<std::pair<Changes::iterator, uint64_t>>;

  // Records the changes of one batch. The caller holds the latches of the items, and hands the
  // batch to the engine next.
  Recording Record(std::vector<Before> changes);
  // Ends a recording: the batch is durable under the commit stamp `stamp`, or (nullopt) it was
  // refused and has changed nothing.
  void Settle(const Recording& recording, std::optional<uint64_t> stamp);

  // A moment of the past, for all tablets. While the object lives, the history keeps the values
  // that it needs, as far as there is room.
  class Moment final : public Past {
   public:
    ~Moment() override;
    Moment(const Moment&) = delete;
    Moment& operator=(const Moment&) = delete;

    Result<bool> Get(kv::Engine& engine, kv::Tablet tablet, std::string_view key, kv::Tier tier,
                     std::string* item) const override;
    Status Scan(kv::Engine& engine, const kv::Range& range, kv::Tier tier,
                FunctionRef<bool(std::string_view key, model::ItemView item)> visit) const override;

   private:
    friend class History;
    Moment(History& history, int64_t time) : history_(history), time_(time) {}

    History& history_;
    const int64_t time_;  // the last microsecond whose changes are seen
  };
  // The moment `age` microseconds ago.
  std::shared_ptr<const Moment> MomentAgo(int64_t age);

  // Changes held, for tests.
  size_t size() const;

 private:
  // What stood at a place at a moment, if it has changed since then.
  struct Found {
    std::string key;
    std::shared_ptr<const std::string> item;  // null: absent
  };

  bool KeepsTable(std::string_view table) const;
  // The first (reverse: last) place in [begin, end) of the tablet that has changed since `time`. An
  // empty `end`: the tablet's.
  std::optional<Found> First(kv::Tablet tablet, std::string_view begin, std::string_view end,
                             bool reverse, int64_t time) const;
  int64_t Now() REQUIRES(mutex_);
  // The change must be there.
  static std::deque<Change>::iterator Find(std::deque<Change>* chain, uint64_t number);
  void Erase(Changes::iterator place, uint64_t number) REQUIRES(mutex_);
  void Trim() REQUIRES(mutex_);
  static size_t SizeOf(const Place& place, const Change& change);

  const Clock& clock_;
  const size_t max_bytes_;
  std::atomic<bool> keeping_{false};
  mutable Mutex mutex_;
  std::map<std::string, int64_t, std::less<>> ages_ GUARDED_BY(mutex_);
  int64_t max_age_ GUARDED_BY(mutex_) = 0;
  int64_t now_ GUARDED_BY(mutex_) =
      std::numeric_limits<int64_t>::min();  // the clock may be set back; time here is not
  uint64_t last_number_ GUARDED_BY(mutex_) = 0;
  Changes changes_ GUARDED_BY(mutex_);
  struct Settled {
    uint64_t stamp;
    int64_t time;
    Changes::iterator place;
    uint64_t number;
  };
  std::deque<Settled> settled_
      GUARDED_BY(mutex_);  // the changes that have a time, by stamp and by time
  size_t bytes_ GUARDED_BY(mutex_) = 0;
  std::multiset<int64_t> moments_ GUARDED_BY(mutex_);
};

}  // namespace stator::table
