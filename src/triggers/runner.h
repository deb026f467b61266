// Runs the mappings of a store: one thread decides what is due, others call the functions. Without
// mappings there are no threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/crew.h"
#include "base/mutex.h"
#include "base/result.h"
#include "ops/context.h"
#include "stream/stream.h"
#include "triggers/account.h"
#include "triggers/book.h"
#include "triggers/course.h"
#include "triggers/function.h"
#include "triggers/mapping.h"

namespace stator {
class JsonWriter;
}
namespace stator::triggers {

// One [[triggers]] of stator.toml: a mapping of whatever stream the table has. Uuid and label are
// empty.
// `settings` are names with values as text. kValidation says what is wrong.
Status AddTrigger(const std::vector<Setting>& settings, std::vector<Mapping>* triggers);

// Thread-safe.
class Runner {
 public:
  // Calls of functions at once, besides one for each mapping.
  static constexpr int kSharedCalls = 16;
  static constexpr size_t kMostMappings = 100;
  // Memory of all mappings: for changes that are not delivered, and for what calls hold beside them
  // (answers, copies for archives). One change, or one call, may go beyond each bound.
  static constexpr size_t kMostChangeBytes = 64 << 20;
  static constexpr size_t kMostCallBytes = 16 << 20;

  struct Options {
    std::vector<FunctionSettings> functions;
    std::vector<Mapping> declared;
    // Returns true if this process runs the mappings of the stream with this tablet at present.
    // Null: always true.
    std::function<bool(uint32_t tablet)> is_mine = nullptr;
    // Returns the mappings to run, if they are not those of the store's book (Kinesis
    // destinations). Then Create, Update and Remove are not called.
    std::function<std::vector<StoredMapping>()> mappings = nullptr;
  };
  // `machine` is used for timeouts, env's clock for dates. Both must outlive the runner.
  Runner(ops::Environment& env, const Clock& machine, Options options);
  ~Runner() { Stop(); }

  // Reads the mappings and starts the threads. Blocks on the engine.
  Status Start();
  // Ends the calls under way, after a grace of a few seconds, and stores checkpoints. Idempotent.
  void Stop();
  // Reads the mappings from the store. Blocks on the engine. If other processes may change them,
  // call it about once a second.
  Status Refresh();

  // Waits until all changes that are in the streams now are delivered, or wait for a window or a
  // retry; for at most `most_micros`. Called before a manual clock is moved. Blocks.
  void Settle(int64_t most_micros);

  // Creates a mapping that starts at the stream's end or at its oldest record, as it says. The
  // start is fixed before the call returns. kResourceInUse, with the UUID as message, if the pair
  // has one; kLimitExceeded; kResourceNotFound if there is no such stream. Blocks.
  Status Create(const Mapping& mapping);
  // Replaces a mapping by what `change` makes of it. kResourceNotFound, or the error of `change`.
  // Blocks.
  Result<Mapping> Update(std::string_view uuid,
                         const std::function<Status(Mapping* mapping)>& change);
  // Removes a mapping and returns it. kResourceNotFound if there is none with this id. Blocks.
  Result<Mapping> Remove(std::string_view uuid);

  // Returns true if the mapping's stream is disabled and all its changes are delivered.
  bool IsFinished(std::string_view uuid) const;

  // Removes all mappings. Blocks.
  Status RemoveAll();

  const std::vector<FunctionSettings>& functions() const { return options_.functions; }
  // Returns the destination that a text such as an ARN names: the declared function whose name is
  // its last part; null if there is none.
  const FunctionSettings* FindDestination(std::string_view text, std::string* name) const;

  struct State {
    Mapping mapping;
    Tally::Result result;
    bool runs_here = false;
  };
  // By UUID.
  std::vector<State> States() const;

  struct Figures {
    std::string uuid, table, function;
    uint64_t invocations = 0, failures = 0, not_run = 0;
    uint64_t delivered = 0, filtered = 0, exhausted = 0, expired = 0, unreported = 0, gaps = 0;
    uint64_t too_large = 0, refused = 0, windows_lost = 0;
    int64_t lag_micros = 0;
    uint64_t queued = 0;
  };
  std::vector<Figures> figures() const;
  struct Memory {
    Account::View changes;
    Account::View calls;
  };
  Memory memory() const;
  // Writes the members of a report for people into the object that is open.
  void WriteReport(JsonWriter* json) const;

 private:
  struct Following {
    StoredMapping stored;
    std::shared_ptr<const Plan> plan;  // null: `problem` says why it cannot run
    std::string problem;
    std::string course_problem;  // why a shard is not followed
    std::shared_ptr<Tally> tally;
    bool loaded = false;  // checkpoints are
    int64_t load_again_ticks = 0;
    Checkpoints checkpoints;  // where shards start that have no course
    stream::StreamPtr seen;
    std::map<uint32_t, std::shared_ptr<Course>> courses;
    std::vector<std::shared_ptr<Course>> leaving;  // stopped, perhaps not idle yet
    std::shared_ptr<std::atomic<int>> active;      // calls of Work under way
    size_t turn = 0;
  };

  void Run();
  // Work of the thread, under the lock. Each returns with it.
  void Tick() REQUIRES(mutex_);
  void TickOne(Following* following) REQUIRES(mutex_);
  bool Prepare(Following* following) REQUIRES(mutex_);
  void Advance(Following* following) REQUIRES(mutex_);
  void Post(Following* following) REQUIRES(mutex_);
  void Retire(Following* following) REQUIRES(mutex_);
  void BeginThread() REQUIRES(mutex_);
  std::shared_ptr<const Plan> PlanOf(const Mapping& mapping, std::shared_ptr<Tally> tally,
                                     std::string* problem) const;
  // Makes sure of the features that the store needs for what a mapping delivers to. Blocks.
  Status RequireTargets(const Mapping& mapping);
  // Makes sure that what stator.toml declares is in the store.
  void Declare();
  Result<StoredMapping> Find(std::string_view uuid);

  ops::Environment& env_;
  const Clock& machine_;
  const Options options_;
  Book book_;
  // These outlive the courses.
  Account changes_;
  Account calls_;
  Account filters_;
  Trusts trusts_;
  Crew crew_;
  std::atomic<int> shared_calls_{0};
  Mutex refreshing_;  // held through Refresh
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::map<std::string, Following, std::less<>> followings_ GUARDED_BY(mutex_);
  std::vector<std::shared_ptr<Course>> gone_ GUARDED_BY(mutex_);  // of removed mappings
  bool started_ GUARDED_BY(mutex_) = false;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_ GUARDED_BY(mutex_);
};

}  // namespace stator::triggers
