// Batches of items on their way into a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "api_client/client.h"
#include "base/result.h"
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

// Puts the items, again and again those that the server leaves out. If it refuses the batch, puts
// them one by one and adds those that it refuses then to `refused`. kUnavailable without an answer;
// kValidation if no item would be taken, such as by a table that is gone.
Status PutBatch(api_client::Client& client, const std::string& table, Batch* batch);

}  // namespace stator::bulk
