// A Ceph cluster that is simulated: one pool behind the functions of librados, so that everything
// above them, Cluster included, is the code that runs in production. For tests only.
//
// One thread of the machine runs everything; the caller chooses each event. Operations of a process
// on one object reach it in their order. Each may be slow, lose its answer, be applied long after
// its process gave it up, or never: see FakeFaults.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "kv_rados/fake_objects.h"
#include "kv_rados/fibers.h"
#include "kv_rados/rados_api.h"

namespace stator::kv_rados {

// Probabilities, for each operation that is sent.
struct FakeFaults {
  double lost_answer = 0;  // applied; its process hears of a timeout
  double late = 0;         // timed out, then applied at any later moment, in any order
  double never = 0;        // timed out, and never applied
};

class FakeCluster {
 public:
  // An operation of a process.
  struct Operation {
    int process = 0;
    std::string object;
    bool write = false;
    std::shared_ptr<const FakeSteps> steps;
    std::shared_ptr<const void> note;  // what the observer keeps with it
  };
  class Observer {
   public:
    virtual ~Observer() = default;
    // A process sends a write. It may set the operation's note.
    virtual void OnSent(Operation& operation) = 0;
    // A write was applied just now, with success.
    virtual void OnApplied(const Operation& operation) = 0;
  };

  // One at a time exists in a thread.
  FakeCluster(Fibers& fibers, ManualClock& clock, Random& random, Observer& observer);
  ~FakeCluster();  // every connection must be closed

  // The functions to pass to Cluster::Connect. The `user` of its options must be UserOf(process).
  static const RadosApi& api();
  static std::string UserOf(int process);

  // The events that may happen next, for Run. Answers to frozen processes wait.
  struct Event {
    enum class Kind { kApply, kAnswer, kTimeOut, kLate } kind;
    size_t number;
  };
  void AppendEvents(const std::vector<bool>& frozen, std::vector<Event>* events) const;
  void Run(const Event& event);
  // When the next operation times out, in ticks.
  int64_t NextTime(const std::vector<bool>& frozen) const;

  // Nothing that the process does reaches the cluster any more; what it has sent may still be
  // applied. Each of its operations fails with -ESHUTDOWN.
  void Kill(int process);
  // Makes the cluster refuse the process (blocklist). The answers to its operations that were
  // applied already are errors, too.
  void ShutOut(int process);
  // Makes the pool full: it refuses writes, and monitors report it.
  void SetFull(bool full) { full_ = full; }
  bool full() const { return full_; }
  // Applies or drops operations that are late.
  void DropLate();

  FakeFaults faults;
  FakeObjects objects;
  uint64_t applied_late = 0, lost_answers = 0;

 private:
  friend struct FakeApi;
  struct Client {
    FakeCluster* cluster = nullptr;
    int process = 0;
    int64_t timeout_micros = 0;
  };
  struct Reader;  // of librados: where a read puts what it has read
  struct Pending {
    Operation operation;
    enum class State {
      kSent,     // to be applied in its turn
      kApplied,  // its answer is under way
      kLost,     // applied; times out
      kHanging,  // not applied; times out
      kRefused,  // was not sent
    } state = State::kSent;
    bool may_be_late = false;
    int64_t until = 0;  // ticks
    int result = 0;
    std::vector<FakeOutput> outputs;
    std::shared_ptr<std::vector<Reader>> readers;
    UniqueFunction<void(int)> done;
    bool ended = false;
  };
  using PendingPtr = std::shared_ptr<Pending>;

  PendingPtr Send(Client& client, const char* object, bool write,
                  std::shared_ptr<const FakeSteps> steps,
                  std::shared_ptr<std::vector<Reader>> readers, UniqueFunction<void(int)> done);
  // Sends and lets others run until the answer is there.
  int SendAndWait(Client& client, const char* object, bool write,
                  std::shared_ptr<const FakeSteps> steps,
                  std::shared_ptr<std::vector<Reader>> readers);
  void Answer(size_t number, int result);
  bool IsDead(int process) const;
  bool IsShutOut(int process) const;

  Fibers& fibers_;
  ManualClock& clock_;
  Random& random_;
  Observer& observer_;
  std::vector<PendingPtr> pending_;  // in the order in which they were sent
  std::vector<Operation> late_;
  std::vector<int> dead_, shut_out_;
  bool full_ = false;
  int connections_ = 0;
};

}  // namespace stator::kv_rados
