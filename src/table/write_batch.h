// What one write makes of the changes that its body decided on: the batch, and what there is to do
// when that is durable. Internal to the room.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "kv/engine.h"
#include "model/value.h"
#include "table/expiry.h"
#include "table/history.h"
#include "table/latch.h"
#include "table/store.h"

namespace stator::table {

// A target as the write found it, under its latch.
struct OldImage {
  std::shared_ptr<const PendingImage> pending;
  std::string bytes;
  bool was_read = false;
  bool found = false;
  uint64_t stamp = 0;            // of what was read, where others write; 0: there is nothing
  int64_t collection_bytes = 0;  // of the item's collection, in a table with local indexes

  model::ItemView view() const {
    if (pending != nullptr)
      return pending->item ? model::ItemView(*pending->item) : model::ItemView();
    return found ? model::ItemView(bytes) : model::ItemView();
  }
};

struct WriteEffects {
  // Targets, and their images that are pending until the batch is durable.
  std::vector<std::pair<size_t, std::shared_ptr<const PendingImage>>> images;
  std::vector<History::Before> before;  // what the batch replaces, of tables with a history
  std::vector<std::pair<std::shared_ptr<ExpiryMark>, model::Number>>
      expiries;  // entries of times to live that are put
  struct Growth {
    const WriteTarget* target;
    const IndexDescriptor*
        index;        // global, of the target's table; null: the item and its local entries
    std::string key;  // of the entry
    int64_t bytes;
    int64_t items;  // or entries, more or fewer
  };
  std::vector<Growth> growths;

  // The partitions of the throughput model split when their data grow, whoever writes.
  void CountGrowths() const;
};

// Adds to the batch, whose fate is to be `fate`, what the changes of the targets take; what the
// changes hold is taken. Neither vector may change as long as the effects are there. On an error
// the batch is good for nothing: kItemCollectionTooLarge with a TargetPayload; those of
// Engine::Get, for entries of an index that is being built.
Result<WriteEffects> FillBatch(Store& store, const std::vector<WriteTarget>& targets,
                               const std::vector<OldImage>& images, std::vector<Change>& changes,
                               const std::shared_ptr<kv::BatchFate>& fate, kv::Batch* batch);

}  // namespace stator::table
