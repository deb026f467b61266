#include "iam/call.h"

#include "access/policy.h"
#include "access/sigv4.h"
#include "base/ascii.h"
#include "base/time_text.h"

namespace stator::iam {
namespace {

constexpr size_t kMaxTagKey = 128;
constexpr size_t kMaxTagValue = 256;

}  // namespace

Error Fault(int status, std::string code, std::string message) {
  return Error(ErrorCode::kValidation, std::move(message),
               std::make_shared<FaultPayload>(status, std::move(code)));
}

std::string Time(int64_t micros) {
  const std::string text = FormatTime(micros);  // with milliseconds
  return text.substr(0, text.find('.')) + "Z";
}

std::string EncodedDocument(std::string_view document) {
  std::string out;
  access::AppendUriEncoded(document, false, &out);
  return out;
}

void AppendTags(const std::vector<access::Tag>& tags, Xml* xml) {
  if (tags.empty()) return;
  xml->Open("Tags");
  for (const access::Tag& tag : tags) {
    xml->Open("member").Element("Key", tag.key).Element("Value", tag.value).Close("member");
  }
  xml->Close("Tags");
}

void AppendBoundary(const std::string& boundary, Xml* xml) {
  if (boundary.empty()) return;
  xml->Open("PermissionsBoundary")
      .Element("PermissionsBoundaryType", "Policy")
      .Element("PermissionsBoundaryArn", boundary)
      .Close("PermissionsBoundary");
}

std::string Render(const access::User& user, std::string_view element) {
  Xml xml;
  xml.Open(element)
      .Element("Path", user.path)
      .Element("UserName", user.name)
      .Element("UserId", user.id)
      .Element("Arn", access::ArnOf(user))
      .Element("CreateDate", Time(user.created_micros));
  AppendBoundary(user.boundary, &xml);
  AppendTags(user.tags, &xml);
  return xml.Close(element).Take();
}

std::string Render(const access::Group& group, std::string_view element) {
  Xml xml;
  xml.Open(element)
      .Element("Path", group.path)
      .Element("GroupName", group.name)
      .Element("GroupId", group.id)
      .Element("Arn", access::ArnOf(group))
      .Element("CreateDate", Time(group.created_micros));
  return xml.Close(element).Take();
}

std::string Render(const access::Role& role, std::string_view element) {
  Xml xml;
  xml.Open(element)
      .Element("Path", role.path)
      .Element("RoleName", role.name)
      .Element("RoleId", role.id)
      .Element("Arn", access::ArnOf(role))
      .Element("CreateDate", Time(role.created_micros))
      .Element("AssumeRolePolicyDocument", EncodedDocument(role.trust_policy));
  if (!role.description.empty()) xml.Element("Description", role.description);
  xml.Element("MaxSessionDuration", role.max_session_seconds);
  AppendBoundary(role.boundary, &xml);
  AppendTags(role.tags, &xml);
  return xml.Close(element).Take();
}

const access::Directory* Call::DirectoryOf(std::string_view name) {
  if (name == directory->account()) return directory.get();
  std::shared_ptr<const access::Directory> found = identities.DirectoryOf(name);
  if (found == nullptr) return nullptr;
  return others.emplace_back(std::move(found)).get();
}

Status Call::Change(ChangeRecords change) {
  return identities.Change(account(), [&](access::Records* records) -> Status {
    // It may have been deleted since the call was verified.
    if (account() != identities.account() &&
        (records->accounts.empty() || records->accounts.front().deleted()))
      return Error(ErrorCode::kAccessDenied, "The account does not exist.");
    return change(records);
  });
}

bool SameName(std::string_view a, std::string_view b) { return EqualsIgnoringCase(a, b); }

Result<std::string> NameIn(const Form& form, std::string_view parameter, size_t longest) {
  const std::string_view name = form.Get(parameter);
  std::string shown(parameter);
  if (!shown.empty() && shown[0] >= 'A' && shown[0] <= 'Z') shown[0] |= 0x20;
  if (name.empty()) {
    return InvalidInput("1 validation error detected: Value null at '" + shown +
                        "' failed to satisfy constraint: Member must not be null");
  }
  if (name.size() > longest) {
    return InvalidInput("1 validation error detected: Value '" + std::string(name) + "' at '" +
                        shown +
                        "' failed to satisfy constraint: Member must have length less "
                        "than or equal to " +
                        std::to_string(longest));
  }
  if (!access::IsIdentityName(name, longest)) {
    return InvalidInput("The specified value for " + shown +
                        " is invalid. It must contain only alphanumeric characters and/or the "
                        "following: +=,.@_-");
  }
  return std::string(name);
}

Result<std::string> PathIn(const Form& form) {
  const std::string path(form.Find("Path").value_or("/"));
  if (access::IsPath(path)) return path;
  return InvalidInput(
      "The specified value for path is invalid. It must begin and end with / and contain only "
      "alphanumeric characters and/or / characters.");
}

Status CheckTags(const std::vector<access::Tag>& tags) {
  if (tags.size() > access::kMaxTags)
    return LimitExceeded("Cannot exceed quota for Tags: " + std::to_string(access::kMaxTags));
  for (size_t i = 0; i < tags.size(); ++i) {
    if (tags[i].key.empty() || tags[i].key.size() > kMaxTagKey ||
        tags[i].value.size() > kMaxTagValue)
      return InvalidInput("The key or the value of a tag is empty or too long.");
    for (size_t j = 0; j < i; ++j) {
      if (SameName(tags[i].key, tags[j].key)) {
        return Fault(400, "InvalidInput",
                     "Duplicate tag keys found. Please note that Tag keys are case insensitive.");
      }
    }
  }
  return OkStatus();
}

Status CheckDocument(std::string_view document, access::PolicyKind kind) {
  const auto parsed = access::Policy::Parse(document, kind, "");
  if (parsed.ok()) return OkStatus();
  return Fault(400, "MalformedPolicyDocument", parsed.error().message());
}

Status MergeTags(const std::vector<access::Tag>& added, std::vector<access::Tag>* tags) {
  for (const access::Tag& tag : added) {
    std::erase_if(*tags, [&tag](const access::Tag& old) { return SameName(old.key, tag.key); });
    tags->push_back(tag);
  }
  return CheckTags(*tags);
}

const std::string* DocumentOf(const access::Records& records, std::string_view arn) {
  for (const access::ManagedPolicy& policy : records.policies) {
    if (access::ArnOf(policy) == arn) return policy.document();
  }
  static const auto& built_in = *new std::vector<std::pair<std::string, std::string>>([] {
    std::vector<std::pair<std::string, std::string>> all;
    for (const access::BuiltInPolicy& policy : access::BuiltInPolicies())
      all.emplace_back(policy.arn, policy.document);
    return all;
  }());
  for (const auto& [name, document] : built_in) {
    if (name == arn) return &document;
  }
  return nullptr;
}

}  // namespace stator::iam
