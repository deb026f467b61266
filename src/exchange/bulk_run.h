// Runs one bulk put: reads its records and writes their items in batches.
#pragma once

#include <cstdint>
#include <functional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "exchange/bulk_record.h"
#include "exchange/exports.h"
#include "exchange/job.h"
#include "exchange/object_store.h"
#include "kv/engine.h"
#include "table/store.h"

namespace stator::exchange {

// Where a run does its work.
struct BulkPlace {
  table::Store& store;
  const Clock& clock;
  ObjectStore& objects;
  const Options& options;
  std::function<bool()> stops;               // whether the run is to end before its input does
  std::function<void(int64_t ticks)> wait;   // until about the tick, or until it is to end
  std::function<void(const BulkJob&)> show;  // the job as it is durable
};

// Uses some megabytes of memory, and the old images of one batch. Not thread-safe; its calls block.
class BulkRun {
 public:
  // The maximum number of items in a batch (kBatchItems), and in a batch whose failed conditions
  // are reported with the old items (kReportedItems).
  static constexpr size_t kBatchItems = 64;
  static constexpr size_t kReportedItems = 16;
  static constexpr size_t kBatchBytes = 1 << 20;
  // Bounds of one batch, in bytes: what it writes, with indexes, stream and change log
  // (kWrittenBytes); what its conditions read of old items (kReadBytes); what its lines of output
  // show (kShownBytes). A batch of one item may exceed them.
  static constexpr size_t kWrittenBytes = 4 << 20;
  static constexpr size_t kReadBytes = 1 << 20;
  static constexpr size_t kShownBytes = 1 << 20;

  BulkRun(BulkPlace place, const BulkJob& job) : place_(std::move(place)), job_(job), next_(job) {}

  // Puts everything that is left. Returns why the job fails, or an empty code; after an error it
  // cannot go on either. Returns soon once the run is to end. Whatever it returns, job() has what
  // was done.
  Result<Failure> Put();
  // Writes what is left of the output, and the manifest, after Put. Does nothing if Put found that
  // the output cannot be written.
  Status Report(std::string_view status);
  // The job as the store has it.
  const BulkJob& job() const { return job_; }

 private:
  struct Entry {
    std::string key;  // EncodeItemKey
    PutRecord record;
    std::string object;
    int64_t index = 0;  // of the record in its object
  };
  struct Outcome;

  // A record, and where it is.
  struct Place {
    const ObjectInfo& object;
    int64_t index;
    int64_t read_bytes;  // of all objects, up to about here
  };

  Result<Failure> CheckBuckets();
  Result<std::vector<ObjectInfo>> ListObjects();
  Status PutObject(const ObjectInfo& object);
  Status Visit(const Place& place, Result<PutRecord> record);
  // Bytes of a record in its batch, and whether its condition may be reported.
  struct Cost {
    size_t items = 0;
    size_t written = 0;
    size_t read = 0;
    size_t shown = 0;
    int conditions = 0;
  };
  Cost CostOf(const table::Table& table, const PutRecord& record, std::string_view key) const;
  // Whether the record is to be in a later batch than what is buffered.
  bool Overflows(const Cost& cost, std::string_view key) const;
  void AddError(const std::string& object, int64_t index, const Error& error);
  // Makes the buffered records durable, and the position behind them.
  Status Flush();
  Status WriteEntries(Outcome* outcome);
  Status TryWrite(const table::TablePtr& table, Outcome* outcome);
  // Decides for each entry whether its condition holds. Returns the changes to write and fills
  // `outcome`.
  Result<std::vector<table::Change>> Decide(const table::Table& table,
                                            const std::vector<model::ItemView>& old_items,
                                            Outcome* outcome) const;
  // Sets the outcome's job: the position and the counts after this batch. Adds the job's record and
  // the lines of output to `batch`.
  void FillBatch(Outcome* outcome, kv::Batch* batch) const;
  std::string ConditionLine(const Entry& entry, model::ItemView old_item) const;
  Result<table::TablePtr> Table() const;
  void Pace(int64_t units);

  const BulkPlace place_;
  BulkJob job_;   // durable
  BulkJob next_;  // with the position and the counts of what is buffered
  bool has_output_ = false;
  std::vector<Entry> entries_;
  std::set<std::string, std::less<>> keys_;  // of entries_
  Cost cost_;                                // of entries_, together
  std::string error_lines_;
  int64_t error_count_ = 0;  // of error_lines_
  int64_t unflushed_ = 0;    // records, and objects that ended
  int64_t paid_ticks_ = 0;   // when the units so far are paid for
};

}  // namespace stator::exchange
