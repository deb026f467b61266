#include "access/policy.h"

#include <fmt/format.h>

#include <algorithm>

namespace stator::access {

Result<ResourcePattern> ResourcePattern::Compile(std::string_view text, bool variables) {
  ResourcePattern pattern;
  if (text == "*") {
    pattern.any_ = true;
    return pattern;
  }
  ArnView arn;
  if (!SplitArn(text, &arn)) {
    return ValidationError(fmt::format("Resource {} must be in ARN format or \"*\".", text));
  }
  const std::string_view partition = arn.partition();
  if (partition != "*" && !partition.starts_with("aws")) {
    return ValidationError(
        fmt::format("Partition \"{}\" is not valid for resource \"{}\".", partition, text));
  }
  if (arn.service().empty() || arn.service().find_first_of("*?$") != std::string_view::npos) {
    return ValidationError("Resource vendor must be fully qualified and cannot contain regexes.");
  }
  for (size_t i = 1; i < 5; ++i) {
    // Not replaced there by the service. As plain text it would never match, and a NotResource
    // would let everything through.
    if (arn.parts[i].find("${") != std::string_view::npos) {
      return ValidationError(fmt::format(
          "Resource {} has a policy variable before its fifth colon, where none is allowed.",
          text));
    }
  }
  pattern.partition_ = Glob(partition);
  pattern.service_ = arn.service();
  pattern.region_ = Glob(arn.region());
  pattern.account_ = Glob(arn.account());
  pattern.path_ = Template(arn.resource(), variables, Template::Wildcards::kActive);
  return pattern;
}

bool ResourcePattern::Matches(const ResourceName& resource, const RequestContext& context,
                              bool* unresolved) const {
  if (any_) return true;
  if (!resource.is_arn) return false;
  const ArnView& arn = resource.parts;
  return service_ == arn.service() && account_.Matches(arn.account()) &&
         region_.Matches(arn.region()) && partition_.Matches(arn.partition()) &&
         path_.Matches(arn.resource(), context, unresolved);
}

bool Statement::Applies(ActionId action, const ResourceName& resource,
                        const RequestContext& context) const {
  if (!actions_.test(static_cast<size_t>(action))) return false;
  if (has_resources_) {
    bool unresolved = false;
    const bool named =
        std::any_of(resources_.begin(), resources_.end(), [&](const ResourcePattern& pattern) {
          return pattern.Matches(resource, context, &unresolved);
        });
    if (not_resource_ ? named || unresolved : !named) return false;
  }
  return std::all_of(conditions_.begin(), conditions_.end(),
                     [&](const Condition& condition) { return condition.Holds(context); });
}

PrincipalMatch Statement::Match(const PrincipalPattern& pattern, const Principal& principal) {
  using Kind = Principal::Kind;
  const bool has_account = principal.kind == Kind::kRoot || principal.kind == Kind::kUser ||
                           principal.kind == Kind::kRoleSession ||
                           principal.kind == Kind::kFederatedUser;
  switch (pattern.kind) {
    case PrincipalPattern::Kind::kAnyone: return PrincipalMatch::kDirect;
    case PrincipalPattern::Kind::kAccount:
      return has_account && pattern.text == principal.account ? PrincipalMatch::kAccount
                                                              : PrincipalMatch::kNone;
    case PrincipalPattern::Kind::kArn: {
      if (!has_account) return PrincipalMatch::kNone;
      if (pattern.text == principal.arn) return PrincipalMatch::kDirect;
      if (pattern.text == principal.issuer_arn) return PrincipalMatch::kIssuer;
      if (pattern.text == principal.id) {
        return principal.kind == Kind::kUser ? PrincipalMatch::kDirect : PrincipalMatch::kIssuer;
      }
      return PrincipalMatch::kNone;
    }
    case PrincipalPattern::Kind::kService:
      return principal.kind == Kind::kService && pattern.text == principal.arn
                 ? PrincipalMatch::kDirect
                 : PrincipalMatch::kNone;
    case PrincipalPattern::Kind::kFederated:
      return principal.kind == Kind::kWebIdentity && pattern.text == principal.arn
                 ? PrincipalMatch::kDirect
                 : PrincipalMatch::kNone;
  }
  return PrincipalMatch::kNone;
}

PrincipalMatch Statement::MatchPrincipal(const Principal& principal, bool bounded) const {
  if (!not_principal_) {
    PrincipalMatch best = PrincipalMatch::kNone;
    for (const PrincipalPattern& pattern : principals_)
      best = std::max(best, Match(pattern, principal));
    return best;
  }
  // A Deny with NotPrincipal hits every principal with a permissions boundary. Others are exempt if
  // the element names both them (or the role or user that issued their session) and their account.
  // An Allow leaves out everything that it names in any way.
  bool account = false;
  bool closer = principal.kind == Principal::Kind::kRoot;
  bool any = false;
  for (const PrincipalPattern& pattern : principals_) {
    const PrincipalMatch match = Match(pattern, principal);
    any |= match != PrincipalMatch::kNone;
    account |= match == PrincipalMatch::kAccount ||
               pattern.kind == PrincipalPattern::Kind::kAnyone || principal.account.empty();
    closer |= match > PrincipalMatch::kAccount;
  }
  const bool exempt = allows_ ? any : !bounded && account && closer;
  return exempt ? PrincipalMatch::kNone : PrincipalMatch::kDirect;
}

size_t Policy::SizeWithoutSpace(std::string_view text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return c != ' ' && c != '\t' && c != '\r' && c != '\n';
  }));
}

namespace {

ActionSet SetOf(std::initializer_list<std::string_view> names) {
  ActionSet set;
  for (const std::string_view name : names) set |= MatchActions(name);
  return set;
}

}  // namespace

size_t ResourcePattern::heap_bytes() const {
  return partition_.heap_bytes() + region_.heap_bytes() + account_.heap_bytes() +
         HeapBytes(service_) + path_.heap_bytes();
}

size_t Statement::heap_bytes() const {
  size_t bytes = HeapBytes(sid_) + principals_.capacity() * sizeof(PrincipalPattern) +
                 resources_.capacity() * sizeof(ResourcePattern) +
                 conditions_.capacity() * sizeof(Condition);
  for (const PrincipalPattern& pattern : principals_) bytes += HeapBytes(pattern.text);
  for (const ResourcePattern& pattern : resources_) bytes += pattern.heap_bytes();
  for (const Condition& condition : conditions_) bytes += condition.heap_bytes();
  return bytes;
}

size_t Policy::memory_bytes() const {
  size_t bytes = sizeof(Policy) + statements_->capacity() * sizeof(Statement);
  for (const Statement& statement : *statements_) bytes += statement.heap_bytes();
  return bytes;
}

const ActionSet& TablePolicyActions() {
  static const ActionSet actions = SetOf({
      "dynamodb:GetItem",
      "dynamodb:PutItem",
      "dynamodb:UpdateItem",
      "dynamodb:DeleteItem",
      "dynamodb:BatchGetItem",
      "dynamodb:BatchWriteItem",
      "dynamodb:ConditionCheckItem",
      "dynamodb:Query",
      "dynamodb:Scan",
      "dynamodb:PartiQL*",
      "dynamodb:DescribeTable",
      "dynamodb:UpdateTable",
      "dynamodb:DeleteTable",
      "dynamodb:TagResource",
      "dynamodb:UntagResource",
      "dynamodb:ListTagsOfResource",
      "dynamodb:DescribeTimeToLive",
      "dynamodb:UpdateTimeToLive",
      "dynamodb:CreateBackup",
      "dynamodb:DescribeContinuousBackups",
      "dynamodb:UpdateContinuousBackups",
      "dynamodb:RestoreTableToPointInTime",
      "dynamodb:ExportTableToPointInTime",
      "dynamodb:DescribeContributorInsights",
      "dynamodb:UpdateContributorInsights",
      "dynamodb:*KinesisStreamingDestination",
      "dynamodb:DescribeTableReplicaAutoScaling",
      "dynamodb:UpdateTableReplicaAutoScaling",
      "dynamodb:PutResourcePolicy",
      "dynamodb:GetResourcePolicy",
      "dynamodb:DeleteResourcePolicy",
      // Rights of replication, which global tables need.
      "dynamodb:AssociateTableReplica",
      "dynamodb:ReadDataForReplication",
      "dynamodb:WriteDataForReplication",
      "dynamodb:ReplicateSettings",
  });
  return actions;
}

const ActionSet& StreamPolicyActions() {
  static const ActionSet actions = SetOf({
      "dynamodb:DescribeStream",
      "dynamodb:GetRecords",
      "dynamodb:GetShardIterator",
      "dynamodb:PutResourcePolicy",
      "dynamodb:GetResourcePolicy",
      "dynamodb:DeleteResourcePolicy",
      "dynamodb:TagResource",
      "dynamodb:UntagResource",
      "dynamodb:ListTagsOfResource",
  });
  return actions;
}

}  // namespace stator::access
