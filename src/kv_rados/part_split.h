// Splits a part in two while reads and writes go on. The process that does it may die at any step.
// Internal to the room.
//
//   1  the parent's header says: being copied, from a route on, to a child with a new number. From
//      now on every writer marks what it changes there, in the same operation (cells "m" and "n"),
//      for all compare the header.
//   2  the child's object is made; its header says that it is being filled, by whom, and how far
//      that has come
//   3  all cells that move are copied, some hundred kilobytes at a time
//   4  what is marked is copied again, in rounds, until little is left
//   5  the parent's header gives the routes up. Who is refused by it finds the child's number
//      there, and waits for it.
//   6  what is marked by then is copied; the child's header says that it is open; its stamp is the
//      parent's
//   7  the map of the store gets the child
//   8  the parent's cells that have moved are removed, and the marks
//   9  the parent's header forgets the child
//
// Each step changes one object under its exact header, whose epoch rises, so a late or repeated
// operation does nothing. All that is known of a split stands in the two headers. Whoever claims
// the child (a change of its header, after which operations of the owner before are refused) goes
// on where that one was; there is no step back.
//
// Answers that were lost are found out as ever: an operation goes to the parent's object or to the
// child's, and the ledger cell that tells stays where it was written. The header that a lost
// operation compared never comes back, so one that the ledger of its object does not name by then
// was never applied, and its batches may go to whoever has their routes now. So no ledger cell
// moves. Of a batch that the ledger names, what it changed was in the parent before the routes were
// given up, with its marks, and was copied.
//
// Values keep their stamps. The child's stamps go on from the parent's at step 5, above all stamps
// that moved.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kv_rados/tablet_map.h"

namespace stator::kv_rados {

// Runs the steps of one split in this process; another process may have done the first steps, or do
// the last. Not thread-safe. A process has at most one PartSplit for a part at a time.
class PartSplit {
 public:
  // `go_on` is asked between operations; `step` is told what was just done (see above).
  PartSplit(Cluster& cluster, TabletMap& map, const std::string& process, PartPtr parent,
            std::function<bool()> go_on, std::function<Status(int step)> step)
      : cluster_(cluster),
        limits_(cluster.limits()),
        map_(map),
        process_(process),
        parent_(std::move(parent)),
        go_on_(std::move(go_on)),
        step_(std::move(step)) {}

  // Does step 1, if the part is open and still has `header`. Returns false if its header has
  // changed.
  Result<bool> Begin(const HeaderPtr& header, const std::string& boundary);
  // Does the remaining steps from the state that the split is in. Returns true if the split is
  // complete or the tablet was dropped, false if another process has taken the split over.
  Result<bool> CarryOn();

 private:
  // What moves, or moves again.
  using Cell = std::pair<std::string, std::string>;  // "k" and its value
  struct Chunk {
    std::vector<Cell> cells;
    std::string copied;
  };
  struct Marks {
    std::vector<std::string> keys;
    std::vector<KeyRange> ranges;
    uint64_t stamp = 0;  // of the parent; all marks up to it are here
  };

  // Errors are those of the cluster. What returns a bool: false says that a header was not the one
  // any more; look again.
  Result<HeaderPtr> ChildHeader();  // null: there is no object
  Status Create();
  Result<bool> Fill();
  Result<bool> Copy();
  Result<bool> CatchUp(bool* few);
  Result<bool> ReadMoving(bool values, size_t bytes, const std::string& after, Chunk* chunk);
  Result<bool> ReadMarks(Marks* marks);
  Result<bool> RemoveFromChild(const KeyRange& range);
  Result<bool> CopyAgain(const std::vector<std::string>& keys, PartHeader next, uint64_t stamp);
  // Changes the child under its header, which becomes `next`.
  Result<bool> WriteChild(PartHeader next, FunctionRef<void(WriteOp&)> fill);
  Result<bool> GiveUp();
  Status Publish();
  Result<bool> Clean();
  Result<bool> OpenUnsure(PartHeader open);
  Status Stopped() const;

  std::string_view boundary() const {
    return header_->header.state == PartHeader::State::kCopying ? header_->header.boundary
                                                                : header_->header.routes.end;
  }

  Cluster& cluster_;
  const Limits& limits_;
  TabletMap& map_;
  const std::string& process_;
  const PartPtr parent_;
  const std::function<bool()> go_on_;
  const std::function<Status(int step)> step_;

  HeaderPtr header_;  // the parent's, as last read
  PartPtr child_;
  HeaderPtr child_header_;
  Amount moved_;           // what the child has
  Amount moved_at_first_;  // when the routes were given up, by this process
  std::string giving_up_;  // the parent's header with which this process gave them up, or tried to
  bool gave_up_ = false;
};

}  // namespace stator::kv_rados
