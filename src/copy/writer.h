// Writes items to a table, with several batches under way at a time.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "copy/copy.h"
#include "table/store.h"

namespace stator::copy {

// Not thread-safe.
class Writer {
 public:
  Writer(table::Store& store, table::TablePtr table, const Options& options)
      : store_(store),
        table_(std::move(table)),
        options_(options),
        flights_(std::make_shared<Flights>()) {}
  // Waits for the writes under way.
  ~Writer();

  // Adds an item. Items must come in the order of their keys, or durable_to() has no meaning. If
  // two items have the same key, one of them is kept. Waits while too many writes are under way. An
  // error means that some items could not be written.
  Status Add(std::string_view key, std::string_view item);
  // Waits until all items are durable.
  Status Finish();
  // All items with keys below this one are durable.
  const std::string& durable_to() const { return durable_to_; }

 private:
  struct Batch {
    std::vector<std::pair<std::string, std::string>> items;  // key and item
    size_t bytes = 0;
    int attempts = 0;
    enum { kUnderWay, kDurable, kFailed } state = kUnderWay;
    Status outcome;
  };
  struct Flights {
    Mutex mutex;
    std::condition_variable_any wake;
    std::deque<std::shared_ptr<Batch>> batches GUARDED_BY(mutex);  // in the order of keys
  };

  void Send(std::shared_ptr<Batch> batch);
  // Waits until at most `under_way` batches are under way. Retries failed batches.
  Status WaitFor(size_t under_way);

  table::Store& store_;
  const table::TablePtr table_;
  const Options& options_;
  const std::shared_ptr<Flights> flights_;
  std::shared_ptr<Batch> next_;
  std::string durable_to_;
};

}  // namespace stator::copy
