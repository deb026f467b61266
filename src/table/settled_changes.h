// Up to when all changes of a table's change log are durable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/unique_function.h"

namespace stator::table {

class Store;

// Waits for the changes up to a moment: for the writes that are under way, while later ones pass
// (Gate::AwaitThoseInside). One wait settles every moment before it: readers of moments that are at
// least `lag` old make at most one in a `lag`. Not where several processes share the store.
// Thread-safe.
class SettledChanges {
 public:
  // The store must outlive it.
  explicit SettledChanges(Store& store) : store_(store) {}

  using Done = UniqueFunction<void(Status)>;
  // Calls `done` once every change of the log with a time up to `micros`, which must be in the
  // past, is durable: inline, or on any thread. `done` must not block. kResourceNotFound if it has
  // to wait and there is no such table.
  void Await(const std::string& table, uint32_t log_tablet_id, int64_t micros, Done done);

 private:
  struct Log {
    int64_t until_micros = -1;  // all changes up to here are durable
    bool awaiting = false;      // writes are awaited, and then those who wait are answered
    std::vector<std::pair<int64_t, Done>> waiting;
  };

  void AwaitWrites(const std::string& table, uint32_t log_tablet_id);
  void Answer(const std::string& table, uint32_t log_tablet_id, Status awaited,
              int64_t until_micros);

  Store& store_;
  Mutex mutex_;
  std::map<uint32_t, Log> logs_ GUARDED_BY(mutex_);  // by tablet
};

}  // namespace stator::table
