// Writes one part of a tablet. One operation is under way at a time; batches that arrive meanwhile
// go together into the next one, which starts when the window (window.h) allows it. Internal to the
// room; everything runs on the writer's strand.
//
// The stamp in the object decides. Every operation compares it with the stamp that this process
// knows, and raises it. So an operation that lost a race to another process changes nothing. An
// operation whose answer was lost can be sent again as it is: if the first copy was applied, the
// second is refused, and the ledger cell, which only this process writes, shows that the first was
// applied. A copy that arrives late has no effect once anything else was written, because stamps
// never come back.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "kv_rados/cluster.h"
#include "kv_rados/group.h"
#include "kv_rados/strand.h"
#include "kv_rados/tablet_map.h"
#include "kv_rados/value_cache.h"
#include "kv_rados/wait_queue.h"
#include "kv_rados/window.h"

namespace stator::kv_rados {

struct FanOutBatch;
class PartWriter;

struct QueuedBatch {
  kv::Batch batch;
  kv::ApplyDone done;  // null once it was called
  size_t bytes = 0;
  int64_t arrived = 0;  // ticks
  uint64_t serial = 0;  // rises with every Apply
  uint64_t stamp = 0;   // of this attempt
  std::shared_ptr<FanOutBatch> joint =
      nullptr;  // set if this is what the parts with these routes do of a larger batch
  RouteRange routes = {};
};

// A batch of range deletes that several parts must apply, each for itself.
struct FanOutBatch {
  QueuedBatch whole;
  size_t left = 0;     // parts that have not yet
  uint64_t stamp = 0;  // the highest
  std::optional<Error> error;

  void Take(const Result<uint64_t>& outcome);
  Result<uint64_t> Outcome() const;
};

Error LateError();

struct WriterStatistics {
  std::atomic<uint64_t> groups = 0;
  std::atomic<uint64_t> batches = 0;
  std::atomic<uint64_t> bytes = 0;
  std::atomic<uint64_t> refusals = 0;
  std::atomic<uint64_t> races =
      0;  // operations that lost to another writer, or whose guards failed
  std::atomic<uint64_t> sent_again = 0;       // operations whose answer was lost
  std::atomic<uint64_t> found_in_ledger = 0;  // of these, applied the first time
  std::atomic<uint64_t> counts = 0;           // of the bytes of a part, by reading all of it
  std::atomic<uint64_t> unknown = 0;          // batches whose outcome nobody was told
};

// The state that the writers of all parts share. Owned by the Writer.
struct WriterContext {
  Cluster& cluster;
  TabletMap& map;
  ValueCache& cache;
  const Clock& clock;
  Strand& strand;             // what is written runs there
  Workers& workers;           // for what waits
  const std::string process;  // its ledger cells' name
  WriterStatistics& statistics;
  std::optional<Error> full;  // the pool is, as far as is known since full_asked (ticks)
  int64_t full_asked = 0;
  std::vector<UniqueFunction<void()>>
      asking;  // who waits for an answer to that; one question at a time
  // Calls done(outcome) of a batch and forgets it.
  UniqueFunction<void(QueuedBatch&, Result<uint64_t>)> finish;
  UniqueFunction<void(Status)> set_health;
  // Called with the size of a part that has grown, after every write to it.
  UniqueFunction<void(const PartPtr&, const PartSize&)> grown;
  UniqueFunction<void(const kv::Unit&)> lost;  // WriterHooks
  UniqueFunction<void()> before_group;
  size_t known_keys = 0;  // of all parts
  // Groups under way, and the parts that wait to send one.
  Window window;
  size_t groups = 0;
  WaitQueue<PartWriter*> line;
  // Parts that have batches which may wait, with the ticks until when.
  std::multimap<int64_t, PartWriter*> waiting;
};

// Its states, and what follows each of them:
//
//   kIdle --> kInLine --> kChoosing <--> kReading
//     ^                    |  ^    <--> kAwaiting
//     +--------------------+  |    <--> kWriting
//
// A group is under way from kChoosing on, and each step of it returns there. A written operation
// whose answer is lost leaves the group in doubt, which a later read or write ends.
class PartWriter {
 public:
  // Batches that a part no longer has the routes of: in their order, with the header that says so.
  // The part gets no others until SetRoutes.
  using Moved = UniqueFunction<void(PartWriter&, HeaderPtr, std::deque<QueuedBatch>)>;
  PartWriter(PartPtr part, RouteRange routes, WriterContext& context, Moved moved)
      : part_(std::move(part)),
        routes_(std::move(routes)),
        context_(context),
        moved_(std::move(moved)) {}

  const PartPtr& part() const { return part_; }
  const RouteRange& routes() const { return routes_; }
  void SetRoutes(RouteRange routes) { routes_ = std::move(routes); }

  void Enqueue(QueuedBatch batch);
  // Notes that the key is absent and that no other process knows it (Engine::NoteUnused).
  void NoteUnused(std::string_view key);
  // Stands in line if there is something to send that may not wait, or must not wait any longer,
  // and no group is under way.
  void Start();
  // What may wait has done so if it waits since then, or, with `all`, in any case. Called once for
  // each time in the context's `waiting`.
  void Hurry(int64_t now, bool all);
  // Batches that wait for the next group.
  size_t queued() const { return queue_.size(); }
  // Its turn in the line has come: takes what is queued and sets out with it.
  void SetOut(Window::Ticket ticket);

 private:
  enum class State : uint8_t {
    kIdle,      // nothing is under way
    kInLine,    // waits for the window to let a group through
    kChoosing,  // chooses the next step of its group, on the strand
    kReading,   // reads the state of the part
    kAwaiting,  // waits for a worker, or for an answer about the pool
    kWriting,   // the operation of the group is sent
  };
  // Ends the process if `to` does not follow the current state.
  void Enter(State to);

  bool Expired(const QueuedBatch& batch) const;
  bool AnyExpired() const;  // of the group under way
  void TakeGroup();
  void Advance();
  void AskWhetherFull(UniqueFunction<void()> next);
  void ReadState();
  void OnState(int result, ReadOp& read, size_t cells, std::optional<size_t> ledgers,
               const std::vector<std::string>& keys);
  void AwaitOthers();
  Status TakeState(ReadOp& read, size_t cells, std::optional<size_t> ledgers,
                   const std::vector<std::string>& keys, std::optional<LedgerCell>* own);
  // What the size attribute says at stamp_, and size_ from it and counted_.
  PartSize SaidNow() const;
  void Correct();
  void Told();
  // Counts all that the part has: while its batches wait, or not.
  void Count();
  void CountMeanwhile();
  void Build();
  void Send();
  // After every change of known_. Forgets it if all parts together know too much, and it may.
  void CountKnown(bool may_forget = true);
  void FillOperation(WriteOp* op) const;
  void MarkChanges(std::vector<std::string>* cells, std::vector<std::string>* values) const;
  void OnWritten(int result);
  void Recheck();
  void AwaitOpening();
  void AwaitChild();
  void HandBack();
  void Succeed();
  void Fail(const Error& error);
  void Refuse(QueuedBatch& batch, Error error);
  void EndGroup();
  // Runs `work`, which may wait, on a worker, then `next` with its result on the strand. If all
  // workers have too much to do the group fails.
  template <typename T>
  void Await(UniqueFunction<T()> work, UniqueFunction<void(T)> next);
  void FailForWantOfWorkers();

  const PartPtr part_;
  RouteRange routes_;  // of the batches that come here
  WriterContext& context_;
  Moved moved_;
  std::deque<QueuedBatch> queue_;

  std::optional<uint64_t> stamp_;  // of the part, as far as this process knows
  KnownKeys known_;  // at known_at_, which is that stamp or one before; replaced, not cleared, to
                     // give back its buckets
  uint64_t known_at_ = 0;
  size_t known_counted_ = 0;  // of known_, in known_keys of the context
  PartSize size_;             // at that stamp, corrected by counted_
  // The value of the size attribute, and the size that this process counted at that time. Kept
  // until an operation of this process stores the correction.
  struct Counted {
    PartSize said;
    Amount amount;
    uint64_t unsure = 0;   // bytes of groups under way meanwhile, which may be counted or not
    uint64_t told_by = 0;  // seq of the first operation that says it; 0: none yet
  };
  std::optional<Counted> counted_;
  std::string opened_;            // the header at which the child of a split was seen open
  uint64_t told_ = 0;             // corrections that operations of this process have told
  std::optional<Counted> count_;  // the next one, until no group is under way
  bool counting_ = false;
  int64_t count_not_before_ = 0;  // ticks
  uint64_t changed_since_ = 0;    // bytes that groups have changed, or may have, since it counts
  uint64_t seq_ = 0;              // of the last operation built
  bool ledger_looked_through_ = false;
  std::vector<std::string>
      stale_ledgers_;  // cells of processes long gone, to be removed by the next operation

  State state_ = State::kIdle;

  // The group under way.
  int64_t first_sent_ = 0;  // ticks
  Window::Ticket ticket_ = 0;
  size_t served_ = 0;  // batches that were answered
  std::vector<QueuedBatch> batches_;
  std::optional<Group> group_;
  HeaderPtr header_;  // that its operation compares
  bool state_is_fresh_ =
      false;  // known_ was read for this group and has the keys of all its batches
  bool counted_for_group_ = false;      // and the states of all keys that it changes are read, too
  std::optional<uint64_t> refused_at_;  // the stamp on which a refused operation was built
  bool in_doubt_ = false;               // an operation with seq_ was sent whose answer is lost

  bool hurry_ = false;              // something queued may not wait
  int64_t wait_until_ = INT64_MAX;  // for what is queued, at most
  int64_t waiting_ = INT64_MAX;     // it stands in the context's `waiting` with this time, if any
};

}  // namespace stator::kv_rados
