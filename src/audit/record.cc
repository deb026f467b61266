#include "audit/record.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_writer.h"
#include "base/printable.h"
#include "base/time_text.h"
#include "base/whole_characters.h"

namespace stator::audit {
namespace {

using Kind = access::Principal::Kind;

constexpr size_t kMaxText = 512;  // of a text that a client chose
constexpr size_t kMaxResources = 24;
constexpr std::string_view kHidden = "HIDDEN_DUE_TO_SECURITY_REASONS";

// Cuts a text of clients, and takes out of it what would break a line.
std::string Shown(std::string_view text) {
  std::string shown = Printable(text.substr(0, kMaxText));
  shown.resize(Beginning(shown, kMaxText).size());
  return shown;
}

std::string_view TypeOf(const access::Caller* caller) {
  if (caller == nullptr) return "Unknown";
  switch (caller->kind) {
    case Kind::kRoot: return "Root";
    case Kind::kUser: return "IAMUser";
    case Kind::kRoleSession: return "AssumedRole";
    case Kind::kFederatedUser: return "FederatedUser";
    case Kind::kWebIdentity: return "WebIdentityUser";
    case Kind::kService: return "AWSService";
    case Kind::kAnonymous: return "Unknown";
  }
  return "Unknown";
}

std::string_view LastPart(std::string_view arn) { return arn.substr(arn.rfind('/') + 1); }

void AppendIdentity(const Record& record, JsonWriter* out) {
  const access::Caller* const caller = record.caller.get();
  out->Key("userIdentity").Open('{').Field("type", TypeOf(caller));
  if (caller != nullptr) {
    out->Field("principalId", Shown(caller->user_id)).Field("arn", Shown(caller->arn));
    out->Field("accountId", caller->account);
  }
  if (!record.key_id.empty()) out->Field("accessKeyId", Shown(record.key_id));
  if (caller != nullptr && caller->kind == Kind::kUser)
    out->Field("userName", Shown(LastPart(caller->arn)));
  if (caller != nullptr && caller->issued_micros != 0) {
    out->Key("sessionContext").Open('{');
    if (!caller->issuer_arn.empty()) {
      const bool role = caller->kind == Kind::kRoleSession;
      out->Key("sessionIssuer").Open('{').Field("type", role ? "Role" : "User");
      out->Field("principalId", Shown(caller->id)).Field("arn", Shown(caller->issuer_arn));
      out->Field("accountId", caller->account);
      out->Field("userName", Shown(LastPart(caller->issuer_arn))).Close('}');
    }
    out->Key("attributes").Open('{').Field("creationDate", FormatTime(caller->issued_micros));
    out->Field("mfaAuthenticated", "false").Close('}');
    if (!caller->source_identity.empty())
      out->Field("sourceIdentity", Shown(caller->source_identity));
    out->Close('}');
  }
  out->Close('}');
}

void AppendResources(const Record& record, const Origin& origin, JsonWriter* out) {
  if (record.resources.empty()) return;
  out->Key("resources").Open('[');
  size_t shown = 0;
  for (const std::string& arn : record.resources) {
    if (++shown > kMaxResources) break;
    out->Open('{').Field("accountId", origin.account);
    const bool stream = arn.find("/stream/") != std::string::npos;
    if (stream) {
      out->Field("type", "AWS::DynamoDB::Stream");
    } else if (arn.find(":table/") != std::string::npos) {
      out->Field("type", "AWS::DynamoDB::Table");
    }
    out->Field("ARN", Shown(arn)).Close('}');
  }
  out->Close(']');
}

void AppendJudgement(const guard::Judgement& judgement, JsonWriter* out) {
  out->Open('{')
      .Field("action", Shown(judgement.action))
      .Field("resource", Shown(judgement.resource));
  out->Field("effect", judgement.allowed ? "Allow" : "Deny");
  if (judgement.type != access::PolicyType::kNone)
    out->Field("policyType", access::PolicyTypeName(judgement.type));
  if (!judgement.policy.empty()) out->Field("policy", Shown(judgement.policy));
  if (judgement.statement >= 0) out->Key("statement").Whole(judgement.statement + 1);
  if (!judgement.sid.empty()) out->Field("sid", Shown(judgement.sid));
  out->Close('}');
}

void AppendAdditional(const Record& record, const Origin& origin, bool brief, JsonWriter* out) {
  out->Key("additionalEventData").Open('{').Field("server", origin.server);
  const std::vector<guard::Judgement>& list = record.judgements.list();
  if (!list.empty()) {
    out->Key("authorization").Open('[');
    // A long line keeps what decided.
    for (size_t i = brief ? list.size() - 1 : 0; i < list.size(); ++i)
      AppendJudgement(list[i], out);
    out->Close(']');
    const size_t left_out = record.judgements.left_out() + (brief ? list.size() - 1 : 0);
    if (left_out > 0) out->Key("authorizationsLeftOut").Whole(static_cast<int64_t>(left_out));
  }
  if (!record.enforced) out->Key("enforced").Bool(false);
  out->Close('}');
}

void AppendBegin(int64_t at_micros, JsonWriter* out) {
  out->Open('{').Field("eventVersion", "1.11");
  out->Field("eventTime", FormatTime(at_micros));
}

std::string Render(const Record& record, const Origin& origin, std::string_view event_id,
                   bool brief) {
  JsonWriter out;
  AppendBegin(record.at_micros, &out);
  AppendIdentity(record, &out);
  out.Field("eventSource", record.source).Field("eventName", Shown(record.name));
  out.Field("awsRegion", origin.region);
  if (!record.address.empty()) out.Field("sourceIPAddress", record.address);
  if (!record.user_agent.empty()) out.Field("userAgent", Shown(record.user_agent));
  if (!record.error_code.empty()) out.Field("errorCode", record.error_code);
  if (!record.error_message.empty()) out.Field("errorMessage", Shown(record.error_message));
  out.Key("requestParameters");
  std::string text;
  if (record.parameters.empty()) {
    out.Null();
  } else if (brief || record.parameters.size() > kMaxParameterBytes) {
    out.Open('{').Key("omitted").Bool(true).Close('}');
  } else {
    // Spliced in below: the writer takes no raw text.
    out.Null();
    text = out.Take();
    text.erase(text.size() - std::string_view("null\n").size());
    text += record.parameters;
  }
  JsonWriter rest;
  rest.Open('{').Key("responseElements");
  if (record.response.empty()) {
    rest.Null();
  } else {
    rest.Open('{');
    for (const auto& [name, value] : record.response) rest.Field(name, Shown(value));
    rest.Close('}');
  }
  AppendAdditional(record, origin, brief, &rest);
  if (!record.request_id.empty()) rest.Field("requestID", Shown(record.request_id));
  rest.Field("eventID", event_id).Key("readOnly").Bool(record.read_only);
  if (!brief) AppendResources(record, origin, &rest);
  rest.Field("eventType", "AwsApiCall");
  if (record.source == kDynamoDb) rest.Field("apiVersion", "2012-08-10");
  rest.Key("managementEvent").Bool(!record.data_event);
  rest.Field("recipientAccountId", origin.account);
  rest.Field("eventCategory", record.data_event ? "Data" : "Management").Close('}');
  if (text.empty()) {
    text = out.Take();
    text.pop_back();
  }
  text += ',';
  text += std::string_view(rest.Take()).substr(1);
  return text;
}

}  // namespace

size_t Record::weight() const {
  size_t bytes = sizeof(Record) + name.size() + key_id.size() + address.size() + user_agent.size() +
                 parameters.size() + error_code.size() + error_message.size() + request_id.size();
  for (const std::string& arn : resources) bytes += sizeof(arn) + arn.size();
  for (const auto& [key, value] : response) bytes += sizeof(value) + value.size();
  for (const guard::Judgement& judgement : judgements.list()) {
    bytes += sizeof(judgement) + judgement.action.size() + judgement.resource.size() +
             judgement.policy.size() + judgement.sid.size();
  }
  return bytes;
}

std::string RenderLine(const Record& record, const Origin& origin, std::string_view event_id) {
  std::string line = Render(record, origin, event_id, false);
  if (line.size() > kMaxLineBytes) line = Render(record, origin, event_id, true);
  return line;
}

std::string RenderGap(int64_t at_micros, const Dropped& dropped, std::string_view reason,
                      const Origin& origin, std::string_view event_id) {
  JsonWriter out;
  AppendBegin(at_micros, &out);
  out.Key("userIdentity").Open('{').Field("type", "AWSService").Field("invokedBy", kStator);
  out.Close('}').Field("eventSource", kStator).Field("eventName", "AuditRecordsDropped");
  out.Field("awsRegion", origin.region).Key("requestParameters").Null();
  out.Key("responseElements").Null();
  out.Key("serviceEventDetails").Open('{').Field("reason", reason);
  out.Key("dropped").Open('{');
  for (const auto& [name, count] : dropped) out.Key(Shown(name)).Whole(count);
  out.Close('}').Close('}');
  out.Key("additionalEventData").Open('{').Field("server", origin.server).Close('}');
  out.Field("eventID", event_id).Key("readOnly").Bool(true);
  out.Field("eventType", "AwsServiceEvent").Key("managementEvent").Bool(true);
  out.Field("recipientAccountId", origin.account).Field("eventCategory", "Management");
  out.Close('}');
  return out.Take();
}

std::string ShownKeyId(std::string_view claimed) {
  if (claimed.empty()) return {};
  const bool looks_like_one = claimed.size() >= 16 && claimed.size() <= 32 &&
                              std::all_of(claimed.begin(), claimed.end(), [](char c) {
                                return (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
                              });
  return std::string(looks_like_one ? claimed : kHidden);
}

}  // namespace stator::audit
