// Deletes the items whose time to live is over.
//
// It reads the entries of the hidden index (expiry.h) from the mark up to now, a few at a time, and
// deletes their items by ordinary writes that look at the item again under its latch: an item
// that was updated meanwhile stays.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "table/store.h"

namespace stator::table {

// How much later than its expiry an item is deleted: up to `max_seconds`, of each item and time its
// own from the seed, as the service takes up to 48 hours. 0: at once. Reads see the item until
// then.
struct ExpiryDelay {
  int64_t max_seconds = 0;
  uint64_t seed = 0;
  // Returns the delay of the item with this time, in [0, max_seconds].
  int64_t SecondsOf(const model::Number& time, std::string_view item_key) const;
};

// Used by one thread at a time, which it blocks.
class ExpirySweeper {
 public:
  // Counts a table's expired items since the last report of it.
  struct Report {
    std::string_view table;
    int64_t deleted = 0;
    double backlog_seconds =
        0;  // for how long the oldest one that is left has been expired; 0: none
  };
  using Observer = std::function<void(const Report&)>;

  // Both must outlive the sweeper.
  ExpirySweeper(Store& store, const Clock& clock, Observer observer, ExpiryDelay delay = {})
      : store_(store), clock_(clock), observer_(std::move(observer)), delay_(delay) {}

  // Deletes up to `items` of every table. True: some table has more. A table whose deletes fail is
  // left to the next call, and does not make it true.
  bool Step(size_t items);
  // True while an index is being filled, which will have more entries to look at, or removed. To be
  // asked before a step: what is filled behind it may have been missed.
  bool Waits() const;

 private:
  struct Progress {
    std::string name;
    bool under_way = false;  // `next` is where to go on
    std::string next;
    std::string end;
    int64_t from_seconds = 0;  // the mark before this pass
    int64_t begun_micros = 0;  // the last pass
    bool backlog = false;      // reported
  };
  bool StepTable(const TablePtr& table, size_t items, Progress* progress);
  void Begin(const TablePtr& table, int64_t now, Progress* progress);
  bool IsDue(std::string_view entry_key, int64_t now_micros) const;
  void Tell(Progress* progress, int64_t deleted, double backlog_seconds);
  Result<int64_t> Delete(const TablePtr& table, const std::vector<std::string>& entry_keys);

  Store& store_;
  const Clock& clock_;
  const Observer observer_;
  const ExpiryDelay delay_;
  std::map<uint32_t, Progress> progress_;  // by tablet of the index
};

}  // namespace stator::table
