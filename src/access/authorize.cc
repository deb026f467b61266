#include "access/authorize.h"

#include <fmt/format.h>

#include <algorithm>

namespace stator::access {
namespace {

// A statement that applies to a request.
struct Hit {
  const Policy* policy = nullptr;
  const Statement* statement = nullptr;
  explicit operator bool() const { return policy != nullptr; }
};

// The statements of a group of policies that apply.
struct Verdict {
  bool unreadable = false;
  Hit deny;
  Hit allow;
  PrincipalMatch match = PrincipalMatch::kNone;  // of `allow`, in a resource's policy
};

class Evaluation {
 public:
  Evaluation(const AccessRequest& request, const PolicySet& policies)
      : request_(request), policies_(policies) {}

  void AddIdentityPolicy(const Policy* policy, Verdict* verdict) const {
    if (policy == nullptr) {
      verdict->unreadable = true;
      return;
    }
    for (const Statement& statement : policy->statements()) {
      Hit& hit = statement.allows() ? verdict->allow : verdict->deny;
      if (!hit && statement.Applies(request_.action, request_.resource, request_.context))
        hit = {policy, &statement};
    }
  }
  Verdict OfList(PolicySet::List list) const {
    Verdict verdict;
    for (const auto& policy : list) AddIdentityPolicy(policy.get(), &verdict);
    return verdict;
  }

  Verdict OfResource() const {
    Verdict verdict;
    if (!policies_.has_resource) return verdict;
    if (policies_.resource == nullptr) {
      verdict.unreadable = true;
      return verdict;
    }
    for (const Statement& statement : policies_.resource->statements()) {
      if (!statement.allows() && verdict.deny) continue;
      const PrincipalMatch match =
          statement.MatchPrincipal(request_.principal, policies_.has_boundary);
      if (match == PrincipalMatch::kNone || (statement.allows() && match <= verdict.match))
        continue;
      if (!statement.Applies(request_.action, request_.resource, request_.context)) continue;
      (statement.allows() ? verdict.allow : verdict.deny) = {policies_.resource, &statement};
      if (statement.allows()) verdict.match = match;
    }
    return verdict;
  }

 private:
  const AccessRequest& request_;
  const PolicySet& policies_;
};

Decision Allow(PolicyType type, const Hit& hit) {
  return {true, false, type, hit.policy, hit.statement};
}
Decision DenyExplicitly(PolicyType type, const Hit& hit) {
  return {false, true, type, hit.policy, hit.statement};
}
Decision DenyImplicitly(PolicyType type) { return {false, false, type, nullptr, nullptr}; }

ActionId Known(std::string_view name) { return *FindAction(name); }

}  // namespace

std::string_view PolicyTypeName(PolicyType type) {
  switch (type) {
    case PolicyType::kNone: break;
    case PolicyType::kResource: return "resource-based policy";
    case PolicyType::kTrust: return "role trust policy";
    case PolicyType::kIdentity: return "identity-based policy";
    case PolicyType::kBoundary: return "permissions boundary";
    case PolicyType::kSession: return "session policy";
  }
  return "policy";
}

KeySet PolicySet::keys() const {
  KeySet set;
  const auto add = [&set](const Policy* policy) {
    if (policy != nullptr) set.Add(policy->keys());
  };
  for (const auto& policy : identity) add(policy.get());
  for (const auto& policy : session) add(policy.get());
  add(boundary);
  add(resource);
  return set;
}

namespace {

Decision Decide(const AccessRequest& request, const PolicySet& policies) {
  static const ActionId caller_identity = Known("sts:GetCallerIdentity");
  static const ActionId delete_policy = Known("dynamodb:DeleteResourcePolicy");
  const Principal& principal = request.principal;
  if (request.action == caller_identity && principal.kind != Principal::Kind::kAnonymous)
    return Allow(PolicyType::kNone, {});

  const bool own = !principal.account.empty() && principal.account == request.resource_account;
  const bool root = principal.kind == Principal::Kind::kRoot;
  const bool trust = policies.has_resource && policies.resource != nullptr &&
                     policies.resource->kind() == PolicyKind::kTrust;
  const PolicyType resource_type = trust ? PolicyType::kTrust : PolicyType::kResource;

  const Evaluation evaluation(request, policies);
  const Verdict resource = evaluation.OfResource();
  const Verdict identity = evaluation.OfList(policies.identity);
  const Verdict session = evaluation.OfList(policies.session);
  Verdict boundary;
  if (policies.has_boundary) evaluation.AddIdentityPolicy(policies.boundary, &boundary);

  struct Group {
    PolicyType type;
    const Verdict& verdict;
  };
  const bool spared = root && own && request.action == delete_policy;
  for (const Group& group :
       {Group{resource_type, resource}, Group{PolicyType::kIdentity, identity},
        Group{PolicyType::kBoundary, boundary}, Group{PolicyType::kSession, session}}) {
    if (spared && group.type == PolicyType::kResource) continue;
    if (group.verdict.deny) return DenyExplicitly(group.type, group.verdict.deny);
    if (group.verdict.unreadable) return DenyExplicitly(group.type, {});
  }

  const bool identity_allows = root || identity.allow;
  const bool boundary_allows = !policies.has_boundary || boundary.allow;
  const bool session_allows = !policies.has_session || session.allow;
  // The denial by the first of these that does not allow.
  const auto missing = [&] {
    if (!identity_allows) return DenyImplicitly(PolicyType::kIdentity);
    if (!boundary_allows) return DenyImplicitly(PolicyType::kBoundary);
    return DenyImplicitly(PolicyType::kSession);
  };
  const bool narrowed_allow = identity_allows && boundary_allows && session_allows;

  // Principals that have no account have no identity policies: only the resource can allow them.
  if (principal.account.empty()) {
    return resource.match == PrincipalMatch::kDirect ? Allow(resource_type, resource.allow)
                                                     : DenyImplicitly(resource_type);
  }
  if (own) {
    if (resource.match == PrincipalMatch::kDirect) return Allow(resource_type, resource.allow);
    if (resource.match == PrincipalMatch::kIssuer) {
      if (boundary_allows && session_allows) return Allow(resource_type, resource.allow);
      return DenyImplicitly(boundary_allows ? PolicyType::kSession : PolicyType::kBoundary);
    }
    if (trust && resource.match == PrincipalMatch::kNone) return DenyImplicitly(resource_type);
    return narrowed_allow ? Allow(PolicyType::kIdentity, identity.allow) : missing();
  }
  if (resource.match == PrincipalMatch::kNone) return DenyImplicitly(resource_type);
  return narrowed_allow ? Allow(resource_type, resource.allow) : missing();
}

}  // namespace

Decision Authorize(const AccessRequest& request, const PolicySet& policies) {
  const PolicySteps::Scope counting(request.steps);
  const Decision decision = Decide(request, policies);
  // Without steps a Deny may not have matched.
  return request.steps != nullptr && request.steps->exhausted() ? Decision{} : decision;
}

std::string DenialMessage(const Decision& decision, const Principal& principal, ActionId action,
                          std::string_view resource) {
  const std::string_view name = ActionOf(action).name;
  const std::string_view arn =
      principal.kind == Principal::Kind::kAnonymous ? std::string_view("anonymous") : principal.arn;
  std::string text = fmt::format("User: {} is not authorized to perform: {} on resource: {} ", arn,
                                 name, resource);
  const std::string_view type = PolicyTypeName(decision.type);
  if (decision.explicit_deny) {
    const bool an = decision.type == PolicyType::kIdentity;
    return text + fmt::format("with an explicit deny in {} {}", an ? "an" : "a", type);
  }
  return text + fmt::format("because no {} allows the {} action", type, name);
}

void SetPrincipal(const Principal& principal, std::string_view user_id, RequestContext* context) {
  using Kind = Principal::Kind;
  const auto type = [&]() -> std::string_view {
    switch (principal.kind) {
      case Kind::kAnonymous: return "Anonymous";
      case Kind::kRoot: return "Account";
      case Kind::kUser: return "User";
      case Kind::kRoleSession: return "AssumedRole";
      case Kind::kFederatedUser: return "FederatedUser";
      case Kind::kWebIdentity: return "Anonymous";
      case Kind::kService: return "AWSService";
    }
    return "Anonymous";
  };
  context->Set(ContextKey::kPrincipalType, type());
  context->Set(ContextKey::kPrincipalIsAwsService,
               principal.kind == Kind::kService ? "true" : "false");
  if (principal.account.empty()) return;
  context->Set(ContextKey::kPrincipalArn,
               principal.kind == Kind::kRoleSession ? principal.issuer_arn : principal.arn);
  context->Set(ContextKey::kPrincipalAccount, principal.account);
  context->Set(ContextKey::kUserId, user_id);
  if (principal.kind == Kind::kUser)
    context->Set(ContextKey::kUsername, principal.arn.substr(principal.arn.rfind('/') + 1));
}

}  // namespace stator::access
