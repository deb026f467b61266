#include "exchange/bulk_puts.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "base/log.h"
#include "base/mutex_wait.h"
#include "exchange/bucket_failure.h"
#include "exchange/bulk_report.h"
#include "exchange/bulk_run.h"
#include "kv/features.h"

namespace stator::exchange {
namespace {

constexpr auto kSlice = std::chrono::milliseconds(20);

Failure FailureOf(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kTableNotFound: return {"TableNotFound", error.message()};
    case ErrorCode::kLimitExceeded: return {"LimitExceeded", error.message()};
    case ErrorCode::kValidation: return {"ValidationError", error.message()};
    default: return {"InternalError", error.message()};
  }
}

std::string_view StatusOf(const BulkJob& job) {
  if (job.cancelled) return "CANCELLED";
  if (job.state == JobState::kFailed) return "FAILED";
  return job.errors > 0 ? "COMPLETED_WITH_ERRORS" : "COMPLETED";
}

}  // namespace

std::string BulkArnOf(const BulkJob& job) { return job.table_arn + "/bulk-operation/" + job.id; }

BulkPuts::BulkPuts(table::Store& store, const Clock& clock, Random& random, ObjectStore& objects,
                   Options options)
    : store_(store),
      clock_(clock),
      objects_(objects),
      options_(std::move(options)),
      jobs_(store.engine(), clock, random) {}

Status BulkPuts::Read() {
  TRY(jobs_.Read());
  const std::string begin = CancelKeyOf("");
  std::string end = begin;
  ++end.back();
  std::set<std::string, std::less<>> found;
  TRY(store_.engine().Scan({kJobTablet, begin, end}, kv::Tier::kAny,
                           [&](std::string_view key, std::string_view) {
                             found.emplace(key.substr(begin.size()));
                             return true;
                           }));
  // A job may have ended before it heard.
  kv::Batch batch;
  for (const std::string& id : found)
    if (!InProgress(id)) batch.deletes.push_back({kJobTablet, CancelKeyOf(id)});
  if (!batch.empty()) TRY(kv::ApplyAndWait(store_.engine(), std::move(batch)));
  const MutexLock lock(mutex_);
  cancelled_ = std::move(found);
  return OkStatus();
}

bool BulkPuts::InProgress(std::string_view id) const {
  const Jobs::JobPtr job = jobs_.Find(id);
  return job != nullptr && job->state == JobState::kInProgress;
}

void BulkPuts::ForgetEnded() {
  std::set<std::string, std::less<>> left;
  {
    const MutexLock lock(mutex_);
    left = cancelled_;
  }
  for (const std::string& id : left) {
    if (InProgress(id)) continue;
    const MutexLock lock(mutex_);
    cancelled_.erase(id);
  }
}

void BulkPuts::Start() {
  jobs_.Start([this](const BulkJob& job) { return Do(job); });
}

void BulkPuts::Stop() { jobs_.Stop(); }

void BulkPuts::Begin(const Jobs::JobPtr& job, UniqueFunction<void(Status)> done) {
  if (Status known = kv::RequireFeature(store_.engine(), kBulkPuts); !known.ok()) {
    jobs_.GiveUp(job);
    return done(std::move(known));
  }
  jobs_.Add(job, std::move(done));
}

void BulkPuts::Cancel(const std::string& id, UniqueFunction<void(Status)> done) {
  if (!InProgress(id)) return done(OkStatus());
  kv::Put put;
  put.tablet = kJobTablet;
  put.key = CancelKeyOf(id);
  put.value.assign(kv::kStampBytes, '\0');
  kv::Batch batch;
  batch.puts.push_back(std::move(put));
  store_.engine().Apply(std::move(batch),
                        [this, id, done = std::move(done)](Result<uint64_t> applied) mutable {
                          if (!applied.ok()) return done(std::move(applied).error());
                          {
                            const MutexLock lock(mutex_);
                            cancelled_.insert(id);
                            wake_.notify_all();
                          }
                          done(OkStatus());
                        });
}

bool BulkPuts::cancelling(std::string_view id) const {
  const MutexLock lock(mutex_);
  return cancelled_.count(id) > 0;
}

void BulkPuts::WaitUntil(int64_t ticks, const std::string& id) {
  while (clock_.TicksMicros() < ticks && !stops(id)) {
    UniqueMutexLock lock(mutex_);
    wake_.wait_for(lock, kSlice);
  }
}

std::optional<BulkJob> BulkPuts::Do(const BulkJob& job) {
  ForgetEnded();
  BulkRun run({store_, clock_, objects_, options_, [this, id = job.id] { return stops(id); },
               [this, id = job.id](int64_t ticks) { WaitUntil(ticks, id); },
               [this](const BulkJob& now) { jobs_.Show(now); }},
              job);
  Result<Failure> failure = run.Put();
  if (jobs_.stopped()) return std::nullopt;
  const bool cancelled = cancelling(job.id);
  if (cancelled) {
    failure = Failure{"Cancelled", "The bulk operation was cancelled."};
  } else if (!failure.ok()) {
    failure = FailureOf(failure.error());
  }
  const auto state = [&] {
    return failure->code.empty() ? JobState::kCompleted : JobState::kFailed;
  };
  BulkJob ended = run.job();
  ended.cancelled = cancelled;
  ended.state = state();
  if (const Status reported = run.Report(StatusOf(ended)); !reported.ok()) {
    if (failure->code.empty()) failure = FailureOf(reported.error());
    LogWarn("bulk_put_not_reported",
            {{"table", job.table_name}, {"error", reported.error().message()}});
  }
  ended = run.job();
  ended.cancelled = cancelled;
  ended.state = state();
  ended.failure_code = failure->code;
  ended.failure_message = failure->message;
  ended.end_micros = clock_.NowMicros();
  kv::Batch batch;
  ForgetPending(ended, &batch);
  batch.puts.push_back(Jobs::PutOf(ended));
  // A failure is met again when the list stores the last state.
  static_cast<void>(kv::ApplyAndWait(store_.engine(), std::move(batch)).ok());
  const std::string text = fmt::format(
      "The bulk put {} into {} from {}/{} is {}: {} items put, {} errors, {} conditions failed.{}",
      job.id, job.table_name, objects_.place(), job.bucket, StatusOf(ended), ended.put_items,
      ended.errors, ended.failed_conditions,
      ended.failure_message.empty() ? "" : " " + ended.failure_message);
  LogInfo("bulk_put_ended", {{"table", job.table_name}, {"text", text}});
  if (options_.tell) {
    options_.tell(ended.state == JobState::kCompleted ? "bulk_put_ended" : "bulk_put_failed",
                  job.table_name, text);
  }
  return ended;
}

}  // namespace stator::exchange
