// The form in which GetResourcePolicy returns a document, which also tells whether two documents
// are the same policy.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace stator::access {

struct ResourcePolicyText {
  // The document in normal form: without white space; members in the order Version, Id, Statement,
  // and in a statement Sid, Effect, Principal, Action, Resource, Condition; statements as a list; a
  // list of one action, resource or principal as a text; an account's id as the ARN of its root;
  // always with a version.
  std::string normal;
  // Whether the document names a version. DynamoDB treats a document without a version as different
  // from the same document with the default version, although both mean the same.
  bool has_version = false;

  friend bool operator==(const ResourcePolicyText&, const ResourcePolicyText&) = default;
};

// Returns the normal form of a document that Policy::Parse accepts as a resource's policy;
// kValidation with the text of Policy::Parse for others.
Result<ResourcePolicyText> NormalizeResourcePolicy(std::string_view text);

}  // namespace stator::access
