// The principal behind an access key, with everything that decisions about it need.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "access/authorize.h"
#include "access/identity.h"
#include "access/policy.h"
#include "access/web_claims.h"

namespace stator::access {

// Immutable; shared by all requests of a key.
struct Caller {
  Principal::Kind kind = Principal::Kind::kAnonymous;
  std::string account;
  std::string arn;
  std::string issuer_arn;
  std::string id;       // "AIDA...", "AROA..."
  std::string user_id;  // aws:userid
  // A null policy is one that could not be read: it denies everything.
  std::vector<std::shared_ptr<const Policy>> identity;
  bool has_boundary = false;
  std::shared_ptr<const Policy> boundary;
  bool has_session = false;
  std::vector<std::shared_ptr<const Policy>> session;
  std::vector<Tag> tags;  // of a session, those of the session over those of the role
  // Set for temporary credentials only; 0 and empty for others.
  int64_t issued_micros = 0;
  int64_t expires_micros = 0;
  std::string issue_time;  // ISO 8601
  std::string source_identity;
  std::string federated_provider;
  // Null but for kWebIdentity and the sessions that it gets.
  std::shared_ptr<const WebClaims> web;
  // The keys that the policies above read.
  KeySet keys;

  // Views of this caller.
  Principal principal() const;
  // `resource` is the policy of the resource, if it has one.
  PolicySet policies(bool has_resource, const Policy* resource) const;
  // Sets the keys that the caller itself has: aws:PrincipalArn, PrincipalTag and so on. The context
  // holds views of this caller.
  void SetContext(RequestContext* context) const;
};

}  // namespace stator::access
