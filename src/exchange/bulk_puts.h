// Bulk puts: items from an object store into tables that are there, in the background.
//
// The items of a batch, the position behind them in the input, the counts and the lines of output
// are durable together, so a bulk put that a restart has interrupted goes on where it was: no
// record is put or judged twice.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>

#include "base/mutex.h"
#include "exchange/codec.h"
#include "exchange/exports.h"
#include "exchange/job_list.h"
#include "exchange/object_store.h"
#include "table/store.h"

namespace stator::exchange {

// Returns the ARN of a bulk put.
std::string BulkArnOf(const BulkJob& job);

// Thread-safe.
class BulkPuts {
 public:
  using Jobs = JobList<BulkJob>;
  // The number of objects of one bulk put, and the size of one of them. [S]
  static constexpr size_t kMostObjects = 50'000;
  static constexpr uint64_t kMostObjectBytes = uint64_t{5} << 30;

  // The arguments must outlive the object.
  BulkPuts(table::Store& store, const Clock& clock, Random& random, ObjectStore& objects,
           Options options);
  ~BulkPuts() { Stop(); }

  // Reads what jobs there are.
  Status Read();
  // Begins the thread, with the jobs that an earlier process left unfinished.
  void Start();
  // Ends the thread. Its jobs go on at the next start. To be called before the engine goes.
  // Idempotent.
  void Stop();
  void AskToStop() { jobs_.AskToStop(); }

  const Jobs& jobs() const { return jobs_; }
  // Call Jobs::Reserve and Jobs::GiveUp. Begin or GiveUp follows Reserve.
  Result<std::pair<Jobs::JobPtr, bool>> Reserve(BulkJob job) {
    return jobs_.Reserve(std::move(job));
  }
  void GiveUp(const Jobs::JobPtr& job) { jobs_.GiveUp(job); }
  // Calls Jobs::Add. kUnavailable if a process of the store does not know bulk puts. Blocks.
  void Begin(const Jobs::JobPtr& job, UniqueFunction<void(Status)> done);

  // Cancels a job that is in progress; `done` hears on any thread, when that is durable. The job
  // ends later. Does nothing for one that has ended.
  void Cancel(const std::string& id, UniqueFunction<void(Status)> done);
  // Whether the job was cancelled, and may not have ended yet.
  bool cancelling(std::string_view id) const;

 private:
  std::optional<BulkJob> Do(const BulkJob& job);
  bool InProgress(std::string_view id) const;
  // Forgets the cancellations of jobs that have ended.
  void ForgetEnded();
  // Waits on the jobs' thread until about the tick, or a reason to end the job.
  void WaitUntil(int64_t ticks, const std::string& id);
  bool stops(std::string_view id) const { return jobs_.stopped() || cancelling(id); }

  table::Store& store_;
  const Clock& clock_;
  ObjectStore& objects_;
  const Options options_;
  Jobs jobs_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  std::set<std::string, std::less<>> cancelled_ GUARDED_BY(mutex_);  // ids
};

}  // namespace stator::exchange
