// Fills new global indexes, and the hidden one of time to live, and removes deleted ones while
// writes go on.
//
// The state of an index is in the catalog, so the work starts again after a restart. To fill an
// index is to go through the items of the table once, in the order of their keys, and to add under
// each item's latch the entry that is not there yet; what is written meanwhile keeps the index up
// itself. To remove one is to delete its tablet and its definition in one batch.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "table/descriptor.h"

namespace stator::table {

class Store;
struct Table;

// Thread-safe. Its thread starts with the first table.
class IndexBuilder {
 public:
  explicit IndexBuilder(Store& store) : store_(store) {}
  ~IndexBuilder() { Stop(); }

  // Queues the index work that the table's descriptor asks for, behind the tables that were added
  // before.
  void Add(std::string table_name);
  // Adds the table unless it is in the queue already.
  void AddIfAbsent(const std::string& table_name);
  // Stops the builder; the next start does the remaining work. Returns when no write of the builder
  // is under way. Idempotent. BeginStop does not wait.
  void Stop();
  void BeginStop();
  // Whether there is work under way, waiting, or failed for now. Work on tables that are damaged
  // does not count.
  bool busy() const;
  // The tables that could not be worked on because they are damaged, by name: the error. They are
  // tried again from time to time.
  std::map<std::string, std::string> damaged() const;

 private:
  struct Task {
    std::string table_name;
    std::chrono::steady_clock::time_point due = {};
    int failures = 0;
    bool damaged = false;  // the last failure
    std::string error;     // the last one that was logged
  };

  void BeginThread() REQUIRES(mutex_);
  void Run();
  // The first task that is due; null: none is.
  std::deque<Task>::iterator NextTask(std::chrono::steady_clock::time_point now) REQUIRES(mutex_);
  // Takes note of a failure, and puts the task behind the others.
  void Postpone(std::deque<Task>::iterator task, const Error& error) REQUIRES(mutex_);
  // OK when nothing is left to do for the table (or the table is gone). kCorruption after
  // everything was done that the damage does not touch.
  Status Work(const std::string& table_name);
  Status WorkOn(const std::string& table_name, const IndexDescriptor& index);
  Status WorkOn(const std::string& table_name, const ExpiryIndex& expiry);
  // Adds the entries of all items while `is_creating` returns true. Then calls `activate`, which
  // marks the index in the descriptor as complete.
  Status Fill(const std::string& table_name,
              std::function<bool(const TableDescriptor&)> is_creating,
              std::function<void(TableDescriptor*)> activate);
  // Deletes the tablet and removes the index's definition by `erase`, which returns whether it was
  // still there.
  Status Remove(const std::string& table_name, kv::Tablet tablet,
                std::function<bool(TableDescriptor*)> erase);
  // Changes the descriptor and deletes `ranges` in one batch, and waits until it is durable.
  Status Alter(const std::string& table_name, std::vector<kv::DeleteRange> ranges,
               std::function<Status(TableDescriptor*)> change);
  // Reindexes the items with these keys and waits for them. Leaves those that failed; the first
  // error is the outcome.
  Status Reindex(const std::string& table_name, std::vector<std::string>* keys);
  bool stopped() const;

  Store& store_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<Task> tasks_ GUARDED_BY(mutex_);  // one for each table
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

// Drops attribute definitions that no key of the table or of an index uses.
void PruneAttributeDefinitions(TableDescriptor* descriptor);

}  // namespace stator::table
