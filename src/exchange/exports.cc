#include "exchange/exports.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "exchange/bucket_failure.h"
#include "exchange/ion.h"
#include "transfer/past_changes.h"

namespace stator::exchange {
namespace {

constexpr size_t kItemsBetweenLooks = 256;
// Steps of filters between two such looks: 0.1 s or less.
constexpr uint64_t kStepsBetweenLooks = 20'000'000;
// The least that the service bills for an incremental export. [L]
constexpr int64_t kLeastBilledBytes = 10'000'000;

// Looks from time to time whether a job is to go on.
class Lookout {
 public:
  Lookout(const Exports::Jobs& jobs, const Clock& clock, int64_t begun_ticks)
      : jobs_(jobs), clock_(clock), begun_ticks_(begun_ticks) {}

  // To be called for each item.
  Status Pass() {
    if (++items_ < kItemsBetweenLooks && steps_ < kStepsBetweenLooks) return OkStatus();
    items_ = 0;
    steps_ = 0;
    if (jobs_.stopped()) return Error(ErrorCode::kUnavailable, "The server is stopping.");
    if (clock_.TicksMicros() - begun_ticks_ > Exports::kMostMicros)
      return Error(ErrorCode::kUnavailable, "It took longer than 12 hours.");
    return OkStatus();
  }
  // The filter adds its steps here.
  uint64_t* steps() { return &steps_; }

 private:
  const Exports::Jobs& jobs_;
  const Clock& clock_;
  const int64_t begun_ticks_;
  size_t items_ = 0;
  uint64_t steps_ = 0;
};

// Makes the lines of data files.
class LineMaker {
 public:
  LineMaker(const Codec& codec, Format format) : codec_(codec), ion_(format == Format::kIon) {}

  // Begins {"Item":{...}} or a record.
  void BeginItem() { line_ = ion_ ? "$ion_1_0 {" : "{"; }
  // In Ion the record is a member Record, as an item is a member Item. [A]
  void BeginRecord() {
    line_ = ion_ ? "$ion_1_0 {Record:{" : "{";
    closing_ = ion_ ? "}}\n" : "}\n";
  }
  void Add(std::string_view name, model::ItemView item) {
    if (!std::exchange(first_, false)) line_ += ',';
    if (ion_) {
      line_.append(name).append(":");
      AppendIonItem(&line_, item);
    } else {
      line_.append("\"").append(name).append("\":");
      codec_.append_json(&line_, item);
    }
  }
  std::string_view Finish() {
    line_ += closing_;
    first_ = true;
    return line_;
  }

 private:
  const Codec& codec_;
  const bool ion_;
  bool first_ = true;
  std::string_view closing_ = "}\n";
  std::string line_;
};

// Returns {"WriteTimestampMicros": N} as an encoded item.
std::string MetadataOf(int64_t micros) {
  std::string entry;
  model::AppendName(&entry, "WriteTimestampMicros");
  model::AppendNumber(&entry, model::Number::FromInt(micros));
  std::string item;
  model::AppendItem(&item, 1, entry);
  return item;
}

}  // namespace

Exports::Exports(table::Store& store, const Clock& clock, Random& random, ObjectStore& objects,
                 Options options)
    : store_(store),
      clock_(clock),
      objects_(objects),
      options_(std::move(options)),
      jobs_(store.engine(), clock, random) {}

void Exports::Start() {
  for (const Jobs::JobPtr& job : jobs_.List()) {
    if (job->state != JobState::kInProgress || job->window) continue;
    Result<Pinned> pinned = PinAgain(*job);
    const MutexLock lock(mutex_);
    if (pinned.ok()) pinned_[job->id] = *std::move(pinned);
  }
  jobs_.Start([this](const ExportJob& job) { return Do(job); });
}

void Exports::Stop() {
  jobs_.Stop();
  // Pins go before the engine.
  const MutexLock lock(mutex_);
  pinned_.clear();
}

void Exports::Begin(const Jobs::JobPtr& job, std::unique_ptr<transfer::PastTable> past,
                    UniqueFunction<void(Status)> done) {
  {
    const MutexLock lock(mutex_);
    pinned_[job->id] = {std::move(past), clock_.TicksMicros()};
  }
  jobs_.Add(job, [this, id = job->id, done = std::move(done)](Status added) mutable {
    if (!added.ok()) {
      const MutexLock lock(mutex_);
      pinned_.erase(id);
    }
    done(std::move(added));
  });
}

Result<Exports::Pinned> Exports::PinAgain(const ExportJob& job) {
  const table::TablePtr table = store_.Find(job.table_name);
  if (table == nullptr || table->descriptor.table_id != job.table_id)
    return Error(ErrorCode::kResourceNotFound, "The table is gone.");
  const auto& log = table->descriptor.change_log;
  if (!log || log->since_micros > job.moment_micros)
    return Error(ErrorCode::kResourceNotFound, "Point-in-time recovery was turned off.");
  Pinned pinned{nullptr, clock_.TicksMicros()};
  ASSIGN_OR_RETURN(pinned.past, transfer::PastTable::Pin(store_, *table, job.moment_micros));
  return pinned;
}

std::optional<ExportJob> Exports::Do(const ExportJob& job) {
  ExportJob ended = job;
  Result<Failure> failure = Write(&ended);
  // Not whole: the next start writes it again.
  if (jobs_.stopped() && !failure.ok()) return std::nullopt;
  ended.state = JobState::kCompleted;
  if (!failure.ok()) {
    const bool missing = failure.error().code() == ErrorCode::kResourceNotFound;
    failure = Failure{missing ? "TableNotFound" : "InternalError", failure.error().message()};
  }
  if (!failure->code.empty()) {
    ended = job;
    ended.state = JobState::kFailed;
    ended.end_micros = clock_.NowMicros();
    ended.failure_code = failure->code;
    ended.failure_message = failure->message;
  }
  const std::string text =
      ended.state == JobState::kCompleted
          ? fmt::format("The export {} of {} to {}/{} has {} items.", job.id, job.table_name,
                        objects_.place(), job.bucket, ended.items)
          : fmt::format("The export {} of {} failed: {}", job.id, job.table_name,
                        ended.failure_message);
  LogInfo("export_ended", {{"table", job.table_name}, {"text", text}});
  if (options_.tell) {
    options_.tell(ended.state == JobState::kCompleted ? "export_made" : "export_failed",
                  job.table_name, text);
  }
  return ended;
}

Result<Failure> Exports::Write(ExportJob* job) {
  if (Failure denied = OwnerFailure(*job, options_.account); !denied.code.empty()) return denied;
  if (job->key_service) {
    return Failure{
        "KmsNotFoundException",
        "The object store of this server has no key service: use S3SseAlgorithm AES256."};
  }
  ASSIGN_OR_RETURN(Failure missing, BucketFailure(*job, objects_));
  if (!missing.code.empty()) return missing;
  Pinned pinned;
  {
    const MutexLock lock(mutex_);
    const auto found = pinned_.find(job->id);
    if (found != pinned_.end()) {
      pinned = std::move(found->second);
      pinned_.erase(found);
    }
  }
  if (pinned.past == nullptr && !job->window) {
    ASSIGN_OR_RETURN(pinned, PinAgain(*job));
  }
  CompiledFilter filter;
  if (job->filter) {
    ASSIGN_OR_RETURN(filter, options_.codec.compile_filter(*job->filter));
  }
  TRY(WriteStarted(objects_, *job));
  ExportDataWriter writer(objects_, *job, options_.file_bytes);
  TRY(job->window ? WriteChanges(filter, &writer, job)
                  : WriteItems(std::move(pinned), filter, &writer, job));
  ASSIGN_OR_RETURN(const std::vector<ExportedFile> files, writer.Finish());
  if (job->window) job->billed_bytes = std::max(job->billed_bytes, kLeastBilledBytes);
  job->end_micros = clock_.NowMicros();
  job->manifest = ExportKeyOf(*job, "manifest-summary.json");
  TRY(WriteManifests(objects_, *job, files));
  return Failure{};
}

Status Exports::WriteItems(Pinned pinned, const CompiledFilter& filter, ExportDataWriter* writer,
                           ExportJob* job) const {
  Lookout lookout(jobs_, clock_, pinned.ticks);
  LineMaker line(options_.codec, job->format);
  std::string projected;
  return pinned.past->Read([&](std::string_view, std::string_view item) -> Status {
    TRY(model::CheckItem(item));
    TRY(lookout.Pass());
    model::ItemView view(item);
    if (filter.takes && !filter.takes(view, lookout.steps())) return OkStatus();
    ++job->items;
    job->billed_bytes += static_cast<int64_t>(view.size_bytes());
    if (filter.project) {
      projected = filter.project(view);
      view = model::ItemView(projected);
    }
    line.BeginItem();
    line.Add("Item", view);
    return writer->Add(line.Finish());
  });
}

Status Exports::WriteChanges(const CompiledFilter& filter, ExportDataWriter* writer,
                             ExportJob* job) const {
  const table::TablePtr table = store_.Find(job->table_name);
  if (table == nullptr || table->descriptor.table_id != job->table_id)
    return Error(ErrorCode::kResourceNotFound, "The table is gone.");
  Lookout lookout(jobs_, clock_, clock_.TicksMicros());
  LineMaker line(options_.codec, job->format);
  const auto member = [&](std::string_view name, std::string_view item) {
    line.Add(name, model::ItemView(item));
    job->billed_bytes += static_cast<int64_t>(model::ItemView(item).size_bytes());
  };
  const auto image = [&](std::string_view name, std::string_view item) {
    if (filter.project) return member(name, filter.project(model::ItemView(item)));
    member(name, item);
  };
  const bool with_old = job->window->view == View::kNewAndOldImages;
  const auto visit = [&](const transfer::PastChange& change) -> Status {
    TRY(lookout.Pass());
    const std::string_view last = change.after.empty() ? change.before : change.after;
    TRY(model::CheckItem(last));
    if (filter.takes && !filter.takes(model::ItemView(last), lookout.steps())) return OkStatus();
    ++job->items;
    line.BeginRecord();
    line.Add("Metadata", model::ItemView(MetadataOf(change.last_micros)));
    member("Keys", model::KeyAttributesOf(table->key_schema(), model::ItemView(last)));
    if (!change.after.empty()) image("NewImage", change.after);
    if (!change.before.empty() && with_old) {
      TRY(model::CheckItem(change.before));
      image("OldImage", change.before);
    }
    return writer->Add(line.Finish());
  };
  TRY(transfer::ReadPastChanges(store_, *table, job->window->from_micros, job->moment_micros,
                                visit));
  // The days may have been deleted meanwhile.
  const table::TablePtr after = store_.Find(job->table_name);
  const bool same =
      after != nullptr && after->descriptor.table_id == job->table_id &&
      after->descriptor.change_log &&
      after->descriptor.change_log->tablet_id == table->descriptor.change_log->tablet_id;
  if (same && after->descriptor.change_log->since_micros <= job->window->from_micros)
    return OkStatus();
  return Error(ErrorCode::kResourceNotFound,
               "Point-in-time recovery was turned off, or keeps the changes no more.");
}

}  // namespace stator::exchange
