// Decides whether a principal may perform an action on a resource. Pure; thread-safe; fails closed.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "access/catalogue.h"
#include "access/context.h"
#include "access/policy.h"
#include "access/steps.h"

namespace stator::access {

// The type of policy that a decision rests on, in the order in which decisions name them.
enum class PolicyType { kNone, kResource, kTrust, kIdentity, kBoundary, kSession };
// Returns "resource-based policy", "permissions boundary" and so on.
std::string_view PolicyTypeName(PolicyType type);

// The policies that apply to a request. A null policy stands for a document that could not be read:
// the request is denied. The policies must outlive the decision.
struct PolicySet {
  using List = std::span<const std::shared_ptr<const Policy>>;

  List identity;  // of the user and its groups, or of the role
  bool has_boundary = false;
  const Policy* boundary = nullptr;
  bool has_session = false;  // session policies were given; none of them may mean no rights at all
  List session;
  // `resource` is the policy of the table or stream, or the trust policy of the role to be assumed.
  bool has_resource = false;
  const Policy* resource = nullptr;

  // Returns the condition keys that any of the policies reads. Only these need values in the
  // context.
  KeySet keys() const;
};

struct AccessRequest {
  const Principal& principal;
  ActionId action;
  const ResourceName& resource;
  // The account that owns the resource. For the resource "*": the account to which the request
  // goes.
  std::string_view resource_account;
  const RequestContext& context;
  // The budget of steps for matching policies (access/steps.h), shared by several decisions. Null:
  // unbounded.
  PolicySteps* steps = nullptr;
};

struct Decision {
  bool allowed = false;
  bool explicit_deny = false;
  // The type that allowed or denied; for an implicit denial the type that has no Allow.
  PolicyType type = PolicyType::kNone;
  // The deciding statement. Null for an implicit denial, for a root user, and for actions that need
  // no right.
  const Policy* policy = nullptr;
  const Statement* statement = nullptr;
};

// Returns the decision. Explicit denials win over everything. In the principal's own account an
// Allow of the resource's policy or of an identity policy suffices, in another account it takes
// both; boundaries and session policies narrow the identity's. An Allow that names the user or the
// session itself, or everyone, is not narrowed; one that names a session's role is. A trust policy
// must allow by itself, with an Allow of the identity if it names only the account. The root user
// of the account has all rights that no resource's policy denies, and may always delete that
// policy. Takes time in the number of statements and of their conditions' values, which
// `request.steps` bounds: nothing is allowed once these are exhausted.
Decision Authorize(const AccessRequest& request, const PolicySet& policies);

// Returns the message of AccessDeniedException: "User: ... is not authorized to perform: ...".
std::string DenialMessage(const Decision& decision, const Principal& principal, ActionId action,
                          std::string_view resource);

// Sets aws:PrincipalArn, PrincipalAccount, PrincipalType and userid, for users aws:username too.
// The views of `principal`, and `user_id` ("AROA...:session" for a session), must outlive the
// context.
void SetPrincipal(const Principal& principal, std::string_view user_id, RequestContext* context);

}  // namespace stator::access
