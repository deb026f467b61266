// A model of what a store must hold and answer, checked against every operation that a simulated
// cluster applies. For simulation_test.cc.
//
// The model is a map of keys to values with the history of each. Whenever the cluster applies an
// operation of a writer, the batches that the writer put into it are applied to the model, in the
// order of their stamps, and the object must hold exactly what the model holds then. So the serial
// order of all batches is known, of those with an unknown outcome too, and every answer to a read
// must be what the model held at a moment of that read.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kv/engine.h"
#include "kv_rados/fake_cluster.h"
#include "kv_rados/fake_world.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados::simulation {

// A batch that a client handed to an engine.
struct Sent {
  uint64_t serial = 0;  // rises with every Apply of the process
  int process = 0;
  kv::Batch batch;  // as the client made it
  std::shared_ptr<kv::BatchFate> fate = std::make_shared<kv::BatchFate>();
  uint64_t began = 0;  // moments
  std::optional<Result<uint64_t>> outcome;
  bool ignored = false;  // its process was killed first: the outcome says nothing
  uint64_t applied = 0;  // how often; one of range deletes alone once for each part
  uint64_t stamp = 0;    // with which
};
using SentPtr = std::shared_ptr<Sent>;

class Model final : public FakeCluster::Observer {
 public:
  using Moment = uint64_t;

  explicit Model(Verdict& verdict) : verdict_(verdict) {}
  void Watch(FakeCluster& cluster) { cluster_ = &cluster; }
  void Fail(const std::string& what);
  // Prints a line, if it `traces`.
  void Trace(const std::string& what) const;
  bool traces = false;
  // Parts are counted while they are written to. What other processes, or a late operation, write
  // meanwhile makes sizes a little wrong, so they are not compared then.
  bool counts_meanwhile = false;
  // How many times larger than a new value the one may be that it replaces: a writer that has not
  // seen the old one takes it for as large as the new one.
  uint64_t value_ratio = 1;
  Moment now() const { return now_; }

  // Notes that a client hands a batch to a process's engine; the returned object follows its fate.
  // In a batch that has only range deletes, the last range must be one that no other batch has.
  SentPtr Send(int process, const kv::Batch& batch);
  // Notes that the engine has called `done` with `outcome`, and checks it.
  void Finish(Sent& sent, const Result<uint64_t>& outcome);
  // Notes that the process is dead: later answers to it are ignored.
  void Kill(int process);

  // Checks that a read that began at `since`, ends now and returned these values has read them from
  // one state.
  void CheckRead(Moment since, kv::Tablet tablet, const std::vector<std::string>& keys,
                 const std::vector<std::optional<std::string>>& values);
  // Checks that the key has, or once had, this value: the answer of a read with Tier::kGuarded.
  void CheckStale(kv::Tablet tablet, const std::string& key,
                  const std::optional<std::string>& value);
  // Ticks pass, as the processes' clock shows them.
  void Passed(int64_t ticks);
  // Notes that the process begins a read that may be stale (Engine::GetRecent), at `ticks`. Returns
  // the earliest moment whose value the read may return: `most_micros` earlier, but not before the
  // process's last write of the key, or its last answer to a read of it.
  Moment RecentSince(int process, int64_t ticks, int64_t most_micros, kv::Tablet tablet,
                     const std::string& key);
  // Checks the answer of such a read. Batches of one group are applied together; the value may be
  // one from between two batches of a group.
  void CheckRecent(Moment since, kv::Tablet tablet, const std::string& key,
                   const std::optional<std::string>& value);
  // Notes that a read of this process, which began at `since`, was answered with `value`.
  void Answered(int process, Moment since, kv::Tablet tablet, const std::string& key,
                const std::optional<std::string>& value);
  // A scan of keys [begin, end) visited these and was not stopped, or (`stopped`) went no further.
  // `one_after_the_other`: what it shows of a later key is of the same state or of a later one.
  struct Visited {
    std::string key, value;
  };
  void CheckScan(Moment since, const kv::Range& range, const std::vector<Visited>& visited,
                 bool stopped, bool one_after_the_other);
  // Without any trouble left, a counter was read.
  void CheckCounter(kv::Tablet tablet, const std::string& key, int64_t count);
  // Notes that the fence was raised: from now on no batch with a lower fence may be applied.
  void RaisedFence(kv::Tablet tablet, uint64_t fence);
  bool IsDropped(kv::Tablet tablet) const;

  // Checks that the cluster is at rest: no split is under way, no leftovers exist, and parts cover
  // all routes. Returns what is violated; empty: nothing.
  std::string Unsettled() const;
  // Checks at the end that every batch has had its outcome, and that the objects hold what the
  // model holds.
  void CheckEnd();

  const std::map<std::string, std::string>& KeysOf(kv::Tablet tablet) { return now_of_[tablet]; }

  uint64_t groups = 0, batches = 0, unknown = 0, unknown_applied = 0, applied_late = 0, opened = 0;

 private:
  struct Version {
    Moment since;
    std::optional<std::string> value;
  };
  struct Ledgered {
    uint64_t base = 0, last = 0;
    std::map<uint64_t, SentPtr> by_stamp;
  };

  void OnSent(FakeCluster::Operation& operation) override;
  void OnApplied(const FakeCluster::Operation& operation) override;
  void ApplyGroup(const PartHeader& header, const Ledgered& group);
  void ApplyBatch(Sent& sent, uint64_t stamp, const PartHeader& header);
  void DeleteRange(const kv::DeleteRange& range, const PartHeader& header);
  void Put(kv::Tablet tablet, uint32_t part, const std::string& key,
           std::optional<std::string> value);
  std::optional<std::string> Value(kv::Tablet tablet, const std::string& key) const;
  uint64_t StampNow(kv::Tablet tablet, const std::string& key) const;
  void CheckPart(const std::string& object, const PartHeader& header);
  void KnowWritten(const Sent& sent);
  const std::vector<Version>* HistoryOf(kv::Tablet tablet, const std::string& key) const;
  // The first moment in [from, now] at which the key has the value; none: it had not.
  std::optional<Moment> Holds(kv::Tablet tablet, const std::string& key,
                              const std::optional<std::string>& value, Moment from) const;

  Verdict& verdict_;
  FakeCluster* cluster_ = nullptr;
  Moment now_ = 1;
  std::map<int, std::map<uint64_t, SentPtr>> open_;  // by process and serial
  std::vector<SentPtr> all_;
  std::map<int, uint64_t> serials_;
  std::map<kv::Tablet, std::map<std::string, std::string>> now_of_;
  std::map<kv::Tablet, std::map<std::string, std::vector<Version>>> history_;
  // The keys without a route, which each part has for itself.
  std::map<kv::Tablet, std::map<uint32_t, std::map<std::string, std::string>>> counters_;
  std::map<kv::Tablet, uint64_t> fences_;
  std::map<int64_t, Moment> passed_;  // ticks, and the moment then
  struct Place {
    int process;
    kv::Tablet tablet;
    std::string key;
    auto operator<=>(const Place&) const = default;
  };
  std::map<Place, Moment> known_;  // the process knows of the key's state at this moment
};

// For messages.
std::string Shown(std::string_view bytes);

}  // namespace stator::kv_rados::simulation
