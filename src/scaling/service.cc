#include "scaling/service.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/auth.h"
#include "api/error_render.h"
#include "audit/audited_call.h"
#include "base/printable.h"
#include "scaling/call.h"

namespace stator::scaling {
namespace {

struct Row {
  std::string_view name;
  Handler handler;
};
constexpr Row kRows[] = {
    {"DeleteScalingPolicy", DeleteScalingPolicy},
    {"DeleteScheduledAction", DeleteScheduledAction},
    {"DeregisterScalableTarget", DeregisterScalableTarget},
    {"DescribeScalableTargets", DescribeScalableTargets},
    {"DescribeScalingActivities", DescribeScalingActivities},
    {"DescribeScalingPolicies", DescribeScalingPolicies},
    {"DescribeScheduledActions", DescribeScheduledActions},
    {"ListTagsForResource", ListTagsForResource},
    {"PutScalingPolicy", PutScalingPolicy},
    {"PutScheduledAction", PutScheduledAction},
    {"RegisterScalableTarget", RegisterScalableTarget},
    {"TagResource", TagResource},
    {"UntagResource", UntagResource},
};

bool IsOperation(std::string_view name) {
  return std::any_of(std::begin(kRows), std::end(kRows),
                     [&](const Row& row) { return row.name == name; });
}

// The type of an error of this API; empty for one that every API has.
std::string TypeOf(const Error& error) {
  if (const auto* fault = dynamic_cast<const FaultPayload*>(error.payload().get()))
    return fault->type;
  return error.code() == ErrorCode::kValidation ? "ValidationException" : "";
}

// The name of any error.
std::string NameOf(const Error& error) {
  std::string name = TypeOf(error);
  return name.empty() ? std::string(api::RenderError(error).name) : name;
}

}  // namespace

Result<std::string> Service::Perform(std::string_view operation,
                                     const access::HttpRequestView& http, const guard::Peer* peer,
                                     audit::Record* record) {
  const auto row = std::find_if(std::begin(kRows), std::end(kRows),
                                [&](const Row& each) { return each.name == operation; });
  if (row == std::end(kRows)) return Error(ErrorCode::kUnknownOperation, "");
  std::optional<guard::Check> check;
  if (gate_ != nullptr) {
    ASSIGN_OR_RETURN(access::VerifiedRequest verified,
                     gate_->Verify(http, "application-autoscaling"));
    if (verified.credential != nullptr) {
      record->caller = verified.credential->caller;
      record->key_id = verified.key_id;
    }
    record->enforced = gate_->enforces();
    check.emplace(*gate_, std::move(verified), environment_, operation, http, peer);
    if (!check->other_account().empty()) {
      return Error(ErrorCode::kAccessDenied,
                   "Application Auto Scaling is for tables of the default account in this version "
                   "of Stator.");
    }
    check->TellOf(&record->judgements);
  } else {
    TRY(api::CheckShape(http, require_auth_));
  }
  if (http.body.size() > kMostBodyBytes)
    return ValidationError(fmt::format("The request has more than {} bytes", kMostBodyBytes));
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  simdjson::dom::object object;
  const simdjson::padded_string padded(http.body);
  if (parser.parse(padded).get(json) != simdjson::SUCCESS ||
      json.get(object) != simdjson::SUCCESS) {
    return Error(ErrorCode::kSerialization, "The body is no JSON object");
  }
  // Takes over targets that other servers of the store have registered.
  TRY(environment_.store.Refresh());
  const Members request(object);
  const bool checked = check && check->caller() != nullptr;
  return row->handler({environment_, operation, request, checked ? &*check : nullptr});
}

Reply Service::Run(std::string_view amz_target, const access::HttpRequestView& http,
                   const guard::Peer* peer) {
  const std::string_view operation = amz_target.substr(std::min(amz_target.size(), kPrefix.size()));
  audit::Record record;
  const auto render = [](Result<std::string> result) -> Reply {
    if (!result.ok()) return RenderError(result.error());
    return {200, *std::move(result)};
  };
  // Requests that name no operation of this API leave no record.
  if (audit_ == nullptr || !IsOperation(operation))
    return render(Perform(operation, http, peer, &record));
  record.source = audit::kScaling;
  record.name = operation;
  record.read_only = operation.starts_with("Describe") || operation.starts_with("List");
  return render(audit::RunAudited(
      *audit_, http, peer, std::move(record),
      [&](audit::Record* of) { return Perform(operation, http, peer, of); }, NameOf));
}

Reply Service::RenderError(const Error& error) {
  const std::string type = TypeOf(error);
  if (type.empty()) {
    api::RenderedError rendered = api::RenderError(error);
    return {rendered.status, std::move(rendered.body)};
  }
  JsonWriter out;
  out.Open('{').Field("__type", type).Field("Message", error.message()).Close('}');
  return {400, out.Take()};
}

}  // namespace stator::scaling
