// Exports of tables to an object store, in the background.
//
// An export reads its table as it was at a moment of its change log (transfer/past_table.h), so an
// export that a restart has interrupted is written again and has the same items. The object that
// makes it whole is written last; then the job is COMPLETED.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "exchange/codec.h"
#include "exchange/export_writer.h"
#include "exchange/job_list.h"
#include "exchange/object_store.h"
#include "table/store.h"
#include "transfer/backups.h"
#include "transfer/past_table.h"

namespace stator::exchange {

struct Options {
  Codec codec;
  std::string account;             // the owner of every bucket
  transfer::TellJob tell;          // null: the log alone hears
  uint64_t file_bytes = 64 << 20;  // of a data file; for tests
};

// Thread-safe.
class Exports {
 public:
  using Jobs = JobList<ExportJob>;
  // How long a table stays pinned at most.
  static constexpr int64_t kMostMicros = int64_t{12} * 3600 * 1'000'000;

  // The arguments must outlive the object.
  Exports(table::Store& store, const Clock& clock, Random& random, ObjectStore& objects,
          Options options);
  ~Exports() { Stop(); }

  Status Read() { return jobs_.Read(); }
  // Begins the thread, with the exports that an earlier process left unfinished.
  void Start();
  // Ends the thread. Its exports go on at the next start. To be called before the engine goes.
  // Idempotent.
  void Stop();
  void AskToStop() { jobs_.AskToStop(); }

  const Jobs& jobs() const { return jobs_; }
  // Calls Jobs::Reserve: Begin or GiveUp follows.
  Result<std::pair<Jobs::JobPtr, bool>> Reserve(ExportJob job) {
    return jobs_.Reserve(std::move(job));
  }
  void GiveUp(const Jobs::JobPtr& job) { jobs_.GiveUp(job); }
  // Stores a reserved job and begins it. `past` is its table at its moment; null for an incremental
  // export. `done` hears on any thread.
  void Begin(const Jobs::JobPtr& job, std::unique_ptr<transfer::PastTable> past,
             UniqueFunction<void(Status)> done);

 private:
  struct Pinned {
    std::unique_ptr<transfer::PastTable> past;
    int64_t ticks = 0;
  };

  std::optional<ExportJob> Do(const ExportJob& job);
  // Does the job; its last state is in *job. An error is why it failed.
  Result<Failure> Write(ExportJob* job);
  Result<Pinned> PinAgain(const ExportJob& job);
  // Both add the data to the writer, and count it in *job. The pins of `pinned` are given up.
  Status WriteItems(Pinned pinned, const CompiledFilter& filter, ExportDataWriter* writer,
                    ExportJob* job) const;
  Status WriteChanges(const CompiledFilter& filter, ExportDataWriter* writer, ExportJob* job) const;

  table::Store& store_;
  const Clock& clock_;
  ObjectStore& objects_;
  const Options options_;
  Jobs jobs_;
  Mutex mutex_;
  std::map<std::string, Pinned> pinned_ GUARDED_BY(mutex_);  // by id
};

}  // namespace stator::exchange
