// The way of one shard's changes to one function: reads them, filters them, delivers them by lanes
// and keeps the checkpoint.
//
// What a course holds is in the account of its process. While another waits for memory, a course
// holds only what it is sending: the rest it forgets, and reads it again when it is due.
#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "ops/context.h"
#include "simdjson.h"
#include "stream/reader.h"
#include "stream/stream.h"
#include "triggers/account.h"
#include "triggers/book.h"
#include "triggers/function.h"
#include "triggers/lane.h"
#include "triggers/mapping.h"
#include "triggers/pattern.h"

namespace stator::triggers {

// Counts of the changes of one mapping, by their fate, since the process began to run it.
// Thread-safe.
struct Tally {
  std::atomic<uint64_t> invocations{0};
  std::atomic<uint64_t> failures{0};  // invocations whose function failed
  std::atomic<uint64_t> not_run{0};   // invocations that did not run the function
  std::atomic<uint64_t> delivered{0};
  std::atomic<uint64_t> filtered{0};
  std::atomic<uint64_t> exhausted{0};
  std::atomic<uint64_t> expired{0};
  std::atomic<uint64_t> unreported{0};
  std::atomic<uint64_t> windows_lost{0};  // whose final call was given up
  std::atomic<uint64_t> too_large{0};     // for a record of Kinesis; dropped
  std::atomic<uint64_t> refused{0};       // by Kinesis, and sent again
  std::atomic<uint64_t> gaps{0};  // times that the stream had lost changes before they were read

  void NoteResult(std::string text, int64_t now);
  struct Result {
    std::string text;  // "OK", "PROBLEM: ..."; "No records processed" at first
    int64_t at_micros = 0;
  };
  Result result() const;

 private:
  mutable Mutex mutex_;
  Result result_ GUARDED_BY(mutex_) = {"No records processed", 0};
};

// A mapping, ready to run. Immutable.
struct Plan {
  Mapping mapping;
  std::vector<Pattern> patterns;
  std::string region;
  std::string stream_arn;
  std::string function_arn;
  FunctionSettings function;
  std::optional<FunctionSettings> destination;  // of what is discarded
  std::string destination_name;
  std::shared_ptr<Tally> tally;
};

// Thread-safe. Owned by shared pointers: a checkpoint on its way to the store keeps it.
class Course : public std::enable_shared_from_this<Course> {
 public:
  struct Place {
    ops::Environment& env;
    Book& book;
    const Clock& machine;  // measures; the environment's clock dates
    // Shared by all courses of the process:
    Account& changes;  // changes from their pages to their delivery
    Account& calls;    // what calls hold beside them
    Account& filters;  // turns of filters that take long
    Trusts& trusts;
  };
  // The memory that a turn takes: a page, and what becomes of as many of its changes as a megabyte
  // holds.
  static constexpr size_t kTurnBytes = (5 << 20) / 2;

  // Begins at `start`. Everything in `place` must outlive the course. kValidation as of MakeTarget.
  static Result<std::shared_ptr<Course>> Make(const Place& place, std::shared_ptr<const Plan> plan,
                                              const stream::Shard& shard, const Checkpoint& start);

  size_t lanes() const { return parts_.size(); }
  // Returns true if there is work for a lane now, and reserves it for one call of Work.
  bool Claim(size_t lane);
  // Takes a reservation back, where Work cannot be called.
  void Unclaim(size_t lane);
  // Delivers what there is, for a second or as long as one call of the function
  // takes. Blocks.
  void Work(size_t lane);
  // Makes the course read as soon as possible, without waiting for the next poll.
  void Hurry();
  // Drops the changes that are not being sent (they are read again later), if another course waits
  // for memory.
  void Yield();
  // Returns true if all that was in the shard at `since` (machine ticks) is delivered, or waits for
  // a window or for its next try.
  bool IsSettled(int64_t since) const;
  // Lets no further work begin. `cancel`: ends the calls under way.
  void Stop(bool cancel);
  // Returns true if no call of Work and no checkpoint is under way.
  bool IsIdle() const;
  // Stores the checkpoint and waits for it. After Stop.
  void StoreLast();

  // All of a closed shard is delivered and the checkpoint says so.
  bool finished() const;
  // Another process has the shard, or the mapping is gone: what the store says must be read again.
  bool lost() const;

  struct View {
    std::string shard_id;
    std::string next;  // sequence number of the next change to deliver
    size_t queued = 0;
    size_t queued_bytes = 0;
    int64_t failures = 0;  // in a row, of the lane that has the most
    std::optional<OpenWindow> window;
    int64_t lag_micros = 0;  // the age of the oldest change that was read and is not delivered
  };
  View view() const;

 private:
  struct Part {
    Part(LaneRules rules, Random& random, Tumbling tumbling)
        : lane(rules, random, std::move(tumbling)) {}
    Lane lane;
    Lane::Counts counted;  // what of the lane's counts the tally has
    std::unique_ptr<Target> target;
    std::unique_ptr<Target> destination;  // null: there is none
    bool busy = false;
    int64_t due_micros = INT64_MAX;  // when the lane wants to be asked again
    stream::Position next = {};      // changes before it are, or were, in the lane
    bool forgotten = false;          // the lane lacks changes at and behind `next`
    int64_t forgotten_micros = 0;    // when the first of them was made
    size_t in_call = 0;              // changes of the call under way
    bool sent = false;               // they are, so that their JSON is not needed
    bool stripped = false;           // their JSON is freed
  };
  class Call;  // course.cc

  // Says which changes of a page each lane takes, as the lanes were when the page was read.
  struct Sieve {
    std::vector<std::optional<stream::Position>> from;  // of each lane; nothing: it takes none
    stream::Position counted;                           // what is filtered before it is counted
    Account::Need need = Account::Need::kTurn;          // of the first change
  };
  // The changes of a page that lanes take.
  struct Catch {
    std::vector<std::pair<size_t, Change>> changes;  // by lane
    size_t bytes = 0;                                // that they hold
    uint64_t filtered = 0;
    stream::Position next;  // where the next page begins
    bool ended = false;
    bool more = false;
    size_t lacking = 0;  // bytes that the first change needs, if there is no memory for it
  };

  Course(const Place& place, std::shared_ptr<const Plan> plan, const stream::Shard& shard,
         const Checkpoint& start);
  bool MayRead() const REQUIRES(mutex_);
  bool IsHungry(const Part& part) const REQUIRES(mutex_);
  Account::Need NeedOfRead() const REQUIRES(mutex_);
  // Takes the memory for a page. False: not now.
  bool TakeMemory() REQUIRES(mutex_);
  void ReturnMemory() REQUIRES(mutex_);
  // Goes back to where the lane has forgotten changes.
  void Resume(Part* part) REQUIRES(mutex_);
  // Makes the lane forget the changes behind its first `kept`.
  void Forget(Part* part, size_t kept) REQUIRES(mutex_);
  void YieldPart(Part* part) REQUIRES(mutex_);
  // Gives back what the lanes do not hold any more.
  void Balance() REQUIRES(mutex_);
  // Returns false if there is no memory for it. Leaves the lock meanwhile, as do Perform and
  // StoreIfDue.
  bool Read() REQUIRES(mutex_);
  Sieve SieveOf() const REQUIRES(mutex_);
  // Renders and filters a page. Called without the lock, by one thread at a time.
  Catch Sift(const stream::StreamDescriptor& stream, const stream::Page& page, const Sieve& sieve);
  // Returns whether a filter pattern matches the change's JSON. nullopt: the course is being
  // stopped.
  std::optional<bool> Matches(std::string_view json, simdjson::dom::parser* parser, uint64_t* steps,
                              Account::Share* turn);
  void Add(Catch caught) REQUIRES(mutex_);
  void OnReadFailed(const Error& error, const stream::Shard& shard) REQUIRES(mutex_);
  void Perform(const Lane::Step& step, Part* part) REQUIRES(mutex_);
  // Reports the outcome of a call to the lane and to the tally. Returns true if the whole batch is
  // done.
  bool Note(Outcome outcome, Lane::Do what, Lane* lane) REQUIRES(mutex_);
  // Gives the window's state that a call returned to the lane. If the state is too large, it ends
  // the window early and returns false. If the window cannot end early, it changes `outcome` to a
  // failure and returns true.
  bool TakeState(Outcome* outcome, Lane* lane) REQUIRES(mutex_);
  // Windows of the shard's lane.
  Tumbling Windows() const REQUIRES(mutex_);
  void Settle(Part* part) REQUIRES(mutex_);
  // Returns the head of the document for Target::Report.
  std::string DocumentOf(const Batch& batch, const Lane::Step& step, int64_t now) const;
  stream::Position Progress() const REQUIRES(mutex_);
  bool AllDelivered() const REQUIRES(mutex_);
  void StoreIfDue() REQUIRES(mutex_);
  void OnStored(const Checkpoint& checkpoint, const Result<uint64_t>& stamp);

  const Place place_;
  const std::shared_ptr<const Plan> plan_;
  const uint32_t shard_;
  const std::string shard_id_;
  std::deque<Part> parts_;  // none is added after Make
  Account::Share held_;     // what the lanes hold
  Account::Share page_;     // what the page holds that is being read
  std::atomic<bool> stopping_{false};

  mutable Mutex mutex_;
  stream::Position read_to_ GUARDED_BY(mutex_);
  bool read_all_ GUARDED_BY(mutex_) = false;
  bool more_ GUARDED_BY(mutex_) = true;  // there was more to read than the last page had
  bool reading_ GUARDED_BY(mutex_) = false;
  bool granted_ GUARDED_BY(mutex_) = false;  // page_ has the memory for a page
  size_t next_take_ GUARDED_BY(mutex_);      // for the next page
  stream::Position sifted_to_ GUARDED_BY(mutex_);
  int64_t next_read_ticks_ GUARDED_BY(mutex_) = 0;
  int64_t last_read_ticks_ GUARDED_BY(mutex_) = -1;  // when the last page was asked for
  // All changes that were made before this time, by the environment's clock, were read.
  int64_t seen_micros_ GUARDED_BY(mutex_) = INT64_MIN;
  Checkpoint stored_ GUARDED_BY(mutex_);
  bool storing_ GUARDED_BY(mutex_) = false;
  int64_t next_store_ticks_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  bool lost_ GUARDED_BY(mutex_) = false;
  std::string last_error_ GUARDED_BY(mutex_);  // that was logged
};

}  // namespace stator::triggers
