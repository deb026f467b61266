#include "exchange/imports.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "base/json_writer.h"
#include "base/log.h"
#include "base/printable.h"
#include "copy/writer.h"
#include "exchange/bucket_failure.h"
#include "exchange/export_writer.h"
#include "exchange/item_source.h"
#include "table/import_mark.h"
#include "table/key_encoding.h"
#include "table/settings_feature.h"
#include "transfer/await_catalog.h"

namespace stator::exchange {
namespace {

constexpr size_t kItemsBetweenLooks = 256;
// Each has about a megabyte at most.
constexpr size_t kWritesInFlight = 16;
// Bytes of items that are sorted before they are written.
constexpr size_t kSortedBytes = 16 << 20;

// Writes items in runs that are in the order of their keys. The objects have them in any order, and
// an engine that keeps its newest keys sorted finds the place of a key faster beside the last one.
class SortedRuns {
 public:
  SortedRuns(copy::Writer& writer, FunctionRef<bool()> stopped)
      : writer_(writer), stopped_(stopped) {}

  // Errors as of Writer::Add, of any item before; kUnavailable once `stopped`.
  Status Add(std::string key, std::string item) {
    bytes_ += key.size() + item.size();
    run_.emplace_back(std::move(key), std::move(item));
    return bytes_ < kSortedBytes ? OkStatus() : Flush();
  }
  Status Flush() {
    // Stable: the later of two items with one key stays.
    std::stable_sort(run_.begin(), run_.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    size_t written = 0;
    for (const auto& [key, item] : run_) {
      if (++written % kItemsBetweenLooks == 0 && stopped_())
        return Error(ErrorCode::kUnavailable, "the server is stopping");
      TRY(writer_.Add(key, item));
    }
    run_.clear();
    bytes_ = 0;
    return OkStatus();
  }

 private:
  copy::Writer& writer_;
  FunctionRef<bool()> stopped_;
  std::vector<std::pair<std::string, std::string>> run_;  // key and item
  size_t bytes_ = 0;
};

// The items that were refused, as lines of an object that begins with the first of them.
class ErrorLog {
 public:
  ErrorLog(ObjectStore& objects, const ImportJob& job) : objects_(objects), job_(job) {}

  void Add(const std::string& key, int64_t index, const Error& error) {
    JsonWriter line;
    line.Open('{').Key("itemS3Pointer").Open('{').Field("bucket", job_.bucket);
    line.Field("key", key).Key("itemIndex").Whole(index).Close('}');
    line.Field("importArn", job_.table_arn + "/import/" + job_.id);
    line.Key("errorMessages").Open('[').Text(Printable(error.message())).Close(']').Close('}');
    const std::string text = line.Take();
    bytes_ += text.size();
    if (bytes_ > Imports::kMostErrorBytes || failed_) return;
    if (object_ == nullptr) {
      Status made = objects_.MakeBucket(kErrorBucket);
      if (!made.ok()) return GiveUp(made.error());
      auto object = objects_.Write(kErrorBucket, job_.id + "/error");
      if (!object.ok()) return GiveUp(object.error());
      object_ = *std::move(object);
    }
    if (const Status added = object_->Append(text); !added.ok()) GiveUp(added.error());
  }
  void Finish() {
    if (object_ == nullptr || failed_) return;
    if (const Status finished = object_->Finish(); !finished.ok()) GiveUp(finished.error());
  }

 private:
  void GiveUp(const Error& error) {
    failed_ = true;
    LogWarn("import_errors_not_logged", {{"import", job_.id}, {"error", error.message()}});
  }

  ObjectStore& objects_;
  const ImportJob& job_;
  std::unique_ptr<transfer::ObjectWriter> object_;
  size_t bytes_ = 0;
  bool failed_ = false;
};

bool IsTableOf(const ImportJob& job, const table::TableDescriptor& table) {
  return table.table_id == job.table_id && table.restore &&
         *table.restore == table::ImportMark(job.id);
}

Status CheckTableOf(const ImportJob& job, const table::TableDescriptor& table) {
  if (IsTableOf(job, table)) return OkStatus();
  return Error(ErrorCode::kResourceInUse, "the table is not being imported any more");
}

std::string_view CodeOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kResourceInUse: return "TableAlreadyExists";
    case ErrorCode::kLimitExceeded: return "LimitExceeded";
    case ErrorCode::kValidation: return "ValidationError";
    default: return "InternalError";
  }
}

}  // namespace

Imports::Imports(table::Store& store, const Clock& clock, Random& random, ObjectStore& objects,
                 Options options)
    : store_(store),
      clock_(clock),
      objects_(objects),
      options_(std::move(options)),
      jobs_(store.engine(), clock, random) {}

void Imports::Start() {
  jobs_.Start([this](const ImportJob& job) { return Do(job); });
}

std::optional<ImportJob> Imports::Do(const ImportJob& job) {
  ImportJob ended = job;
  Result<Failure> failure = Import(&ended);
  if (jobs_.stopped() && !failure.ok()) return std::nullopt;
  if (!failure.ok()) {
    failure = Failure{std::string(CodeOf(failure.error())), failure.error().message()};
    if (const Status dropped = Drop(job); !dropped.ok() &&
                                          dropped.error().code() != ErrorCode::kResourceNotFound &&
                                          dropped.error().code() != ErrorCode::kResourceInUse) {
      // The table stays CREATING, and the next start tries again.
      LogError("import_not_dropped", {{"table", job.table_name},
                                      {"failure", failure->message},
                                      {"error", dropped.error().message()}});
      return std::nullopt;
    }
  }
  ended.state = failure->code.empty() ? JobState::kCompleted : JobState::kFailed;
  ended.failure_code = failure->code;
  ended.failure_message = failure->message;
  ended.end_micros = clock_.NowMicros();
  std::string text =
      fmt::format("The import {} of {} from {}/{} has {} items", job.id, job.table_name,
                  objects_.place(), job.bucket, ended.imported_items);
  if (ended.errors > 0) {
    text += fmt::format(" and {} errors: see {}/{}/{}/error.", ended.errors, objects_.place(),
                        kErrorBucket, job.id);
  } else if (ended.state == JobState::kFailed) {
    text = fmt::format("The import {} of {} failed: {}", job.id, job.table_name,
                       ended.failure_message);
  } else {
    text += '.';
  }
  LogInfo("import_ended", {{"table", job.table_name}, {"text", text}});
  if (options_.tell) {
    options_.tell(ended.state == JobState::kCompleted ? "table_imported" : "import_failed",
                  job.table_name, text);
  }
  return ended;
}

Result<Failure> Imports::Import(ImportJob* job) {
  if (!job->filled) {
    // Removes the table of an earlier process.
    if (const table::TablePtr left = store_.Find(job->table_name);
        left != nullptr && IsTableOf(*job, left->descriptor))
      TRY(Drop(*job));
    if (Failure denied = OwnerFailure(*job, options_.account); !denied.code.empty()) return denied;
    ASSIGN_OR_RETURN(Failure missing, BucketFailure(*job, objects_));
    if (!missing.code.empty()) return missing;
    ASSIGN_OR_RETURN(const std::vector<ObjectInfo> objects,
                     objects_.List(job->bucket, job->prefix.value_or(""), kMostObjects));
    ASSIGN_OR_RETURN(const table::TablePtr table, CreateTable(*job));
    TRY(Fill(table, objects, job));
    job->filled = true;
    TRY(jobs_.Change(*job));
  }
  TRY(Show(*job));
  if (job->errors == 0) return Failure{};
  return Failure{"ItemValidationError",
                 "Some of the items failed validation checks and were not imported. Please check "
                 "CloudWatch error logs for more details."};
}

Result<table::TablePtr> Imports::CreateTable(const ImportJob& job) {
  ASSIGN_OR_RETURN(table::TableDescriptor table, table::TableDescriptor::Decode(job.definition));
  table.restore = table::ImportMark(job.id);
  table.created_micros = clock_.NowMicros();
  if (table.NeedsTableSettings()) TRY(table::RequireTableSettings(store_));
  if (table::IsOfOtherAccount(table.name)) TRY(table::RequireAccounts(store_));
  TRY(transfer::AwaitCatalog([&](auto done) {
    store_.Create(std::move(table), std::move(done), [this](const table::TableDescriptor& d) {
      return options_.codec.check_table(d);
    });
  }));
  table::TablePtr made = store_.Find(job.table_name);
  if (made != nullptr && IsTableOf(job, made->descriptor)) return made;
  return InternalError("the table is gone");
}

Status Imports::Fill(const table::TablePtr& table, const std::vector<ObjectInfo>& objects,
                     ImportJob* job) {
  copy::Options options;
  options.in_flight = kWritesInFlight;
  copy::Writer writer(store_, table, options);
  const auto stopped = [this] { return jobs_.stopped(); };
  SortedRuns runs(writer, stopped);
  ErrorLog errors(objects_, *job);
  job->processed_bytes = job->processed_items = job->imported_items = job->errors = 0;
  for (const ObjectInfo& info : objects) {
    int64_t index = -1;
    const auto visit = [&](Result<std::string> item) -> Status {
      ++index;
      if (static_cast<size_t>(++job->processed_items) % kItemsBetweenLooks == 0 && jobs_.stopped())
        return Error(ErrorCode::kUnavailable, "the server is stopping");
      Status fits = item.ok() ? options_.codec.check_item(*table, model::ItemView(*item))
                              : Status(item.error());
      if (!fits.ok()) {
        ++job->errors;
        errors.Add(info.key, index, fits.error());
        return OkStatus();
      }
      ++job->imported_items;
      std::string key = table::EncodeItemKey(table->key_schema(), model::ItemView(*item));
      return runs.Add(std::move(key), *std::move(item));
    };
    if (jobs_.stopped()) return Error(ErrorCode::kUnavailable, "the server is stopping");
    ASSIGN_OR_RETURN(std::unique_ptr<transfer::ObjectReader> object,
                     objects_.Read(job->bucket, info.key));
    TRY(ReadItems(std::move(object), *job, options_.codec, table->descriptor, visit,
                  &job->processed_bytes, stopped));
  }
  TRY(runs.Flush());
  errors.Finish();
  return writer.Finish();
}

Status Imports::Show(const ImportJob& job) {
  const table::TablePtr table = store_.Find(job.table_name);
  // An earlier process has shown it, and it may be gone since.
  if (table == nullptr || !IsTableOf(job, table->descriptor)) return OkStatus();
  return transfer::AwaitCatalog([&](auto done) {
    store_.Alter(
        job.table_name,
        [job](table::TableDescriptor* descriptor) -> Status {
          TRY(CheckTableOf(job, *descriptor));
          descriptor->restore.reset();
          return OkStatus();
        },
        std::move(done));
  });
}

Status Imports::Drop(const ImportJob& job) {
  return transfer::AwaitCatalog([&](auto done) {
    store_.Drop(
        job.table_name,
        [job](const table::TableDescriptor& descriptor) { return CheckTableOf(job, descriptor); },
        std::move(done));
  });
}

}  // namespace stator::exchange
