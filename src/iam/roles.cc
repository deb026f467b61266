// Roles.
#include <charconv>

#include "access/session.h"
#include "iam/identity_calls.h"

namespace stator::iam {
namespace {

using access::Records;
using access::Role;

Status CheckTrustPolicy(const std::string& document) {
  TRY(CheckDocument(document, access::PolicyKind::kTrust));
  if (access::Policy::SizeWithoutSpace(document) > access::kMaxTrustPolicyBytes)
    return LimitExceeded(
        fmt::format("Cannot exceed quota for ACLSizePerRole: {}", access::kMaxTrustPolicyBytes));
  return OkStatus();
}

Status TakeDuration(const Form& form, Role* role) {
  const auto given = form.Find("MaxSessionDuration");
  if (!given) return OkStatus();
  int64_t seconds = 0;
  const auto [end, error] = std::from_chars(given->data(), given->data() + given->size(), seconds);
  if (error != std::errc() || end != given->data() + given->size() || seconds < 3600 ||
      seconds > access::kMaxSessionSeconds) {
    return InvalidInput(fmt::format(
        "1 validation error detected: Value '{}' at 'maxSessionDuration' failed to satisfy "
        "constraint: Member must have value between 3600 and {}",
        *given, access::kMaxSessionSeconds));
  }
  role->max_session_seconds = seconds;
  return OkStatus();
}

Result<std::string> CreateRole(Call& call) {
  Role role;
  role.trust_policy = call.form.Get("AssumeRolePolicyDocument");
  role.description = call.form.Get("Description");
  TRY(CheckTrustPolicy(role.trust_policy));
  TRY(TakeDuration(call.form, &role));
  ASSIGN_OR_RETURN(const Role made, CreateNamed<RoleKind>(call, std::move(role)));
  return Render(made, "Role");
}

Result<std::string> DeleteRole(Call& call) {
  return ChangeNamed<RoleKind>(call, [](Role* role, Records* records) -> Status {
    TRY(CheckWithoutPolicies(*role));
    records->roles.erase(records->roles.begin() + (role - records->roles.data()));
    return OkStatus();
  });
}

Result<std::string> UpdateAssumeRolePolicy(Call& call) {
  const std::string document(call.form.Get("PolicyDocument"));
  TRY(CheckTrustPolicy(document));
  return ChangeNamed<RoleKind>(call, [&](Role* role, Records*) -> Status {
    role->trust_policy = document;
    return OkStatus();
  });
}

Result<std::string> UpdateRole(Call& call) {
  return ChangeNamed<RoleKind>(call, [&](Role* role, Records*) -> Status {
    if (const auto description = call.form.Find("Description")) role->description = *description;
    return TakeDuration(call.form, role);
  });
}

Result<std::string> ListInstanceProfilesForRole(Call& call) {
  TRY(FindNamed<RoleKind>(call).ok() ? OkStatus() : Status(FindNamed<RoleKind>(call).error()));
  return Xml().Open("InstanceProfiles").Close("InstanceProfiles").Flag("IsTruncated", false).Take();
}

}  // namespace

std::vector<Row> RoleRows() {
  return {
      {"CreateRole", CreateRole},
      {"GetRole", GetNamed<RoleKind>},
      {"ListRoles", ListNamed<RoleKind>},
      {"DeleteRole", DeleteRole},
      {"UpdateAssumeRolePolicy", UpdateAssumeRolePolicy},
      {"UpdateRole", UpdateRole},
      {"ListInstanceProfilesForRole", ListInstanceProfilesForRole},
      {"PutRolePolicy", PutInline<RoleKind>},
      {"GetRolePolicy", GetInline<RoleKind>},
      {"DeleteRolePolicy", DeleteInline<RoleKind>},
      {"ListRolePolicies", ListInline<RoleKind>},
      {"AttachRolePolicy", Attach<RoleKind>},
      {"DetachRolePolicy", Detach<RoleKind>},
      {"ListAttachedRolePolicies", ListAttached<RoleKind>},
      {"TagRole", TagNamed<RoleKind>},
      {"UntagRole", UntagNamed<RoleKind>},
      {"ListRoleTags", ListTagsOf<RoleKind>},
      {"PutRolePermissionsBoundary", PutBoundary<RoleKind>},
      {"DeleteRolePermissionsBoundary", DeleteBoundary<RoleKind>},
  };
}

}  // namespace stator::iam
