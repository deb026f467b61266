// The form in which GetResourcePolicy returns a document, which also tells whether two documents
// are the same policy.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::access {

struct ResourcePolicyText {
  // Without white space; members in the order Version, Id, Statement and Sid, Effect, Principal,
  // Action, Resource, Condition; statements as a list; lists of one action, resource or principal
  // as a text; an account's id as the ARN of its root. The version is always there.
  std::string normal;
  // DynamoDB takes a document without a version for another one than the same with the default
  // version, though both read alike.
  bool has_version = false;

  friend bool operator==(const ResourcePolicyText&, const ResourcePolicyText&) = default;
};

// Returns the normal form of a document that Policy::Parse accepts as a resource's policy;
// kValidation with the text of Policy::Parse for others.
Result<ResourcePolicyText> NormalizeResourcePolicy(std::string_view text);

}  // namespace stator::access
