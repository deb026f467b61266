#include "guard/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

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

namespace {

// Returns the store's name of the table in "arn:...:ACCOUNT:table/NAME..."; empty if it is none.
std::string StoreNameIn(const ops::Environment& environment, std::string_view arn) {
  constexpr std::string_view kTable = ":table/";
  const size_t begin = arn.find(kTable);
  if (begin == std::string_view::npos) return {};
  const std::string_view rest = arn.substr(begin + kTable.size());
  const std::string_view account = ops::AccountInArn(arn);
  return table::StoreName(account == environment.settings.account ? std::string_view() : account,
                          rest.substr(0, rest.find('/')));
}

// Returns true for a management action. Only the default account may use them, except
// stator:ReadPast, which reads items.
bool IsManagement(access::ActionId action) {
  const std::string_view name = access::ActionOf(action).name;
  return name.starts_with("stator:") && name != "stator:ReadPast";
}

// Whether an action reaches resources of another account at all: its name is one of those with
// which the service does.
bool MayCross(access::ActionId action) {
  static constexpr std::string_view kNames[] = {"dynamodb:BatchGetItem",
                                                "dynamodb:BatchWriteItem",
                                                "dynamodb:ConditionCheckItem",
                                                "dynamodb:DeleteItem",
                                                "dynamodb:DeleteTable",
                                                "dynamodb:DescribeStream",
                                                "dynamodb:DescribeTable",
                                                "dynamodb:GetItem",
                                                "dynamodb:GetRecords",
                                                "dynamodb:GetShardIterator",
                                                "dynamodb:ListTagsOfResource",
                                                "dynamodb:PutItem",
                                                "dynamodb:Query",
                                                "dynamodb:Scan",
                                                "dynamodb:TagResource",
                                                "dynamodb:UntagResource",
                                                "dynamodb:UpdateItem",
                                                "dynamodb:UpdateTable",
                                                "sts:AssumeRole",
                                                "sts:AssumeRoleWithWebIdentity",
                                                "sts:SetSourceIdentity",
                                                "sts:TagSession"};
  const std::string_view name = access::ActionOf(action).name;
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

}  // namespace

table::TablePtr FindTagged(const ops::Environment& environment, std::string_view arn) {
  if (arn.find("/stream/") != std::string_view::npos) return nullptr;
  return environment.store.Find(StoreNameIn(environment, arn));
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
  const auto arn_of = [this](std::string_view account, std::string_view resource) {
    std::string arn = "arn:aws:dynamodb:" + env_.settings.region + ":";
    return arn.append(account).append(":table/").append(resource);
  };
  const std::string_view own = caller_account();
  if (!rest.starts_with("arn:")) return arn_of(own, rest);
  for (int colons = 0; colons < 5; ++colons) {
    const size_t colon = rest.find(':');
    if (colon == std::string_view::npos) return arn_of(own, name_or_arn);
    rest.remove_prefix(colon + 1);
  }
  constexpr std::string_view kTable = "table/";
  if (!rest.starts_with(kTable)) return arn_of(own, name_or_arn);
  const std::string_view account = ops::AccountInArn(name_or_arn);
  // Where there is no account the operation refuses the ARN.
  return arn_of(account.empty() ? own : account, rest.substr(kTable.size()));
}

std::string_view Check::caller_account() const {
  return caller() == nullptr || caller()->account.empty() ? std::string_view(gate_.account())
                                                          : std::string_view(caller()->account);
}

std::string_view Check::other_account() const {
  const std::string_view account = caller_account();
  return account == gate_.account() ? std::string_view() : account;
}

std::string_view Check::AccountOf(access::ActionId action, std::string_view resource) const {
  if (IsManagement(action)) return gate_.account();
  const std::string_view account = ops::AccountInArn(resource);
  return account.empty() ? caller_account() : account;
}

table::TablePtr Check::FindTable(std::string_view name_or_arn) const {
  const Result<ops::StoreTableName> name =
      ops::StoreNameOf({env_, other_account(), caller() != nullptr}, name_or_arn);
  return name.ok() ? env_.store.Find(name->view()) : nullptr;
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
}

Status Check::Require(access::ActionId action, std::string_view resource) {
  return Require(action, resource, [](KeySet, RequestKeys*) {});
}

AttachedPolicy FindAttached(const ResourcePolicySource* source, const ops::Environment& environment,
                            std::string_view arn) {
  if (source == nullptr || !source->any()) return {};
  constexpr std::string_view kStream = "/stream/";
  const std::string name = StoreNameIn(environment, arn);
  if (name.empty()) return {};
  if (const size_t stream = arn.find(kStream); stream != std::string_view::npos) {
    const std::string_view label = arn.substr(stream + kStream.size());
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
  const std::string_view account = AccountOf(action, resource);
  if (who.account != account && !who.account.empty()) {
    if (IsManagement(action)) return {false, false, access::PolicyType::kIdentity};
    if (!MayCross(action)) return {false, false, access::PolicyType::kResource};
  }
  KeySet wanted = who.keys;
  if (attached.policy != nullptr) wanted.Add(attached.policy->keys());
  if (!wanted.empty()) {
    who.SetContext(&context);
    SetGlobalKeys(wanted, &context);
    context.Set(ContextKey::kResourceAccount, account);
    fill(wanted, keys);
    SetRequestKeys(*keys, &lists, &context);
    if (wanted.Has(ContextKey::kResourceTag)) {
      tagged = FindTagged(env_, resource);
      if (tagged != nullptr) {
        for (const auto& [key, value] : tagged->descriptor.tags)
          context.Add(ContextKey::kResourceTag, key, value);
      }
    }
  }
  const access::ResourceName name(resource);
  return access::Authorize({who.principal(), action, name, account, context, &steps_},
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
    return Refuse(
        steps_.exhausted()
            ? fmt::format("User: {} is not authorized to perform: {} on resource: {} because "
                          "comparing the request with its policies takes more than {} steps",
                          who->arn, access::ActionOf(action).name, resource,
                          access::kMostStepsOfRequest)
            : access::DenialMessage(decision, who->principal(), action, resource),
        AccountOf(action, resource));
  }
  if (keys.error && gate_.enforces()) return *std::move(keys.error);
  return OkStatus();
}

Status Check::Refuse(std::string message, std::string_view account) {
  const Status denied = gate_.Deny(verified_.key_id, operation_, message);
  // A resource of another account is refused in every mode.
  if (denied.ok() && account != caller_account())
    return Error(ErrorCode::kAccessDenied, std::move(message));
  return denied;
}

Status Check::DenyUnknown(std::string_view action, std::string_view resource) {
  const access::Caller* const who = caller();
  if (who == nullptr) return OkStatus();
  const std::string arn = resource == "*" ? std::string(resource) : ArnOf(resource);
  std::string_view account = ops::AccountInArn(arn);
  if (account.empty()) account = caller_account();
  if (who->kind == access::Principal::Kind::kRoot && account == who->account) return OkStatus();
  denial_ = JudgementOf(action, resource, {false, false, access::PolicyType::kIdentity});
  if (judgements_ != nullptr) judgements_->Add(*denial_);
  return Refuse("User: " + who->arn + " is not authorized to perform: " + std::string(action) +
                    " on resource: " + std::string(resource) +
                    " because no identity-based policy allows the " + std::string(action) +
                    " action",
                account);
}

}  // namespace stator::guard
