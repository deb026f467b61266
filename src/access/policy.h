// Policy documents, compiled when they are attached: access/authorize.h evaluates them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "access/catalogue.h"
#include "access/condition.h"
#include "access/context.h"
#include "base/result.h"

namespace stator::access {

enum class PolicyKind {
  kIdentity,  // of users, groups and roles; boundaries; session policies: no Principal
  kResource,  // of a table or a stream: Principal and Resource
  kTrust,     // of a role: Principal, no Resource
};

// The principal behind a request, as policies name it. Views must outlive the use.
struct Principal {
  enum class Kind {
    kAnonymous,
    kRoot,
    kUser,
    kRoleSession,
    kFederatedUser,
    kWebIdentity,  // a caller of AssumeRoleWithWebIdentity, before it has a session
    kService,
  };
  Kind kind = Kind::kAnonymous;
  std::string_view account;
  std::string_view arn;         // of a session the session's; of kWebIdentity its provider's
  std::string_view issuer_arn;  // of a role session the role's, of a federated user the user's
  std::string_view id;          // "AIDA..." of a user, "AROA..." of a session's role
};

// How closely a Principal element names a principal, from least to most.
enum class PrincipalMatch { kNone, kAccount, kIssuer, kDirect };

// A resource of a request: an ARN, or "*" for actions without resources.
struct ResourceName {
  explicit ResourceName(std::string_view text) : arn(text), is_arn(SplitArn(text, &parts)) {}

  std::string_view arn;
  ArnView parts;
  bool is_arn;
};

// One element of Resource or NotResource.
class ResourcePattern {
 public:
  static Result<ResourcePattern> Compile(std::string_view text, bool variables);

  // False if a variable has no value: then neither Resource nor NotResource matches, and
  // `*unresolved` becomes true.
  bool Matches(const ResourceName& resource, const RequestContext& context, bool* unresolved) const;
  KeySet keys() const { return path_.keys(); }
  size_t heap_bytes() const;

 private:
  ResourcePattern() : path_("", false, Template::Wildcards::kLiteral) {}

  bool any_ = false;  // "*"
  Glob partition_;
  std::string service_;
  Glob region_;
  Glob account_;
  Template path_;  // what follows the fifth colon
};

class Statement {
 public:
  const std::string& sid() const { return sid_; }
  bool allows() const { return allows_; }
  bool has_not_principal() const { return not_principal_; }
  const ActionSet& actions() const { return actions_; }
  KeySet keys() const { return keys_; }

  // Returns whether the statement applies, apart from its Principal. `resource` is not looked at in
  // a trust policy.
  bool Applies(ActionId action, const ResourceName& resource, const RequestContext& context) const;
  // Returns how the Principal element names a principal. NotPrincipal gives kNone or kDirect; see
  // policy.cc for what it takes to be exempt from a Deny. `bounded`: the principal has a
  // permissions boundary.
  PrincipalMatch MatchPrincipal(const Principal& principal, bool bounded) const;
  size_t heap_bytes() const;

 private:
  friend class PolicyReader;

  struct PrincipalPattern {
    enum class Kind { kAnyone, kAccount, kArn, kService, kFederated };
    Kind kind;
    std::string text;  // kArn: an ARN or a unique id
  };
  static PrincipalMatch Match(const PrincipalPattern& pattern, const Principal& principal);

  std::string sid_;
  bool allows_ = false;
  bool not_principal_ = false;
  bool not_resource_ = false;
  bool has_resources_ = false;
  ActionSet actions_;  // NotAction is turned into its complement
  std::vector<PrincipalPattern> principals_;
  std::vector<ResourcePattern> resources_;
  std::vector<Condition> conditions_;
  KeySet keys_;
};

// Immutable; thread-safe.
class Policy {
 public:
  static constexpr size_t kMaxBytes = 131'072;
  static constexpr size_t kMaxResourcePolicyBytes = 20'480;

  // Compiles a document. `name` is what a decision shows: an ARN or the name of an inline policy.
  // kValidation with the service's text: of IAM (MalformedPolicyDocument) for kIdentity and kTrust,
  // of DynamoDB for kResource. Sizes that depend on the owner are the caller's to check, with
  // SizeWithoutSpace.
  static Result<std::shared_ptr<const Policy>> Parse(std::string_view text, PolicyKind kind,
                                                     std::string name);
  // Returns a policy of another name that shares what was compiled, and owns `policy`.
  static std::shared_ptr<const Policy> Named(const std::shared_ptr<const Policy>& policy,
                                             std::string name);
  // Returns the size of a document as IAM counts it: without white space.
  static size_t SizeWithoutSpace(std::string_view text);

  const std::string& name() const { return name_; }
  PolicyKind kind() const { return kind_; }
  std::span<const Statement> statements() const { return *statements_; }
  // The keys that conditions and variables of the policy read.
  KeySet keys() const { return keys_; }
  bool ReadsKey(ContextKey key) const { return keys_.Has(key); }
  // The memory of what was compiled.
  size_t memory_bytes() const;

 private:
  friend class PolicyReader;

  std::string name_;
  PolicyKind kind_ = PolicyKind::kIdentity;
  std::shared_ptr<std::vector<Statement>> statements_ = std::make_shared<std::vector<Statement>>();
  KeySet keys_;
};

// The actions that a policy of a table, or of a stream, may name one by one.
const ActionSet& TablePolicyActions();
const ActionSet& StreamPolicyActions();

}  // namespace stator::access
