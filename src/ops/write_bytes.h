// Counts what a write holds until it is durable against the server's account of memory: its images,
// what its indexes and its stream copy of them, and the items that its answer shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "base/memory_account.h"
#include "base/result.h"
#include "ops/answer_bytes.h"
#include "table/store.h"

namespace stator::ops {

// Not thread-safe; each run of a write's body may be on another thread. The lease gives everything
// back when the request ends.
class WriteBytes {
 public:
  // Begins a run of the body and gives back what an earlier run counted. `lease`: of the request;
  // null: nothing is counted.
  void Begin(MemoryLease* lease) {
    bytes_.GiveBack();
    bytes_ = AnswerBytes(lease);
  }

  // Counts one item's change from an image of `old_bytes` to one of `new_bytes` (0: none). Call it
  // before entries are derived. MemoryRefusal(): the account has no room.
  Status Add(const table::Table& table, size_t old_bytes, size_t new_bytes) {
    if (!bytes_.counts()) return OkStatus();
    const table::TableDescriptor& descriptor = table.descriptor;
    size_t copies = 1;
    for (const table::IndexDescriptor& index : descriptor.indexes)
      copies += index.projection != table::IndexDescriptor::Projection::kKeysOnly;
    size_t bytes = old_bytes + copies * new_bytes;
    if (descriptor.stream_view_type) bytes += old_bytes + new_bytes;
    if (table.capture != nullptr) bytes += old_bytes + new_bytes;
    return Count(static_cast<int64_t>(bytes));
  }

  // Counts an item that the answer will show: as it is, and as JSON. MemoryRefusal() as above.
  Status AddAnswer(std::string_view encoded) {
    if (!bytes_.counts() || encoded.empty()) return OkStatus();
    return Count(static_cast<int64_t>(encoded.size()) + RenderedBound(encoded));
  }

 private:
  Status Count(int64_t bytes) { return bytes_.Add(bytes) ? OkStatus() : MemoryRefusal(); }

  AnswerBytes bytes_{nullptr};
};

}  // namespace stator::ops
