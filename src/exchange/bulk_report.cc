#include "exchange/bulk_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/json_writer.h"
#include "exchange/export_writer.h"
#include "exchange/job_list.h"

namespace stator::exchange {
namespace {

constexpr char kRecordVersion = 1;

std::string PendingPrefix(const BulkJob& job, ReportType type) {
  return fmt::format("bulk-report/{}/{}/", job.id, type == ReportType::kError ? 'e' : 'c');
}

BulkJob::Report& ReportOf(BulkJob& job, ReportType type) {
  return type == ReportType::kError ? job.error_report : job.condition_report;
}

const BulkJob::Report& ReportOf(const BulkJob& job, ReportType type) {
  return type == ReportType::kError ? job.error_report : job.condition_report;
}

std::string PartName(ReportType type, int64_t part) {
  return fmt::format("{}/{:08}.json",
                     type == ReportType::kError ? "errors" : "condition-check-failures", part);
}

kv::DeleteRange AllPending(const BulkJob& job, ReportType type) {
  const std::string begin = PendingPrefix(job, type);
  std::string end = begin;
  ++end.back();
  return {kJobTablet, begin, end};
}

}  // namespace

std::string_view NameOf(ReportType type) {
  return type == ReportType::kError ? "ERROR" : "CONDITION_CHECK_FAILURE";
}

bool Wants(const BulkJob& job, ReportType type) {
  return job.outputs && std::ranges::find(*job.outputs, NameOf(type)) != job.outputs->end();
}

int64_t PendingBytes(const BulkJob& job, ReportType type) {
  return ReportOf(job, type).pending_bytes;
}

std::string BulkKeyOf(const BulkJob& job, std::string_view object) {
  std::string key = job.output_prefix.value_or("");
  if (!key.empty() && key.back() != '/') key.push_back('/');
  return key.append("AWSDynamoDB/").append(job.id).append("/").append(object);
}

std::string CancelKeyOf(std::string_view id) { return std::string("bulk-cancel/").append(id); }

void AddLines(ReportType type, std::string_view lines, int64_t count, BulkJob* job,
              kv::Batch* batch) {
  if (lines.empty() || !Wants(*job, type)) return;
  BulkJob::Report& report = ReportOf(*job, type);
  const auto bytes = static_cast<int64_t>(lines.size());
  if (report.truncated || report.bytes + bytes > kMostReportBytes) {
    report.truncated = true;
    return;
  }
  kv::Put put;
  put.tablet = kJobTablet;
  put.key = PendingPrefix(*job, type) + fmt::format("{:08}", report.pending);
  put.value.assign(kv::kStampBytes, '\0');
  put.value.push_back(kRecordVersion);
  put.value.append(lines);
  batch->puts.push_back(std::move(put));
  report.lines += count;
  report.bytes += bytes;
  report.pending += 1;
  report.pending_bytes += bytes;
}

Status WritePart(kv::Engine& engine, ObjectStore& objects, ReportType type, BulkJob* job) {
  if (ReportOf(*job, type).pending == 0) return OkStatus();
  const kv::DeleteRange pending = AllPending(*job, type);
  std::string text;
  bool damaged = false;
  TRY(engine.Scan({kJobTablet, pending.begin, pending.end}, kv::Tier::kAny,
                  [&](std::string_view, std::string_view value) {
                    const size_t head = kv::kStampBytes + 1;
                    damaged |= value.size() < head || value[kv::kStampBytes] != kRecordVersion;
                    if (!damaged) text.append(value.substr(head));
                    return !damaged;
                  }));
  if (damaged) return CorruptionError("A record of the output of a bulk put is damaged.");
  BulkJob next = *job;
  BulkJob::Report& report = ReportOf(next, type);
  report.parts += 1;
  report.pending = report.pending_bytes = 0;
  // Write the object first and store the job afterwards. After a crash in between, the next run
  // writes the same object again.
  TRY(WriteObject(objects, job->output_bucket, BulkKeyOf(*job, PartName(type, report.parts)),
                  text));
  kv::Batch batch;
  batch.range_deletes.push_back(pending);
  batch.puts.push_back(JobList<BulkJob>::PutOf(next));
  TRY(kv::ApplyAndWait(engine, std::move(batch)));
  *job = std::move(next);
  return OkStatus();
}

Status WriteManifest(ObjectStore& objects, const BulkJob& job, std::string_view arn,
                     std::string_view status) {
  JsonWriter json;
  json.Open('{').Field("bulkOperationArn", arn).Field("status", status);
  json.Key("processedItemCount").Whole(job.processed_items);
  json.Key("failedItemCount").Whole(job.errors);
  json.Key("conditionCheckFailureCount").Whole(job.failed_conditions);
  json.Key("reports").Open('[');
  for (const ReportType type : kReportTypes) {
    if (!Wants(job, type)) continue;
    const BulkJob::Report& report = ReportOf(job, type);
    json.Open('{').Field("outputType", NameOf(type));
    json.Key("lineCount").Whole(report.lines).Key("truncated").Bool(report.truncated);
    json.Key("keys").Open('[');
    for (int64_t part = 1; part <= report.parts; ++part)
      json.Text(BulkKeyOf(job, PartName(type, part)));
    json.Close(']').Close('}');
  }
  json.Close(']').Close('}');
  return WriteObject(objects, job.output_bucket, BulkKeyOf(job, "manifest.json"), json.Take());
}

void ForgetPending(const BulkJob& job, kv::Batch* batch) {
  for (const ReportType type : kReportTypes) batch->range_deletes.push_back(AllPending(job, type));
  batch->deletes.push_back({kJobTablet, CancelKeyOf(job.id)});
}

}  // namespace stator::exchange
