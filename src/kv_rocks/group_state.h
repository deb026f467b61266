// What a group of batches that is being put together has changed so far, on top of the database. It
// answers guards and folds counters. Internal to the room; used by the committer's thread only.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/write_batch.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kv/engine.h"
#include "kv_rocks/rocks_tuning.h"

namespace stator::kv_rocks {

class GroupState {
 public:
  GroupState(rocksdb::DB* db, const std::vector<rocksdb::ColumnFamilyHandle*>& families)
      : db_(db), families_(families) {}

  // Forgets the group. With `failed` the counters in memory are forgotten too: the database did not
  // take them.
  void StartGroup(bool failed);

  // Whether the batch may join: its guards hold and its counters can be read. kGuardFailed,
  // kUnavailable, kInternal. `accepted` are the batches that have joined the group before it.
  Status Check(const kv::Batch& batch, const std::vector<const kv::Batch*>& accepted);

  // Writes the batch into *writes under `stamp`. Keys of puts are completed in place. Counters come
  // with FinishGroup.
  void Join(kv::Batch* batch, uint64_t stamp, rocksdb::WriteBatch* writes);

  // Likewise puts and deletes whose values have their stamps.
  void JoinAsIs(const kv::Batch& batch, rocksdb::WriteBatch* writes);

  // Writes the absolute value of every counter that the group changed.
  void FinishGroup(rocksdb::WriteBatch* writes);

 private:
  // A column family and a key in it (with the tablet's prefix).
  struct Place {
    size_t family;
    std::string key;
    bool operator<(const Place& other) const {
      return family != other.family ? family < other.family : key < other.key;
    }
  };
  struct Counter {
    int64_t count = 0;
    uint64_t stamp = 0;
    bool dirty = false;  // changed by this group
  };
  // What the group made of a key: stamp 0 means that it is deleted.
  struct Change {
    uint64_t stamp = 0;
    std::optional<int64_t> count;  // if the value may be a counter
  };
  struct Span {
    size_t family;
    std::string begin;
    std::string end;
    bool Covers(const Place& place) const {
      return place.family == family && place.key >= begin && place.key < end;
    }
  };

  static Place PlaceOf(kv::Tablet tablet, std::string_view key);
  static std::optional<Span> SpanOf(const kv::DeleteRange& range);
  void RecordChanges(const kv::Batch& batch);
  std::optional<Change> FindChange(const Place& place) const;
  Result<uint64_t> CurrentStamp(const Place& place);
  Status LoadCounter(const Place& place);

  rocksdb::DB* const db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;

  std::map<Place, Counter> counters_;
  std::vector<Place> dirty_;

  // Recorded only from the first time in a group that somebody asks: most groups have no guards and
  // know their counters.
  bool recording_ = false;
  std::map<Place, Change> changes_;
  std::vector<Span> deleted_;
};

}  // namespace stator::kv_rocks
