// libFuzzer: arbitrary text as a policy of each kind, evaluated for a few requests.
//
// Checked are: nothing crashes; an error is a validation error with a text; a decision is the same
// twice; keys that the policy does not read do not change it; a Deny of everything beside it denies
// everything; and a document alone never allows what it has no Allow for.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "access/authorize.h"

namespace stator::access {
namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

std::shared_ptr<const Policy> DenyAll() {
  static const std::shared_ptr<const Policy> policy =
      *Policy::Parse(R"({"Statement": {"Effect": "Deny", "Action": "*", "Resource": "*"}})",
                     PolicyKind::kIdentity, "deny");
  return policy;
}

constexpr std::string_view kOwn = "111122223333";
constexpr std::string_view kLeading[] = {"alice", "k#1"};
constexpr std::string_view kAttributes[] = {"pk", "title"};

// Sets every key that `wanted` has.
RequestContext ContextWith(KeySet wanted) {
  RequestContext context;
  const auto set = [&](ContextKey key, std::string_view text) {
    if (wanted.Has(key)) context.Set(key, text);
  };
  const auto set_list = [&](ContextKey key, std::span<const std::string_view> list) {
    if (wanted.Has(key)) context.SetList(key, list);
  };
  set(ContextKey::kCurrentTime, "2026-01-31T12:00:00Z");
  set(ContextKey::kEpochTime, "1769860800");
  set(ContextKey::kSecureTransport, "true");
  set(ContextKey::kSourceIp, "10.1.2.3");
  set(ContextKey::kUserAgent, "aws-cli/2");
  set(ContextKey::kPrincipalArn, "arn:aws:iam::111122223333:user/alice");
  set(ContextKey::kPrincipalAccount, kOwn);
  set(ContextKey::kUserId, "AIDAALICE");
  set(ContextKey::kUsername, "alice");
  set(ContextKey::kMultiFactorAuthAge, "5.5");
  set(ContextKey::kSelect, "COUNT");
  set(ContextKey::kReturnValues, "NONE");
  set_list(ContextKey::kLeadingKeys, kLeading);
  set_list(ContextKey::kAttributes, kAttributes);
  if (wanted.Has(ContextKey::kPrincipalTag)) context.Add(ContextKey::kPrincipalTag, "team", "blue");
  return context;
}

KeySet AllKeys() {
  KeySet all;
  for (size_t i = 0; i < kContextKeys; ++i) all.Add(static_cast<ContextKey>(i));
  return all;
}

bool SameDecision(const Decision& a, const Decision& b) {
  return a.allowed == b.allowed && a.explicit_deny == b.explicit_deny && a.type == b.type &&
         a.policy == b.policy && a.statement == b.statement;
}

void Decide(const std::shared_ptr<const Policy>& policy) {
  const RequestContext context = ContextWith(AllKeys());
  const RequestContext read_only = ContextWith(policy->keys());
  const bool identity = policy->kind() == PolicyKind::kIdentity;
  const Principal principals[] = {
      {Principal::Kind::kUser, kOwn, "arn:aws:iam::111122223333:user/alice", "", "AIDAALICE"},
      {Principal::Kind::kRoleSession, "444455556666",
       "arn:aws:sts::444455556666:assumed-role/app/s", "arn:aws:iam::444455556666:role/app",
       "AROAAPP"},
      {Principal::Kind::kAnonymous, "", "", "", ""}};
  const bool has_allow = std::any_of(policy->statements().begin(), policy->statements().end(),
                                     [](const Statement& statement) { return statement.allows(); });
  for (const std::string_view arn :
       {"arn:aws:dynamodb:eu-central-1:111122223333:table/Music", "*"}) {
    const ResourceName resource(arn);
    for (const std::string_view name : {"dynamodb:GetItem", "sts:AssumeRole"}) {
      const ActionId action = *FindAction(name);
      for (const Principal& principal : principals) {
        const std::shared_ptr<const Policy> list[] = {policy, DenyAll()};
        PolicySet policies;
        if (identity) {
          policies.identity = std::span(list, 1);
        } else {
          policies.has_resource = true;
          policies.resource = policy.get();
        }
        const Decision decision = Authorize({principal, action, resource, kOwn, context}, policies);
        Require(SameDecision(decision,
                             Authorize({principal, action, resource, kOwn, context}, policies)));
        Require(SameDecision(decision,
                             Authorize({principal, action, resource, kOwn, read_only}, policies)));
        Require(!decision.allowed || has_allow);
        Require(!DenialMessage(decision, principal, action, arn).empty());
        policies.identity = identity ? std::span(list) : std::span(list).subspan(1);
        const Decision denied = Authorize({principal, action, resource, kOwn, context}, policies);
        Require(!denied.allowed && denied.explicit_deny);
      }
    }
  }
}

void Run(std::string_view text) {
  for (const PolicyKind kind : {PolicyKind::kIdentity, PolicyKind::kResource, PolicyKind::kTrust}) {
    const auto policy = Policy::Parse(text, kind, "fuzz");
    if (policy.ok()) {
      Decide(*policy);
    } else {
      Require(policy.error().code() == ErrorCode::kValidation && !policy.error().message().empty());
    }
  }
}

}  // namespace
}  // namespace stator::access

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  stator::access::Run({reinterpret_cast<const char*>(data), size});
  return 0;
}
