#include "access/context.h"

#include <iterator>

#include "access/sigv4.h"
#include "base/ascii.h"

namespace stator::access {
namespace {

struct Known {
  std::string_view name;
  bool list = false;
  bool family = false;
};

constexpr Known kKnown[] = {
    {"aws:CurrentTime"},
    {"aws:EpochTime"},
    {"aws:SecureTransport"},
    {"aws:SourceIp"},
    {"aws:UserAgent"},
    {"aws:Referer"},
    {"aws:RequestedRegion"},
    {"aws:PrincipalArn"},
    {"aws:PrincipalAccount"},
    {"aws:PrincipalType"},
    {"aws:userid"},
    {"aws:username"},
    {"aws:ResourceAccount"},
    {"aws:TagKeys", true},
    {"aws:TokenIssueTime"},
    {"aws:MultiFactorAuthPresent"},
    {"aws:MultiFactorAuthAge"},
    {"aws:SourceIdentity"},
    {"aws:FederatedProvider"},
    {"aws:PrincipalIsAWSService"},
    {"aws:ViaAWSService"},
    {"aws:SourceArn"},
    {"aws:SourceAccount"},
    {"aws:PrincipalTag", false, true},
    {"aws:ResourceTag", false, true},
    {"aws:RequestTag", false, true},
    {"dynamodb:LeadingKeys", true},
    {"dynamodb:Attributes", true},
    {"dynamodb:FirstPartitionKeyValues", true},
    {"dynamodb:SecondPartitionKeyValues", true},
    {"dynamodb:ThirdPartitionKeyValues", true},
    {"dynamodb:FourthPartitionKeyValues", true},
    {"dynamodb:EnclosingOperation"},
    {"dynamodb:ReturnConsumedCapacity"},
    {"dynamodb:ReturnValues"},
    {"dynamodb:Select"},
    {"dynamodb:FullTableScan"},
    {"sts:ExternalId"},
    {"sts:RoleSessionName"},
    {"sts:SourceIdentity"},
    {"sts:TransitiveTagKeys", true},
    {"iam:PermissionsBoundary"},
    {"iam:PolicyARN"},
    {"application-autoscaling:scalable-dimension"},
    {"application-autoscaling:service-namespace"},
};
static_assert(std::size(kKnown) + 1 == kContextKeys);

}  // namespace

KeyName ResolveKey(std::string_view name) {
  const size_t slash = name.find('/');
  for (size_t i = 0; i < std::size(kKnown); ++i) {
    const Known& known = kKnown[i];
    if (known.family) {
      if (slash != std::string_view::npos && slash + 1 < name.size() &&
          EqualsIgnoringCase(name.substr(0, slash), known.name))
        return {static_cast<ContextKey>(i), std::string(name.substr(slash + 1))};
    } else if (EqualsIgnoringCase(name, known.name)) {
      return {static_cast<ContextKey>(i), {}};
    }
  }
  return {ContextKey::kOther, std::string(name)};
}

std::string_view ContextKeyName(ContextKey key) {
  return key == ContextKey::kOther ? std::string_view() : kKnown[static_cast<size_t>(key)].name;
}

bool IsListKey(ContextKey key) {
  return key != ContextKey::kOther && kKnown[static_cast<size_t>(key)].list;
}

const RequestContext::Value* RequestContext::Find(const KeyName& name) const {
  if (name.tag.empty()) {
    const auto i = static_cast<size_t>(name.key);
    return present_[i] ? &values_[i] : nullptr;
  }
  // A table may have tags that differ by case alone. The one as the policy writes it counts, else
  // the first by bytes: so the same one counts in a request and in the table that it has made.
  const Named* best = nullptr;
  for (const Named& named : named_) {
    if (named.family != name.key || !EqualsIgnoringCase(named.tag, name.tag)) continue;
    if (named.tag == name.tag) return &named.value;
    if (best == nullptr || named.tag < best->tag) best = &named;
  }
  return best == nullptr ? nullptr : &best->value;
}

}  // namespace stator::access
