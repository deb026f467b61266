#include "exchange/exports.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/log.h"
#include "exchange/bucket_failure.h"
#include "exchange/ion.h"
#include "transfer/past_changes.h"

namespace stator::exchange {
namespace {

constexpr size_t kItemsBetweenLooks = 256;
// The least that the service bills for an incremental export. [L]
constexpr int64_t kLeastBilledBytes = 10'000'000;

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
  TRY(WriteStarted(objects_, *job));
  ExportDataWriter writer(objects_, *job, options_.file_bytes);
  TRY(job->window ? WriteChanges(&writer, job) : WriteItems(std::move(pinned), &writer, job));
  ASSIGN_OR_RETURN(const std::vector<ExportedFile> files, writer.Finish());
  if (job->window) job->billed_bytes = std::max(job->billed_bytes, kLeastBilledBytes);
  job->end_micros = clock_.NowMicros();
  job->manifest = ExportKeyOf(*job, "manifest-summary.json");
  TRY(WriteManifests(objects_, *job, files));
  return Failure{};
}

Status Exports::LookUp(int64_t begun_ticks) const {
  if (jobs_.stopped()) return Error(ErrorCode::kUnavailable, "The server is stopping.");
  if (clock_.TicksMicros() - begun_ticks > kMostMicros)
    return Error(ErrorCode::kUnavailable, "It took longer than 12 hours.");
  return OkStatus();
}

Status Exports::WriteItems(Pinned pinned, ExportDataWriter* writer, ExportJob* job) const {
  std::string line;
  return pinned.past->Read([&](std::string_view, std::string_view item) -> Status {
    TRY(model::CheckItem(item));
    if (static_cast<size_t>(++job->items) % kItemsBetweenLooks == 0) TRY(LookUp(pinned.ticks));
    const model::ItemView view(item);
    job->billed_bytes += static_cast<int64_t>(view.size_bytes());
    if (job->format == Format::kIon) {
      line = "$ion_1_0 {Item:";
      AppendIonItem(&line, view);
    } else {
      line = "{\"Item\":";
      options_.codec.append_json(&line, view);
    }
    line += "}\n";
    return writer->Add(line);
  });
}

Status Exports::WriteChanges(ExportDataWriter* writer, ExportJob* job) const {
  const table::TablePtr table = store_.Find(job->table_name);
  if (table == nullptr || table->descriptor.table_id != job->table_id)
    return Error(ErrorCode::kResourceNotFound, "The table is gone.");
  const int64_t begun = clock_.TicksMicros();
  std::string line;
  const auto member = [&](std::string_view name, std::string_view item) -> Status {
    TRY(model::CheckItem(item));
    line.append(",\"").append(name).append("\":");
    options_.codec.append_json(&line, model::ItemView(item));
    job->billed_bytes += static_cast<int64_t>(model::ItemView(item).size_bytes());
    return OkStatus();
  };
  const auto visit = [&](const transfer::PastChange& change) -> Status {
    if (static_cast<size_t>(++job->items) % kItemsBetweenLooks == 0) TRY(LookUp(begun));
    const std::string_view image = change.after.empty() ? change.before : change.after;
    TRY(model::CheckItem(image));
    line = fmt::format("{{\"Metadata\":{{\"WriteTimestampMicros\":{{\"N\":\"{}\"}}}}",
                       change.last_micros);
    TRY(member("Keys", model::KeyAttributesOf(table->key_schema(), model::ItemView(image))));
    if (!change.after.empty()) TRY(member("NewImage", change.after));
    if (!change.before.empty() && job->window->view == View::kNewAndOldImages)
      TRY(member("OldImage", change.before));
    line += "}\n";
    return writer->Add(line);
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
