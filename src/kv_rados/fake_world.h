// Several engines on one simulated cluster, in one thread, with every event chosen by a seed. For
// tests only.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "kv/engine.h"
#include "kv_rados/fake_cluster.h"
#include "kv_rados/fibers.h"
#include "kv_rados/limits.h"
#include "kv_rados/rados_engine.h"

namespace stator::kv_rados::simulation {

// Probabilities for each event.
struct Trouble {
  FakeFaults faults;
  double kill = 0;
  double freeze = 0;
  double shut_out = 0;
  double fill = 0;     // the pool is full for a while
  double silence = 0;  // most operations get no answer for a while
};

// The first promise that was broken.
class Verdict {
 public:
  void Fail(const std::string& what) {
    if (!ignored.empty() && what.find(ignored) != std::string::npos) return;
    if (failure_.empty()) failure_ = what;
  }
  std::string ignored;  // failures with this text do not count; empty: all do
  const std::string& failure() const { return failure_; }  // empty: none was
  bool ok() const { return failure_.empty(); }

 private:
  std::string failure_;
};

class World;

struct Process {
  Process(World& in, int process_number);

  World& world;
  const int number;
  FiberHost host;
  std::unique_ptr<kv::Engine> engine;  // null: not open yet, or closed
  bool dead = false;
  int64_t frozen_until = 0;  // ticks
  size_t clients = 0;        // that have not ended
};

class World {
 public:
  World(uint64_t seed, const Trouble& trouble, const RadosOptions& options, const Limits& limits,
        FakeCluster::Observer& observer, Verdict& verdict);
  ~World();

  // Opens an engine in a new process, then runs each client there. A process whose clients have
  // ended waits; one that is killed is followed by a new one with clients of `again`.
  using Client = std::function<void(Process&)>;
  Process& Start(std::vector<Client> clients);
  // Puts an engine on top of the one that was opened; may be null.
  std::function<std::unique_ptr<kv::Engine>(Process&, std::unique_ptr<kv::Engine>)> wrap;
  // Called with each process that is about to be killed.
  std::function<void(Process&)> on_kill;
  // Called with each process that was killed or shut out.
  std::function<void(Process&)> on_end;

  // Runs events until no client is left, or an invariant is broken.
  void RunClients();
  // Without any more trouble, runs `check` in a new process, then closes all engines.
  void Settle(const Client& check);
  // Ends all processes, after a failure too. Objects that clients use must outlive it.
  void Abandon();

  // Lets others run until `ready` returns true, which is asked after each call of Changed. For
  // fibers.
  void Await(FunctionRef<bool()> ready);
  void Changed() { fibers.Notify(&events, true); }
  void Sleep(int64_t micros) { fibers.Wait(&trouble, micros); }
  bool Chance(double probability) { return random.Unit() < probability; }

  SeededRandom random;
  ManualClock clock;
  const RadosOptions& options() const { return options_; }
  Trouble trouble;
  Verdict& verdict;
  Fibers fibers;
  FakeCluster cluster;
  std::vector<std::unique_ptr<Process>> processes;
  uint64_t events = 0, kills = 0, freezes = 0, shut_outs = 0, fills = 0, silences = 0;
  // The sums over engines that are closed.
  std::map<std::string, double> statistics;

 private:
  // Runs one event. False: nothing will ever happen.
  bool Step();
  void Disturb();
  void End(Process& process);
  void Open(Process& process);
  void Close(Process& process);

  const RadosOptions options_;
  const Limits limits_;
  bool quiet_ = false;
  int64_t full_until_ = 0, silent_until_ = 0;  // ticks
  std::vector<bool> frozen_;                   // by process; 0: the world itself
  std::vector<size_t> ready_;
  std::vector<FakeCluster::Event> events_;
};

// Abandons the world before what its clients use is destroyed, if it is declared behind that.
class AbandonAtEnd {
 public:
  explicit AbandonAtEnd(World& world) : world_(world) {}
  ~AbandonAtEnd() { world_.Abandon(); }
  AbandonAtEnd(const AbandonAtEnd&) = delete;
  AbandonAtEnd& operator=(const AbandonAtEnd&) = delete;

 private:
  World& world_;
};

}  // namespace stator::kv_rados::simulation
