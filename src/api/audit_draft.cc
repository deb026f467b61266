#include "api/audit_draft.h"

#include <algorithm>
#include <utility>

#include "api/audit_parameters.h"
#include "audit/audited_call.h"
#include "ops/table_status.h"

namespace stator::api {
namespace {

constexpr size_t kMostSubjects = 24;

}  // namespace

AuditDraft::AuditDraft(const ServiceOptions& options, const ops::Environment& environment,
                       const Operation& operation, const access::HttpRequestView& http,
                       const guard::Peer* peer)
    : trail_(*options.audit),
      environment_(environment),
      change_(operation.subject == Subject::kDefinitions && operation.access == Access::kWrite),
      enforces_(options.gate == nullptr || options.gate->enforces()) {
  record_.at_micros = trail_.clock().NowMicros();
  record_.source = audit::kDynamoDb;
  record_.name = operation.name;
  record_.read_only = operation.access == Access::kRead;
  record_.data_event = operation.subject == Subject::kItems;
  audit::NoteCaller(http, peer, &record_);
}

std::unique_ptr<AuditDraft> AuditDraft::Begin(const ServiceOptions& options,
                                              const ops::Environment& environment,
                                              const Operation& operation, const Incoming& request) {
  if (operation.subject == Subject::kItems && !options.audit->data_plane()) return nullptr;
  const access::HttpRequestView http{request.method, request.target, request.lines, request.body};
  return std::unique_ptr<AuditDraft>(
      new AuditDraft(options, environment, operation, http, request.peer));
}

std::unique_ptr<AuditDraft> AuditDraft::OfDenial(const ServiceOptions& options,
                                                 const ops::Environment& environment,
                                                 const Operation& operation,
                                                 const guard::Check& check) {
  std::unique_ptr<AuditDraft> draft(
      new AuditDraft(options, environment, operation, check.http(), check.peer()));
  draft->TakeCaller(check);
  if (check.denial()) draft->record_.judgements.Add(*check.denial());
  return draft;
}

void AuditDraft::TakeCaller(const guard::Check& check) {
  if (check.caller() == nullptr) return;
  record_.caller = check.verified().credential->caller;
  record_.key_id = check.verified().key_id;
}

void AuditDraft::Join(guard::Check* check, simdjson::dom::element body) {
  TakeCaller(*check);
  record_.parameters = AuditParameters(record_.name, body);
  subjects_ = AuditSubjects(record_.name, body, kMostSubjects);
  check->TellOf(&record_.judgements);
}

Status AuditDraft::Permit() {
  if (!change_) return OkStatus();
  Result<audit::Trail::Slot> slot = trail_.Reserve();
  if (!slot.ok()) return slot.error();
  slot_.emplace(*std::move(slot));
  return OkStatus();
}

void AuditDraft::NoteError(const Error& error) {
  // Messages of other errors may show values of items.
  if (error.code() == ErrorCode::kAccessDenied) record_.error_message = error.message();
}

void AuditDraft::Finish(std::string_view error, const Headers& headers,
                        UniqueFunction<void()> written) {
  record_.error_code = error;
  for (const auto& [name, value] : headers) {
    if (name == "x-amzn-RequestId") record_.request_id = value;
  }
  const auto add = [this](std::string arn) {
    std::vector<std::string>& list = record_.resources;
    if (arn != "*" && std::find(list.begin(), list.end(), arn) == list.end())
      list.push_back(std::move(arn));
  };
  for (const guard::Judgement& judgement : record_.judgements.list()) {
    add(judgement.resource);
    record_.enforced = record_.enforced && (judgement.allowed || enforces_);
  }
  if (record_.resources.empty()) {
    const bool other =
        record_.caller != nullptr && record_.caller->account != environment_.settings.account;
    for (const std::string& subject : subjects_) {
      add(subject.starts_with("arn:")
              ? subject
              : ops::TableArn(environment_,
                              table::StoreName(other ? record_.caller->account : "", subject)));
    }
  }
  if (slot_) {
    trail_.WriteChange(*std::exchange(slot_, std::nullopt), std::move(record_), std::move(written));
  } else {
    trail_.Write(std::move(record_));
  }
}

}  // namespace stator::api
