// Managed policies and their versions.
#include <charconv>

#include "iam/identity_calls.h"

namespace stator::iam {
namespace {

using access::ManagedPolicy;
using access::PolicyVersion;
using access::Records;

constexpr size_t kMostPolicies = 1500;

Error NoPolicy(std::string_view arn) {
  return NoSuchEntity(fmt::format("Policy {} was not found.", arn));
}

// How often a policy is attached, and how often it is a boundary.
struct Uses {
  int64_t attached = 0;
  int64_t boundary = 0;
};
Uses UsesOf(const Records& records, const std::string& arn) {
  Uses uses;
  const auto count = [&](const access::Identity& identity) {
    uses.attached +=
        std::count(identity.attached_policies.begin(), identity.attached_policies.end(), arn);
    uses.boundary += identity.boundary == arn ? 1 : 0;
  };
  for (const access::User& user : records.users) count(user);
  for (const access::Group& group : records.groups) count(group);
  for (const access::Role& role : records.roles) count(role);
  return uses;
}

std::string VersionId(int64_t number) { return fmt::format("v{}", number); }

std::string Render(const Records& records, const ManagedPolicy& policy, std::string_view element) {
  const std::string arn = access::ArnOf(policy);
  const Uses uses = UsesOf(records, arn);
  Xml xml;
  xml.Open(element)
      .Element("PolicyName", policy.name)
      .Element("PolicyId", policy.id)
      .Element("Arn", arn)
      .Element("Path", policy.path)
      .Element("DefaultVersionId", VersionId(policy.default_version))
      .Element("AttachmentCount", uses.attached)
      .Element("PermissionsBoundaryUsageCount", uses.boundary)
      .Flag("IsAttachable", true);
  if (!policy.description.empty()) xml.Element("Description", policy.description);
  xml.Element("CreateDate", Time(policy.created_micros))
      .Element("UpdateDate", Time(policy.updated_micros));
  AppendTags(policy.tags, &xml);
  return xml.Close(element).Take();
}

// A built-in policy in the form of one that a user made.
ManagedPolicy FromBuiltIn(const access::BuiltInPolicy& built_in) {
  ManagedPolicy policy;
  policy.account = "aws";
  policy.name = built_in.arn.substr(built_in.arn.rfind('/') + 1);
  policy.id = "ANPA" + access::Hex(access::AsText(access::Sha256(built_in.arn))).substr(0, 17);
  for (char& c : policy.id) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  policy.description = built_in.description;
  policy.versions.push_back({1, std::string(built_in.document), 0});
  return policy;
}

// Returns the policy of PolicyArn, which may be a built-in one.
Result<ManagedPolicy> FindPolicy(Call& call) {
  const std::string_view arn = call.form.Get("PolicyArn");
  for (const ManagedPolicy& policy : call.records().policies) {
    if (access::ArnOf(policy) == arn) return policy;
  }
  for (const access::BuiltInPolicy& built_in : access::BuiltInPolicies()) {
    if (built_in.arn == arn) return FromBuiltIn(built_in);
  }
  return NoPolicy(arn);
}

template <typename Change>
Result<std::string> ChangePolicy(Call& call, Change change) {
  const std::string arn(call.form.Get("PolicyArn"));
  if (arn.starts_with("arn:aws:iam::aws:"))
    return Fault(403, "AccessDenied", fmt::format("Policy {} cannot be changed.", arn));
  TRY(call.Change([&](Records* records) -> Status {
    for (ManagedPolicy& policy : records->policies) {
      if (policy.account == call.account() && access::ArnOf(policy) == arn)
        return change(&policy, records);
    }
    return NoPolicy(arn);
  }));
  return std::string();
}

Status CheckManaged(const std::string& document) {
  TRY(CheckDocument(document, access::PolicyKind::kIdentity));
  if (access::Policy::SizeWithoutSpace(document) > access::kMaxManagedPolicyBytes)
    return LimitExceeded(
        fmt::format("Cannot exceed quota for PolicySize: {}", access::kMaxManagedPolicyBytes));
  return OkStatus();
}

Result<std::string> CreatePolicy(Call& call) {
  ManagedPolicy policy;
  ASSIGN_OR_RETURN(policy.name, NameIn(call.form, "PolicyName", access::kMaxGroupName));
  ASSIGN_OR_RETURN(policy.path, PathIn(call.form));
  const std::string document(call.form.Get("PolicyDocument"));
  TRY(CheckManaged(document));
  policy.tags = call.form.Tags();
  TRY(CheckTags(policy.tags));
  policy.account = call.account();
  policy.id = access::NewId("ANPA", 21, &call.identities.random());
  policy.description = call.form.Get("Description");
  policy.created_micros = policy.updated_micros = call.now();
  policy.versions.push_back({1, document, policy.created_micros});
  TRY(call.Change([&](Records* records) -> Status {
    if (FindIn(records->policies, policy.account, policy.name) != nullptr) {
      return EntityAlreadyExists(fmt::format(
          "A policy called {} already exists. Duplicate names are not allowed.", policy.name));
    }
    if (records->policies.size() >= kMostPolicies)
      return LimitExceeded(
          fmt::format("Cannot exceed quota for PoliciesPerAccount: {}", kMostPolicies));
    records->policies.push_back(policy);
    return OkStatus();
  }));
  return Render(call.records(), policy, "Policy");
}

Result<std::string> GetPolicy(Call& call) {
  ASSIGN_OR_RETURN(const ManagedPolicy policy, FindPolicy(call));
  return Render(call.records(), policy, "Policy");
}

Result<std::string> ListPolicies(Call& call) {
  const std::string_view scope = call.form.Find("Scope").value_or("All");
  const std::string_view prefix = call.form.Find("PathPrefix").value_or("/");
  const bool only_attached = call.form.Get("OnlyAttached") == "true";
  std::vector<ManagedPolicy> all;
  if (scope != "AWS") {
    for (const ManagedPolicy& policy : call.records().policies) all.push_back(policy);
  }
  if (scope != "Local") {
    for (const access::BuiltInPolicy& built_in : access::BuiltInPolicies())
      all.push_back(FromBuiltIn(built_in));
  }
  std::vector<const ManagedPolicy*> list;
  for (const ManagedPolicy& policy : all) {
    if (!std::string_view(policy.path).starts_with(prefix)) continue;
    if (only_attached && UsesOf(call.records(), access::ArnOf(policy)).attached == 0) continue;
    list.push_back(&policy);
  }
  return RenderPage<ManagedPolicy>(
      call.form, "Policies", std::move(list),
      [](const ManagedPolicy& policy) { return access::ArnOf(policy); },
      [&call](const ManagedPolicy& policy) { return Render(call.records(), policy, "member"); });
}

Result<std::string> DeletePolicy(Call& call) {
  return ChangePolicy(call, [](ManagedPolicy* policy, Records* records) -> Status {
    const Uses uses = UsesOf(*records, access::ArnOf(*policy));
    if (uses.attached + uses.boundary > 0)
      return DeleteConflict("Cannot delete a policy attached to entities.");
    if (policy->versions.size() > 1) {
      return DeleteConflict(
          "This policy has more than one version. Before you delete a policy, you must delete the "
          "policy's versions. The default version is deleted with the policy.");
    }
    records->policies.erase(records->policies.begin() + (policy - records->policies.data()));
    return OkStatus();
  });
}

// ---- versions ----

// Returns the number in "v3"; 0 for another text.
int64_t NumberIn(std::string_view version) {
  int64_t number = 0;
  if (!version.starts_with("v")) return 0;
  const auto [end, error] =
      std::from_chars(version.data() + 1, version.data() + version.size(), number);
  return error == std::errc() && end == version.data() + version.size() ? number : 0;
}

std::string RenderVersion(const ManagedPolicy& policy, const PolicyVersion& version,
                          std::string_view element, bool with_document) {
  Xml xml;
  xml.Open(element);
  if (with_document) xml.Element("Document", EncodedDocument(version.document));
  return xml.Element("VersionId", VersionId(version.number))
      .Flag("IsDefaultVersion", version.number == policy.default_version)
      .Element("CreateDate", Time(version.created_micros))
      .Close(element)
      .Take();
}

Error NoVersion(std::string_view arn, std::string_view version) {
  return NoSuchEntity(
      fmt::format("Policy {} version {} does not exist or is not attachable.", arn, version));
}

Result<std::string> GetPolicyVersion(Call& call) {
  ASSIGN_OR_RETURN(const ManagedPolicy policy, FindPolicy(call));
  const std::string_view id = call.form.Get("VersionId");
  for (const PolicyVersion& version : policy.versions) {
    if (version.number == NumberIn(id))
      return RenderVersion(policy, version, "PolicyVersion", true);
  }
  return NoVersion(access::ArnOf(policy), id);
}

Result<std::string> ListPolicyVersions(Call& call) {
  ASSIGN_OR_RETURN(const ManagedPolicy policy, FindPolicy(call));
  Xml xml;
  xml.Open("Versions");
  for (auto version = policy.versions.rbegin(); version != policy.versions.rend(); ++version)
    xml.Append(RenderVersion(policy, *version, "member", false));
  return xml.Close("Versions").Flag("IsTruncated", false).Take();
}

Result<std::string> CreatePolicyVersion(Call& call) {
  const std::string document(call.form.Get("PolicyDocument"));
  TRY(CheckManaged(document));
  std::string rendered;
  ASSIGN_OR_RETURN(std::string nothing,
                   ChangePolicy(call, [&](ManagedPolicy* policy, Records*) -> Status {
                     if (policy->versions.size() >= access::kMaxVersionsPerPolicy) {
                       return LimitExceeded(
                           "A managed policy can have up to 5 versions. Before you create a new "
                           "version, you must "
                           "delete an existing version.");
                     }
                     const PolicyVersion version{policy->next_version++, document, call.now()};
                     if (call.form.Get("SetAsDefault") == "true")
                       policy->default_version = version.number;
                     policy->updated_micros = version.created_micros;
                     policy->versions.push_back(version);
                     rendered = RenderVersion(*policy, version, "PolicyVersion", false);
                     return OkStatus();
                   }));
  return rendered;
}

Result<std::string> SetDefaultPolicyVersion(Call& call) {
  const std::string id(call.form.Get("VersionId"));
  return ChangePolicy(call, [&](ManagedPolicy* policy, Records*) -> Status {
    for (const PolicyVersion& version : policy->versions) {
      if (version.number != NumberIn(id)) continue;
      policy->default_version = version.number;
      policy->updated_micros = call.now();
      return OkStatus();
    }
    return NoVersion(access::ArnOf(*policy), id);
  });
}

Result<std::string> DeletePolicyVersion(Call& call) {
  const std::string id(call.form.Get("VersionId"));
  return ChangePolicy(call, [&](ManagedPolicy* policy, Records*) -> Status {
    const int64_t number = NumberIn(id);
    if (number == policy->default_version)
      return DeleteConflict("Cannot delete the default version of a policy.");
    const size_t erased = std::erase_if(
        policy->versions, [number](const PolicyVersion& one) { return one.number == number; });
    return erased == 0 ? Status(NoVersion(access::ArnOf(*policy), id)) : OkStatus();
  });
}

}  // namespace

std::vector<Row> PolicyRows() {
  return {
      {"CreatePolicy", CreatePolicy},
      {"GetPolicy", GetPolicy},
      {"ListPolicies", ListPolicies},
      {"DeletePolicy", DeletePolicy},
      {"GetPolicyVersion", GetPolicyVersion},
      {"ListPolicyVersions", ListPolicyVersions},
      {"CreatePolicyVersion", CreatePolicyVersion},
      {"SetDefaultPolicyVersion", SetDefaultPolicyVersion},
      {"DeletePolicyVersion", DeletePolicyVersion},
  };
}

}  // namespace stator::iam
