#include "guard/check.h"

#include <fmt/format.h>

#include <algorithm>

#include "access/authorize.h"
#include "access/policy.h"
#include "base/time_text.h"
#include "ops/checks.h"
#include "ops/table_status.h"

namespace stator::guard {
namespace {

using access::ContextKey;
using access::KeySet;

constexpr ContextKey kPartitionKeys[] = {
    ContextKey::kFirstPartitionKeyValues, ContextKey::kSecondPartitionKeyValues,
    ContextKey::kThirdPartitionKeyValues, ContextKey::kFourthPartitionKeyValues};

std::vector<std::string_view> ViewsOf(const std::vector<std::string>& texts) {
  return {texts.begin(), texts.end()};
}

// The views of lists that a context looks at.
struct Lists {
  std::array<std::vector<std::string_view>, 4> partition;
  std::vector<std::string_view> attributes;
};

void SetRequestKeys(const RequestKeys& keys, Lists* lists, access::RequestContext* context) {
  for (size_t i = 0; i < keys.partition_values.size(); ++i) {
    if (!keys.partition_values[i]) continue;
    lists->partition[i] = ViewsOf(*keys.partition_values[i]);
    context->SetList(kPartitionKeys[i], lists->partition[i]);
    if (i == 0) context->SetList(ContextKey::kLeadingKeys, lists->partition[i]);
  }
  if (keys.attributes) {
    lists->attributes = ViewsOf(*keys.attributes);
    context->SetList(ContextKey::kAttributes, lists->attributes);
  }
  const auto set = [context](ContextKey key, std::string_view text) {
    if (!text.empty()) context->Set(key, text);
  };
  set(ContextKey::kSelect, keys.select);
  set(ContextKey::kReturnValues, keys.return_values);
  set(ContextKey::kReturnConsumedCapacity, keys.return_consumed_capacity);
  set(ContextKey::kEnclosingOperation, keys.enclosing_operation);
  if (keys.full_table_scan)
    context->Set(ContextKey::kFullTableScan, *keys.full_table_scan ? "true" : "false");
  for (const auto& [key, value] : keys.request_tags)
    context->Add(ContextKey::kRequestTag, key, value);
  for (const auto& [key, value] : keys.resource_tags)
    context->Add(ContextKey::kResourceTag, key, value);
  for (const auto& [key, text] : keys.texts) context->Set(key, text);
  if (keys.tag_keys) context->SetList(ContextKey::kTagKeys, *keys.tag_keys);
}

}  // namespace

std::string_view TaggedTable(std::string_view arn) {
  constexpr std::string_view kTable = ":table/";
  const size_t begin = arn.find(kTable);
  if (begin == std::string_view::npos || arn.find("/stream/") != std::string_view::npos) return {};
  const std::string_view rest = arn.substr(begin + kTable.size());
  return rest.substr(0, rest.find('/'));
}

void RequestKeys::AddAttribute(std::string_view name) {
  if (!attributes) attributes.emplace();
  if (std::find(attributes->begin(), attributes->end(), name) == attributes->end())
    attributes->emplace_back(name);
}

void RequestKeys::AddAttributes(const std::vector<std::string>& names) {
  for (const std::string& name : names) AddAttribute(name);
}

access::ActionId ActionNamed(std::string_view name) { return access::FindAction(name).value(); }

std::string Check::ArnOf(std::string_view name_or_arn) const {
  std::string_view rest = name_or_arn;
  if (!rest.starts_with("arn:")) return ops::TableArn(env_, rest);
  for (int colons = 0; colons < 5; ++colons) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return ops::TableArn(env_, name_or_arn);
    rest.remove_prefix(colon + 1);
  }
  constexpr std::string_view kTable = "table/";
  if (!rest.starts_with(kTable)) return ops::TableArn(env_, name_or_arn);
  return ops::TableArn(env_, rest.substr(kTable.size()));
}

table::TablePtr Check::FindTable(std::string_view name_or_arn) const {
  const Result<std::string_view> name = ops::TableNameOf(name_or_arn);
  return name.ok() ? env_.store.Find(*name) : nullptr;
}

void Check::SetGlobalKeys(KeySet wanted, access::RequestContext* context) {
  const auto wants = [wanted](ContextKey key) { return wanted.Has(key); };
  if (wants(ContextKey::kCurrentTime) || wants(ContextKey::kEpochTime)) {
    const int64_t now = env_.clock.NowMicros();
    current_time_ = FormatTime(now);
    epoch_time_ = std::to_string(now / 1'000'000);
    context->Set(ContextKey::kCurrentTime, current_time_);
    context->Set(ContextKey::kEpochTime, epoch_time_);
  }
  if (wants(ContextKey::kSourceIp) && peer_ != nullptr) {
    source_ip_ = peer_->Address();
    if (!source_ip_.empty()) context->Set(ContextKey::kSourceIp, source_ip_);
  }
  if (wants(ContextKey::kUserAgent)) {
    const std::string_view agent = access::HeaderOf(http_, "user-agent");
    if (!agent.empty()) context->Set(ContextKey::kUserAgent, agent);
  }
  if (wants(ContextKey::kReferer)) {
    const std::string_view referer = access::HeaderOf(http_, "referer");
    if (!referer.empty()) context->Set(ContextKey::kReferer, referer);
  }
  context->Set(ContextKey::kSecureTransport,
               peer_ != nullptr && peer_->IsSecure() ? "true" : "false");
  context->Set(ContextKey::kViaAwsService, "false");
  context->Set(ContextKey::kRequestedRegion, gate_.region());
  context->Set(ContextKey::kResourceAccount, gate_.account());
}

Status Check::Require(access::ActionId action, std::string_view resource) {
  return Require(action, resource, [](KeySet, RequestKeys*) {});
}

AttachedPolicy FindAttached(const ResourcePolicySource* source, const ops::Environment& environment,
                            std::string_view arn) {
  if (source == nullptr || !source->any()) return {};
  constexpr std::string_view kTable = ":table/", kStream = "/stream/";
  const size_t begin = arn.find(kTable);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = arn.substr(begin + kTable.size());
  const std::string_view name = rest.substr(0, rest.find('/'));
  if (const size_t stream = rest.find(kStream); stream != std::string_view::npos) {
    const std::string_view label = rest.substr(stream + kStream.size());
    const stream::StreamPtr found = environment.store.FindStream(name, label);
    if (found == nullptr) return {};
    return source->FindAttached(found->table_id + "/" + found->label);
  }
  const table::TablePtr table = environment.store.Find(name);
  return table == nullptr ? AttachedPolicy{} : source->FindAttached(table->descriptor.table_id);
}

Status Check::Require(access::ActionId action, std::string_view resource, Fill fill) {
  return Require(action, resource, FindAttached(gate_.resources(), env_, resource), fill);
}

bool Check::WouldAllow(access::ActionId action, std::string_view resource,
                       const AttachedPolicy& attached) {
  RequestKeys keys;
  return caller() == nullptr || Decide(
                                    action, resource, attached, [](KeySet, RequestKeys*) {}, &keys)
                                    .allowed;
}

access::Decision Check::Decide(access::ActionId action, std::string_view resource,
                               const AttachedPolicy& attached, Fill fill, RequestKeys* keys) {
  const access::Caller& who = *caller();
  access::RequestContext context;
  Lists lists;
  table::TablePtr tagged;
  KeySet wanted = who.keys;
  if (attached.policy != nullptr) wanted.Add(attached.policy->keys());
  if (!wanted.empty()) {
    who.SetContext(&context);
    SetGlobalKeys(wanted, &context);
    fill(wanted, keys);
    SetRequestKeys(*keys, &lists, &context);
    if (wanted.Has(ContextKey::kResourceTag)) {
      tagged = env_.store.Find(TaggedTable(resource));
      if (tagged != nullptr) {
        for (const auto& [key, value] : tagged->descriptor.tags)
          context.Add(ContextKey::kResourceTag, key, value);
      }
    }
  }
  const access::ResourceName name(resource);
  return access::Authorize({who.principal(), action, name, gate_.account(), context, &steps_},
                           who.policies(attached.present, attached.policy.get()));
}

Status Check::Require(access::ActionId action, std::string_view resource,
                      const AttachedPolicy& attached, Fill fill) {
  const access::Caller* const who = caller();
  if (who == nullptr) return OkStatus();
  RequestKeys keys;
  const access::Decision decision = Decide(action, resource, attached, fill, &keys);
  if (in_loop_ && steps_.exhausted()) [[unlikely]]
    return Error(ErrorCode::kWouldBlock, "Policies that take long are compared on a worker");
  if (judgements_ != nullptr) [[unlikely]]
    judgements_->Add(JudgementOf(access::ActionOf(action).name, resource, decision));
  if (!decision.allowed) {
    denial_ = JudgementOf(access::ActionOf(action).name, resource, decision);
    return gate_.Deny(
        verified_.key_id, operation_,
        steps_.exhausted()
            ? fmt::format("User: {} is not authorized to perform: {} on resource: {} because "
                          "comparing the request with its policies takes more than {} steps",
                          who->arn, access::ActionOf(action).name, resource,
                          access::kMostStepsOfRequest)
            : access::DenialMessage(decision, who->principal(), action, resource));
  }
  if (keys.error && gate_.enforces()) return *std::move(keys.error);
  return OkStatus();
}

Status Check::DenyUnknown(std::string_view action, std::string_view resource) {
  const access::Caller* const who = caller();
  if (who == nullptr || who->kind == access::Principal::Kind::kRoot) return OkStatus();
  denial_ = JudgementOf(action, resource, {false, false, access::PolicyType::kIdentity});
  if (judgements_ != nullptr) judgements_->Add(*denial_);
  return gate_.Deny(verified_.key_id, operation_,
                    "User: " + who->arn + " is not authorized to perform: " + std::string(action) +
                        " on resource: " + std::string(resource) +
                        " because no identity-based policy allows the " + std::string(action) +
                        " action");
}

}  // namespace stator::guard
