#include "exchange/bulk_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <future>
#include <memory>
#include <thread>
#include <utility>

#include "base/json_writer.h"
#include "base/printable.h"
#include "exchange/bucket_failure.h"
#include "exchange/bulk_puts.h"
#include "exchange/bulk_report.h"
#include "exchange/item_source.h"
#include "table/index_entries.h"
#include "table/key_encoding.h"
#include "table/write_with.h"
#include "throughput/units.h"

namespace stator::exchange {
namespace {

constexpr int64_t kMostUnflushed = 4096;
constexpr size_t kMostErrorLines = 256 << 10;
constexpr size_t kMostMessage = 1024;
constexpr size_t kEscapedBytes = 6;  // of a control character in JSON
constexpr int kAttempts = 5;
constexpr int64_t kRetryMicros = 50'000;
constexpr int64_t kSecond = 1'000'000;

Error Ends() { return Error(ErrorCode::kUnavailable, "the bulk put is to end"); }

std::string TextOfKey(const std::string& key) {
  return simdjson::validate_utf8(key) ? key : Printable(key);
}

// Opens a line of output with its first members.
void BeginLine(const BulkJob& job, const std::string& object, int64_t index, JsonWriter* line) {
  line->Open('{').Key("itemS3Pointer").Open('{').Field("bucket", job.bucket);
  line->Field("key", TextOfKey(object)).Key("itemIndex").Whole(index).Close('}');
  line->Field("bulkOperationArn", BulkArnOf(job));
}

void AddUsage(const table::IndexDescriptor& index, int64_t bytes,
              std::vector<BulkJob::IndexUsage>* usage) {
  for (BulkJob::IndexUsage& one : *usage) {
    if (one.name != index.name) continue;
    one.bytes += bytes;
    return;
  }
  usage->push_back({index.name, !index.is_global(), bytes});
}

}  // namespace

// The outcome of a batch. Made by its body, which may run again.
struct BulkRun::Outcome {
  BulkJob job;
  std::string condition_lines;
  int64_t failed = 0;  // conditions
  int64_t put = 0;
  int64_t table_bytes = 0;
  int64_t units = 0;
  std::vector<BulkJob::IndexUsage> usage;  // all of the job
};

Result<Failure> BulkRun::Put() {
  ASSIGN_OR_RETURN(Failure missing, CheckBuckets());
  if (!missing.code.empty()) return missing;
  has_output_ = true;
  TRY(Table());
  ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects, ListObjects());
  if (!next_.key.empty()) {
    const auto under_way = std::ranges::find(objects, next_.key, &ObjectInfo::key);
    if (under_way == objects.end() || static_cast<int64_t>(under_way->bytes) != next_.key_bytes) {
      return Failure{"InputChanged", "The object " + Printable(next_.key) +
                                         " has changed while its items were put."};
    }
  }
  for (const ObjectInfo& object : objects) {
    if (object.key <= next_.done_key) continue;
    TRY(PutObject(object));
  }
  TRY(Flush());
  return Failure{};
}

Result<Failure> BulkRun::CheckBuckets() {
  Job output;
  output.bucket = job_.output_bucket;
  output.bucket_owner = job_.output_owner;
  const Job* const both[] = {&job_, &output};
  for (const Job* bucket : both) {
    if (Failure denied = OwnerFailure(*bucket, place_.options.account); !denied.code.empty())
      return denied;
  }
  if (job_.encryption == "KMS") {
    return Failure{
        "KmsNotFoundException",
        "The object store of this server has no key service: use S3SseAlgorithm AES256."};
  }
  for (const Job* bucket : both) {
    ASSIGN_OR_RETURN(Failure missing, BucketFailure(*bucket, place_.objects));
    if (!missing.code.empty()) return missing;
  }
  return Failure{};
}

Result<std::vector<ObjectInfo>> BulkRun::ListObjects() {
  ASSIGN_OR_RETURN(
      std::vector<ObjectInfo> objects,
      place_.objects.List(job_.bucket, job_.prefix.value_or(""), BulkPuts::kMostObjects));
  int64_t total = 0;
  for (const ObjectInfo& object : objects) {
    if (object.bytes > BulkPuts::kMostObjectBytes) {
      return Error(ErrorCode::kLimitExceeded,
                   "The object " + Printable(object.key) + " is larger than 5 GB.");
    }
    total += static_cast<int64_t>(object.bytes);
  }
  if (!next_.listed) {
    next_.listed = true;
    next_.total_bytes = total;
    ++unflushed_;
    TRY(Flush());
  }
  return objects;
}

Status BulkRun::PutObject(const ObjectInfo& object) {
  if (place_.stops()) return Ends();
  ASSIGN_OR_RETURN(std::unique_ptr<transfer::ObjectReader> reader,
                   place_.objects.Read(job_.bucket, object.key));
  ByteSource source(std::move(reader), job_.compression, place_.stops);
  RecordReader records(place_.options.codec);
  std::optional<PutRecord> read;
  // ReadDocuments carries items; the condition goes beside it.
  const auto read_one = [&](std::string_view text) -> Result<std::string> {
    Result<PutRecord> record =
        job_.format == Format::kIon ? records.ReadIon(text) : records.ReadJson(text);
    if (!record.ok()) return record.error();
    read = *std::move(record);
    return std::string();
  };
  const int64_t done = next_.key == object.key ? next_.records : 0;
  int64_t index = -1;
  const auto visit = [&](Result<std::string> item) -> Status {
    if (place_.stops()) return Ends();
    if (++index < done) return OkStatus();
    const auto bytes = std::min(source.packed_bytes(), static_cast<int64_t>(object.bytes));
    const Place place{object, index, next_.done_bytes + bytes};
    if (!item.ok()) return Visit(place, item.error());
    return Visit(place, *std::exchange(read, std::nullopt));
  };
  TRY(ReadDocuments(source,
                    job_.format == Format::kIon ? Documents::Kind::kIon : Documents::Kind::kJson,
                    read_one, visit));
  next_.done_bytes += static_cast<int64_t>(object.bytes);
  next_.read_bytes = next_.done_bytes;
  next_.done_key = object.key;
  next_.key.clear();
  next_.records = next_.key_bytes = 0;
  ++unflushed_;
  return OkStatus();
}

Status BulkRun::Visit(const Place& place, Result<PutRecord> record) {
  ASSIGN_OR_RETURN(const table::TablePtr table, Table());
  const Status fits = record.ok()
                          ? place_.options.codec.check_item(*table, model::ItemView(record->item))
                          : Status(record.error());
  std::string key;
  Cost cost;
  if (fits.ok()) {
    key = table::EncodeItemKey(table->key_schema(), model::ItemView(record->item));
    cost = CostOf(*table, *record, key);
    if (Overflows(cost, key)) TRY(Flush());
  }
  // From here on the record is one of those that are buffered.
  next_.key = place.object.key;
  next_.key_bytes = static_cast<int64_t>(place.object.bytes);
  next_.records = place.index + 1;
  next_.read_bytes = place.read_bytes;
  ++next_.processed_items;
  ++unflushed_;
  if (fits.ok()) {
    cost_.items += cost.items;
    cost_.written += cost.written;
    cost_.read += cost.read;
    cost_.shown += cost.shown;
    cost_.conditions += cost.conditions;
    keys_.insert(key);
    entries_.push_back({std::move(key), *std::move(record), place.object.key, place.index});
  } else {
    AddError(place.object.key, place.index, fits.error());
  }
  if (unflushed_ < kMostUnflushed && error_lines_.size() < kMostErrorLines) return OkStatus();
  return Flush();
}

BulkRun::Cost BulkRun::CostOf(const table::Table& table, const PutRecord& record,
                              std::string_view key) const {
  Cost cost;
  cost.items = record.item.size();
  // The size of the item, times its copies: in the table, in each index, in the stream and in the
  // change log.
  cost.written = record.item.size() * (table.descriptor.indexes.size() + 3);
  if (record.holds == nullptr) return cost;
  // A concurrent write may change the old item; then the bounds are only approximate. An error is
  // not reported here: it comes again with the batch.
  std::string old_item;
  const Result<bool> found = place_.store.Get(table, key, kv::Tier::kAny, &old_item);
  if (found.ok() && *found) cost.read = old_item.size();
  if (!Wants(job_, ReportType::kCondition)) return cost;
  cost.conditions = 1;
  cost.shown = (record.item.size() + old_item.size()) * kEscapedBytes;
  return cost;
}

bool BulkRun::Overflows(const Cost& cost, std::string_view key) const {
  if (entries_.empty()) return false;
  return entries_.size() == kBatchItems || cost_.items + cost.items > kBatchBytes ||
         cost_.written + cost.written > kWrittenBytes || cost_.read + cost.read > kReadBytes ||
         cost_.shown + cost.shown > kShownBytes ||
         cost_.conditions + cost.conditions > static_cast<int>(kReportedItems) ||
         keys_.find(key) != keys_.end();
}

void BulkRun::AddError(const std::string& object, int64_t index, const Error& error) {
  ++next_.errors;
  if (!Wants(job_, ReportType::kError)) return;
  JsonWriter line;
  BeginLine(job_, object, index, &line);
  line.Key("errorMessages").Open('[');
  line.Text(Printable(std::string_view(error.message()).substr(0, kMostMessage)));
  error_lines_ += line.Close(']').Close('}').Take();
  ++error_count_;
}

Status BulkRun::Flush() {
  if (unflushed_ == 0) return OkStatus();
  Outcome outcome;
  TRY(WriteEntries(&outcome));
  job_ = std::move(outcome.job);
  entries_.clear();
  keys_.clear();
  cost_ = Cost();
  error_lines_.clear();
  error_count_ = unflushed_ = 0;
  for (const ReportType type : kReportTypes) {
    if (PendingBytes(job_, type) >= kReportPartBytes)
      TRY(WritePart(place_.store.engine(), place_.objects, type, &job_));
  }
  next_ = job_;
  place_.show(job_);
  Pace(outcome.units);
  return OkStatus();
}

Status BulkRun::WriteEntries(Outcome* outcome) {
  for (int attempt = 1;;) {
    ASSIGN_OR_RETURN(const table::TablePtr table, Table());
    const Status written = TryWrite(table, outcome);
    if (written.ok()) return OkStatus();
    const Error& error = written.error();
    if (error.code() == ErrorCode::kItemCollectionTooLarge && error.payload() != nullptr) {
      const size_t target = static_cast<const table::TargetPayload&>(*error.payload()).target;
      const auto refused = entries_.begin() + static_cast<ptrdiff_t>(target);
      AddError(refused->object, refused->index, error);
      entries_.erase(refused);
      continue;
    }
    if (attempt++ == kAttempts || error.code() != ErrorCode::kUnavailable) {
      // A table that was dropped meanwhile is no longer found.
      if (error.code() == ErrorCode::kResourceNotFound) TRY(Table());
      return error;
    }
    place_.wait(place_.clock.TicksMicros() + (kRetryMicros << attempt));
    if (place_.stops()) return Ends();
  }
}

Status BulkRun::TryWrite(const table::TablePtr& table, Outcome* outcome) {
  if (entries_.empty()) {
    *outcome = Outcome();
    outcome->usage = next_.index_usage;
    kv::Batch batch;
    FillBatch(outcome, &batch);
    const Result<uint64_t> applied = kv::ApplyAndWait(place_.store.engine(), std::move(batch));
    return applied.ok() ? OkStatus() : Status(applied.error());
  }
  std::vector<table::WriteTarget> targets;
  for (const Entry& entry : entries_) targets.push_back({table, entry.key});
  const std::thread::id mine = std::this_thread::get_id();
  WorkerPool& workers = place_.store.workers();
  // Shared, so that it lives as long as the thread that fulfils it needs it.
  auto promise = std::make_shared<std::promise<Status>>();
  std::future<Status> written = promise->get_future();
  table::WriteWith(
      place_.store, std::move(targets),
      [&](const std::vector<model::ItemView>& old_items) -> Result<std::vector<table::Change>> {
        return Decide(*table, old_items, outcome);
      },
      [&](kv::Batch* batch) { FillBatch(outcome, batch); },
      [promise](Status status) { promise->set_value(std::move(status)); },
      // A thread of the server's that has let go of a latch has better things to do.
      [mine, &workers](const std::vector<model::ItemView>&, UniqueFunction<void()> run) {
        return std::this_thread::get_id() != mine && workers.TryPost(run);
      });
  return written.get();
}

Result<std::vector<table::Change>> BulkRun::Decide(const table::Table& table,
                                                   const std::vector<model::ItemView>& old_items,
                                                   Outcome* outcome) const {
  *outcome = Outcome();
  outcome->usage = next_.index_usage;
  std::vector<table::Change> changes(entries_.size());
  for (size_t i = 0; i < entries_.size(); ++i) {
    // A condition may take a third of a second.
    if (place_.stops()) return Ends();
    const PutRecord& record = entries_[i].record;
    const model::ItemView item(record.item);
    outcome->units += throughput::WriteUnits(static_cast<int64_t>(item.size_bytes()));
    if (record.holds != nullptr && !record.holds(old_items[i])) {
      ++outcome->failed;
      if (Wants(job_, ReportType::kCondition))
        outcome->condition_lines += ConditionLine(entries_[i], old_items[i]);
      continue;
    }
    ++outcome->put;
    outcome->table_bytes += static_cast<int64_t>(item.size_bytes());
    changes[i].kind = table::Change::kPut;
    changes[i].item = record.item;
    changes[i].DeriveEntries(table, old_items[i]);
    const auto& entries = changes[i].entries.by_index;
    for (size_t k = 0; k < entries.size(); ++k) {
      if (entries[k].puts())
        AddUsage(table.descriptor.indexes[k], entries[k].new_bytes, &outcome->usage);
    }
  }
  return changes;
}

void BulkRun::FillBatch(Outcome* outcome, kv::Batch* batch) const {
  BulkJob& job = outcome->job = next_;
  job.put_items += outcome->put;
  job.failed_conditions += outcome->failed;
  job.table_bytes += outcome->table_bytes;
  job.index_usage = outcome->usage;
  AddLines(ReportType::kError, error_lines_, error_count_, &job, batch);
  AddLines(ReportType::kCondition, outcome->condition_lines, outcome->failed, &job, batch);
  batch->puts.push_back(JobList<BulkJob>::PutOf(job));
}

std::string BulkRun::ConditionLine(const Entry& entry, model::ItemView old_item) const {
  JsonWriter writer;
  BeginLine(job_, entry.object, entry.index, &writer);
  std::string line = writer.Take();
  line.pop_back();  // the line feed
  line += ",\"item\":";
  place_.options.codec.append_json(&line, model::ItemView(entry.record.item));
  if (old_item.exists()) {
    line += ",\"existingItem\":";
    place_.options.codec.append_json(&line, old_item);
  }
  return line += "}\n";
}

Result<table::TablePtr> BulkRun::Table() const {
  table::TablePtr table = place_.store.Find(job_.table_name);
  if (table != nullptr && table->descriptor.table_id == job_.table_id) return table;
  return Error(ErrorCode::kTableNotFound, "The table was deleted.");
}

void BulkRun::Pace(int64_t units) {
  if (job_.max_units == 0) return;
  paid_ticks_ =
      std::max(paid_ticks_, place_.clock.TicksMicros()) + units * kSecond / job_.max_units;
  place_.wait(paid_ticks_);
}

Status BulkRun::Report(std::string_view status) {
  if (!has_output_) return OkStatus();
  for (const ReportType type : kReportTypes)
    TRY(WritePart(place_.store.engine(), place_.objects, type, &job_));
  return WriteManifest(place_.objects, job_, BulkArnOf(job_), status);
}

}  // namespace stator::exchange
