// Leads the Kinesis destinations of tables from state to state, and has their changes sent.
//
//   ENABLING --the stream is there--> ACTIVE --Disable--> DISABLING --all is sent--> DISABLED
//      |                              |    ^
//      `--it is not--> ENABLE_FAILED  `-Update-> UPDATING
//
// A table with a destination has a hidden stream of its changes, whether clients have one or not. A
// mapping of the keeper's own runner delivers it, as those of functions are.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "ops/context.h"
#include "table/descriptor.h"
#include "triggers/book.h"
#include "triggers/function.h"
#include "triggers/kinesis.h"
#include "triggers/kinesis_checker.h"
#include "triggers/runner.h"

namespace stator::triggers {

// Thread-safe.
class KinesisKeeper {
 public:
  struct Options {
    std::string endpoint;  // URL; empty: none, then nothing is sent
    std::string authorities_file;
    // As of Runner::Options.
    std::function<bool(uint32_t tablet)> is_mine = nullptr;
  };
  // `machine` measures; env's clock dates. Both must outlive the keeper.
  KinesisKeeper(ops::Environment& env, const Clock& machine, Options options);
  ~KinesisKeeper() { Stop(); }

  Status Start();
  // As of Runner. Idempotent.
  void Stop();
  void Settle(int64_t most_micros) { runner_.Settle(most_micros); }

  const Runner& runner() const { return runner_; }

 private:
  // A destination that is sent to, of a table that may be gone.
  struct Followed {
    Mapping mapping;
    int64_t until_ticks = INT64_MAX;  // what is not sent by then is lost
    bool ends = false;                // its stream is closed, or about to be
  };

  void Run();
  void Look();
  // Handles one destination of a table whose hidden stream this process sends.
  void Lead(const table::TableDescriptor& table, const table::KinesisDestination& destination);
  void Check(const table::TableDescriptor& table, const table::KinesisDestination& destination);
  // Lets the remaining changes of removed destinations be sent, and then removes their hidden
  // streams.
  void Finish();
  void Refresh();
  // Changes the status of a destination, if it still has the one that was seen.
  Status SetStatus(const table::TableDescriptor& table, const table::KinesisDestination& seen,
                   table::KinesisDestination::Status status, const std::string& description);

  ops::Environment& env_;
  const Clock& machine_;
  const Options options_;
  Book book_;
  Trusts trusts_;
  std::unique_ptr<KinesisClient> asking_;    // null: there is no endpoint
  std::unique_ptr<KinesisChecker> checker_;  // null under the same condition
  // These belong to the thread:
  std::map<std::string, int64_t> since_;       // ticks at which an id was first seen in its status
  std::map<std::string, int64_t> next_check_;  // ticks, by id
  std::map<std::string, Followed> followed_;   // by id
  std::set<std::string> seen_;                 // ids of the last look
  std::map<std::string, uint64_t> shown_;      // what the runner has: stamps by id

  Mutex mutex_;
  std::condition_variable_any wake_;
  std::vector<StoredMapping> mappings_ GUARDED_BY(mutex_);
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
  Runner runner_;  // last: it asks for mappings
};

}  // namespace stator::triggers
