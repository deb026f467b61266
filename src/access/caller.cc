#include "access/caller.h"

namespace stator::access {

Principal Caller::principal() const { return {kind, account, arn, issuer_arn, id}; }

PolicySet Caller::policies(bool has_resource, const Policy* resource) const {
  PolicySet set;
  set.identity = identity;
  set.has_boundary = has_boundary;
  set.boundary = boundary.get();
  set.has_session = has_session;
  set.session = session;
  set.has_resource = has_resource;
  set.resource = resource;
  return set;
}

void Caller::SetContext(RequestContext* context) const {
  SetPrincipal(principal(), user_id, context);
  for (const Tag& tag : tags) context->Add(ContextKey::kPrincipalTag, tag.key, tag.value);
  if (web != nullptr) web->SetContext(context);
  if (!federated_provider.empty()) context->Set(ContextKey::kFederatedProvider, federated_provider);
  if (issued_micros == 0) return;
  context->Set(ContextKey::kTokenIssueTime, issue_time);
  // Stator has no second factor: sessions say so, long-term keys do not have the key at all.
  context->Set(ContextKey::kMultiFactorAuthPresent, "false");
  if (!source_identity.empty()) context->Set(ContextKey::kSourceIdentity, source_identity);
}

}  // namespace stator::access
