#include "iam/call_record.h"

#include <algorithm>
#include <array>

#include "base/ascii.h"
#include "base/json_writer.h"
#include "base/printable.h"

namespace stator::iam {
namespace {

constexpr std::array<std::string_view, 45> kShown = {"AccessKeyId",
                                                     "AccountId",
                                                     "AccountName",
                                                     "ActionNames",
                                                     "AssumeRolePolicyDocument",
                                                     "CallerArn",
                                                     "ClientID",
                                                     "ClientIDList",
                                                     "Description",
                                                     "DurationSeconds",
                                                     "GroupName",
                                                     "MaxItems",
                                                     "MaxSessionDuration",
                                                     "NewPath",
                                                     "NewUserName",
                                                     "OnlyAttached",
                                                     "OpenIDConnectProviderArn",
                                                     "Path",
                                                     "PathPrefix",
                                                     "PermissionsBoundary",
                                                     "Policy",
                                                     "PolicyArn",
                                                     "PolicyArns",
                                                     "PolicyDocument",
                                                     "PolicyInputList",
                                                     "PolicyName",
                                                     "PolicyScopeType",
                                                     "PolicySourceArn",
                                                     "PolicyUsageFilter",
                                                     "ProviderId",
                                                     "ResourceArns",
                                                     "ResourcePolicy",
                                                     "RoleArn",
                                                     "RoleName",
                                                     "RoleSessionName",
                                                     "Scope",
                                                     "SetAsDefault",
                                                     "SourceIdentity",
                                                     "Status",
                                                     "TagKeys",
                                                     "Tags",
                                                     "ThumbprintList",
                                                     "TransitiveTagKeys",
                                                     "Url",
                                                     "UserName"};

constexpr size_t kMostAgent = 512;

bool IsShown(std::string_view name) {
  if (name == "VersionId") return true;
  return std::find(kShown.begin(), kShown.end(), name.substr(0, name.find('.'))) != kShown.end();
}

std::string ParametersOf(const Form& form) {
  JsonWriter out;
  out.Open('{');
  size_t bytes = 0;
  for (const auto& [name, value] : form.values()) {
    if (!IsShown(name)) continue;
    bytes += name.size() + value.size();
    if (bytes > audit::kMaxParameterBytes) return R"({"omitted":true})";
    std::string key = name;
    key[0] = static_cast<char>(key[0] + ('a' - 'A'));  // all that are shown begin with a capital
    out.Field(Printable(key), Printable(value));
  }
  out.Close('}');
  std::string text = out.Take();
  text.pop_back();
  return text;
}

}  // namespace

audit::Record RecordOf(const Prepared& call, const access::HttpRequestView& http,
                       const guard::Peer* peer, access::ActionId action, const Clock& clock) {
  audit::Record record;
  record.at_micros = clock.NowMicros();
  record.source = call.sts ? audit::kSts : audit::kIam;
  record.name = call.action;
  record.read_only = !IsChange(action);
  if (call.verified.credential != nullptr) {
    record.caller = call.verified.credential->caller;
    record.key_id = call.verified.key_id;
  }
  if (peer != nullptr) record.address = peer->Address();
  for (const access::HeaderLine& line : http.headers) {
    if (EqualsIgnoringCase(line.name, "user-agent"))
      record.user_agent = line.value.substr(0, kMostAgent);
  }
  record.parameters = ParametersOf(call.form);
  return record;
}

bool IsChange(access::ActionId id) {
  const access::Action& action = access::ActionOf(id);
  if (action.name.starts_with("sts:")) {
    return action.name != "sts:GetCallerIdentity" && action.name != "sts:GetAccessKeyInfo";
  }
  return action.level != access::AccessLevel::kRead && action.level != access::AccessLevel::kList;
}

void AddMadeIds(std::string_view result, audit::Record* record) {
  constexpr std::string_view kBegin = "<AccessKeyId>", kEnd = "</AccessKeyId>";
  if (record->read_only) return;
  const size_t begin = result.find(kBegin);
  if (begin == std::string_view::npos) return;
  const std::string_view rest = result.substr(begin + kBegin.size());
  record->response.emplace_back("accessKeyId", std::string(rest.substr(0, rest.find(kEnd))));
}

}  // namespace stator::iam
