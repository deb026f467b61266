// Batches of items on their way into a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api_client/client.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "bulk/import_file.h"

namespace stator::bulk {

inline constexpr size_t kMostBatchItems = 25;
// A request may have 16 MB, and the batches of all connections are in memory at once.
inline constexpr size_t kMostBatchBytes = 4 << 20;

// The items from `first` to before `end` of a file: those to put, and those that were refused.
struct Batch {
  FileProgress* file = nullptr;
  int64_t first = 0;
  int64_t end = 0;
  struct Put {
    int64_t index = 0;
    std::string json;  // {"pk":{"S":"a"}}
  };
  std::vector<Put> puts;  // of different keys
  std::vector<FileProgress::Refused> refused;
  size_t bytes = 0;
};

// A put or a delete of one key.
struct Change {
  bool put = true;
  std::string json;  // the item, or the key: {"pk":{"S":"a"}}
};
// A change that the table does not take.
struct RefusedChange {
  size_t index = 0;  // among the changes
  std::string message;
};

// Makes the changes, at most kMostBatchItems of different keys, again and again those that the
// server leaves out. If it refuses the batch, makes them one by one, and adds those that it refuses
// then to *refused. kUnavailable without an answer; kValidation if no item would be taken, such as
// by a table that is gone.
Status WriteChanges(api_client::Client& client, const std::string& table,
                    const std::vector<Change>& changes, std::vector<RefusedChange>* refused);

// Makes any number of changes of different keys, in batches. Hands each that the table does not
// take to `refused`.
Status WriteInBatches(
    api_client::Client& client, const std::string& table, std::vector<Change> changes,
    FunctionRef<Status(const Change& change, const std::string& message)> refused);

// Puts the items as WriteChanges does. Adds those that are refused to `refused` of the batch.
Status PutBatch(api_client::Client& client, const std::string& table, Batch* batch);

}  // namespace stator::bulk
