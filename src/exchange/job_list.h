// The jobs of one kind: their list, in memory and in the store, their queue and their thread.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/random.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "exchange/job.h"
#include "kv/engine.h"

namespace stator::exchange {

// The number of jobs of a kind that are in progress. [S], of imports
inline constexpr size_t kMostInProgress = 50;
// The number that are kept; the oldest of those that have ended go first.
inline constexpr size_t kMostKept = 10'000;
// Bounds on the bytes of all kept records (again, the oldest ended ones go first), and of one
// record.
inline constexpr size_t kMostKeptBytes = 32 << 20;
inline constexpr size_t kMostJobBytes = 1 << 20;

// The time during which a request with the same client token gets the same job. [G]
inline constexpr int64_t kTokenMicros = int64_t{8} * 3600 * 1'000'000;

// AnyJob: ExportJob, ImportJob or BulkJob. Thread-safe.
template <typename AnyJob>
class JobList {
 public:
  using JobPtr = std::shared_ptr<const AnyJob>;
  // Does a job on the list's thread, and returns its last state; nothing if the list is stopped.
  using Work = std::function<std::optional<AnyJob>(const AnyJob& job)>;

  // The engine, clock and random source must outlive the list.
  JobList(kv::Engine& engine, const Clock& clock, Random& random)
      : engine_(engine), clock_(clock), random_(random) {}
  ~JobList() { Stop(); }

  // Reads what jobs there are, once. A record that cannot be read is logged.
  Status Read();
  // Begins the thread, with the jobs that an earlier process left.
  void Start(Work work);
  // Ends the thread; its job goes on at the next start. Idempotent.
  void Stop();
  // The first half of Stop: stopped() is true from now on, and the thread may still run.
  void AskToStop();
  bool stopped() const;

  // Returns the job of an account's table that has this token; null if there is none. An empty
  // account is the default.
  JobPtr FindToken(const std::string& token, std::string_view account = {}) const;
  // Adds a job, which gets its id and its start; or returns the one that was added with its token
  // meanwhile, and false. kLimitExceeded if too many are in progress, kValidation if its record
  // would be longer than kMostJobBytes. Add or GiveUp follows.
  Result<std::pair<JobPtr, bool>> Reserve(AnyJob job);
  void GiveUp(const JobPtr& job);
  // Stores a reserved job and puts it into the queue. Calls `done` on any thread when it is stored.
  void Add(const JobPtr& job, UniqueFunction<void(Status)> done);
  // Replaces a job. Its record is durable when this returns. Blocks.
  Status Change(const AnyJob& job);
  // Returns the put that stores a job, for a batch that the caller makes.
  static kv::Put PutOf(const AnyJob& job);
  // Updates the list with a new state of a running job, which the caller has made durable.
  void Show(const AnyJob& job);

  JobPtr Find(std::string_view id) const;
  // Returns the jobs, newest first.
  std::vector<JobPtr> List() const;
  // Returns at most `most` jobs of an account's tables, empty for the default, or of one of its
  // tables if `table` is not empty (a name in the store). Newest first, from the one after `before`
  // on; empty: from the newest on. Copies no other job.
  std::vector<JobPtr> Page(std::string_view account, std::string_view table,
                           std::string_view before, size_t most) const;
  size_t in_progress() const;

 private:
  using Jobs = std::map<std::string, JobPtr, std::less<>>;  // by id
  using Names = std::set<std::pair<std::string, std::string>>;

  static std::string KeyOf(std::string_view id) {
    return std::string(KeyPrefixOf(static_cast<const AnyJob*>(nullptr))).append(id);
  }
  void Run();
  void Forget(kv::Batch* batch) REQUIRES(mutex_);
  // Keep replaces the job with the same id in the list, Drop removes a job from it.
  void Keep(JobPtr job) REQUIRES(mutex_);
  typename Jobs::iterator Drop(typename Jobs::iterator job) REQUIRES(mutex_);

  kv::Engine& engine_;
  const Clock& clock_;
  Random& random_;
  Work work_;
  mutable Mutex mutex_;
  std::condition_variable_any wake_;
  Jobs jobs_ GUARDED_BY(mutex_);
  Names of_tables_ GUARDED_BY(mutex_);                // table and id of each job
  Names of_tokens_ GUARDED_BY(mutex_);                // token and id of each job that has a token
  size_t bytes_ GUARDED_BY(mutex_) = 0;               // of their records
  std::deque<std::string> queue_ GUARDED_BY(mutex_);  // ids
  size_t in_progress_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

extern template class JobList<ExportJob>;
extern template class JobList<ImportJob>;
extern template class JobList<BulkJob>;

}  // namespace stator::exchange
