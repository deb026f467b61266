// Imports of tables from an object store, in the background.
//
// The catalog marks a table that is being imported (table/import_mark.h). An import that a restart
// has interrupted begins again with an empty table.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "exchange/codec.h"
#include "exchange/exports.h"
#include "exchange/job_list.h"
#include "exchange/object_store.h"
#include "table/store.h"

namespace stator::exchange {

// The bucket of the error logs: the object ID/error has a line for each item that was refused.
inline const std::string kErrorBucket = "stator-imports";

// Thread-safe.
class Imports {
 public:
  using Jobs = JobList<ImportJob>;
  // The number of objects of one import. [K]
  static constexpr size_t kMostObjects = 50'000;
  // Bytes of an error log. Errors beyond them are counted and not logged.
  static constexpr size_t kMostErrorBytes = 64 << 20;

  // The arguments must outlive the object.
  Imports(table::Store& store, const Clock& clock, Random& random, ObjectStore& objects,
          Options options);
  ~Imports() { Stop(); }

  Status Read() { return jobs_.Read(); }
  // Begins the thread, with the imports that an earlier process left unfinished.
  void Start();
  // Ends the thread. Its imports go on at the next start. To be called before the engine goes.
  // Idempotent.
  void Stop() { jobs_.Stop(); }
  void AskToStop() { jobs_.AskToStop(); }

  const Jobs& jobs() const { return jobs_; }
  // Call Jobs::Reserve and Jobs::Add.
  Result<std::pair<Jobs::JobPtr, bool>> Reserve(ImportJob job) {
    return jobs_.Reserve(std::move(job));
  }
  void Begin(const Jobs::JobPtr& job, UniqueFunction<void(Status)> done) {
    jobs_.Add(job, std::move(done));
  }

 private:
  std::optional<ImportJob> Do(const ImportJob& job);
  // Does the job; its counts are in *job. An error: it cannot go on, and the table is to go.
  Result<Failure> Import(ImportJob* job);
  Result<table::TablePtr> CreateTable(const ImportJob& job);
  Status Fill(const table::TablePtr& table, const std::vector<ObjectInfo>& objects, ImportJob* job);
  Status Show(const ImportJob& job);
  Status Drop(const ImportJob& job);

  table::Store& store_;
  const Clock& clock_;
  ObjectStore& objects_;
  const Options options_;
  Jobs jobs_;
};

}  // namespace stator::exchange
