// Points of the store to which it can return (kv/rewind.h). A point holds a snapshot of RocksDB,
// which has the values, and the keys that were written since, which the committer notes here. Its
// return is one RocksDB write. Internal to the room.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/snapshot.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "kv/disposal.h"
#include "kv/rewind.h"

namespace stator::kv_rocks {

class Committer;

// The part of a return beside its batch. The committer calls it between two groups, so that nothing
// is being written.
class Restoring {
 public:
  virtual ~Restoring() = default;
  // Returns the puts and deletes that lead back; the values have their stamps.
  virtual Result<kv::Batch*> Prepare() = 0;
  // They are about to be written.
  virtual void Begin() = 0;
  // They were written, or were not.
  virtual void End(bool written) = 0;
};

// Thread-safe. The database must outlive it, and it its points.
class RewindPoints {
 public:
  RewindPoints(rocksdb::DB* db, std::vector<rocksdb::ColumnFamilyHandle*> families);
  ~RewindPoints();

  std::unique_ptr<kv::RewindPoint> Set(Committer& committer, std::vector<kv::Watched> watched,
                                       std::shared_ptr<kv::RewindBudget> budget);

  // For the committer. If false, no other call is needed.
  bool any() const { return count_.load(std::memory_order_relaxed) > 0; }
  // The batch is about to be written; the keys of its puts are complete. Between this and EndGroup
  // no point is set.
  void Note(const kv::Batch& batch);
  // The noted batches were written, or were not.
  void EndGroup();

  // Whether the tablet, which was emptied, is full again or may be.
  bool MayReturn(kv::Tablet tablet) const;
  // Whether all snapshots of the database are held by points.
  bool HoldAllSnapshots() const;

 private:
  class Point;
  class Return;
  struct Watch;
  struct OfTablet;  // its watches
  using SnapshotPtr = std::shared_ptr<const rocksdb::Snapshot>;

  SnapshotPtr TakeSnapshot();
  void Register(Point* point);
  void Unregister(Point* point);
  void NoteKey(kv::Tablet tablet, std::string_view key) REQUIRES(mutex_);
  void NoteRange(const kv::DeleteRange& range) REQUIRES(mutex_);
  void NoteRangeOf(Watch* watch, const kv::DeleteRange& range) REQUIRES(mutex_);
  void Touch(Point* point) REQUIRES(mutex_);
  // Takes bytes of the point's budget. If they are not there, points that keep more than this one
  // are given up, or it is itself: then returns false.
  bool Count(Point* point, size_t more) REQUIRES(mutex_);
  void Weigh(Point* point) REQUIRES(mutex_);
  void SetWeight(Point* point, int weight) REQUIRES(mutex_);
  void GiveUp(Point* point) REQUIRES(mutex_);
  // Takes the watches of points that were given up off their tablets.
  void UnlinkGivenUp() REQUIRES(mutex_);
  void Unlink(Point* point) REQUIRES(mutex_);

  rocksdb::DB* const db_;
  const std::vector<rocksdb::ColumnFamilyHandle*> families_;
  std::atomic<size_t> count_{0};  // of points and tablets that are back

  mutable Mutex mutex_;
  std::map<kv::Tablet, std::unique_ptr<OfTablet>> tablets_ GUARDED_BY(mutex_);
  std::map<int, std::set<Point*>> by_weight_ GUARDED_BY(mutex_);  // the bit width of their bytes
  std::vector<Point*> touched_ GUARDED_BY(mutex_);                // by the group being written
  std::vector<Point*> given_up_ GUARDED_BY(mutex_);               // still linked
  // They were emptied, and a return filled them; until they are emptied again.
  std::set<kv::Tablet> back_ GUARDED_BY(mutex_);

  mutable Mutex snapshots_mutex_;
  size_t snapshots_ GUARDED_BY(snapshots_mutex_) = 0;
  kv::Disposal disposal_;
};

}  // namespace stator::kv_rocks
