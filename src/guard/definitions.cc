// Operations on tables, tags and streams, and every operation that has no function of its own.
#include "guard/requests.h"
#include "ops/table_status.h"

namespace stator::guard {
namespace {

using access::ActionId;
using access::KeySet;

template <typename Tags>
void AddTags(const Tags& tags, RequestKeys* keys) {
  keys->tag_keys.emplace();
  for (const ops::Tag& tag : tags) {
    // The operation takes the last value of a key that occurs twice.
    std::erase_if(keys->request_tags, [&tag](const auto& known) { return known.first == tag.key; });
    keys->request_tags.emplace_back(tag.key, tag.value);
    keys->tag_keys->push_back(tag.key);
  }
}

std::string ArnWithIndex(const Check& check, std::string_view table,
                         const std::optional<std::string>& index) {
  std::string arn = check.ArnOf(table);
  if (index) arn.append("/index/").append(*index);
  return arn;
}

}  // namespace

Status AuthorizeNamed(Check& check, std::string_view name_or_arn) {
  const std::string name = "dynamodb:" + std::string(check.operation());
  const std::optional<ActionId> action = access::FindAction(name);
  if (!action) return check.DenyUnknown(name, name_or_arn.empty() ? "*" : name_or_arn);
  const access::Action& found = access::ActionOf(*action);
  if (found.only_wildcard() || (found.required == 0 && name_or_arn.empty()))
    return check.Require(*action, "*");
  if (name_or_arn.empty()) return check.DenyUnknown(name, "*");
  return check.Require(*action, check.ArnOf(name_or_arn));
}

Status AuthorizeRestoreTarget(Check& check, std::string_view table_name) {
  static const ActionId actions[] = {
      ActionNamed("dynamodb:BatchWriteItem"), ActionNamed("dynamodb:DeleteItem"),
      ActionNamed("dynamodb:GetItem"),        ActionNamed("dynamodb:PutItem"),
      ActionNamed("dynamodb:Query"),          ActionNamed("dynamodb:Scan"),
      ActionNamed("dynamodb:UpdateItem")};
  const std::string arn = check.ArnOf(table_name);
  for (const ActionId action : actions) TRY(check.Require(action, arn));
  return OkStatus();
}

Status AuthorizeRequest(Check& check, const ops::CreateTableRequest& request) {
  static const ActionId create = ActionNamed("dynamodb:CreateTable");
  static const ActionId tag = ActionNamed("dynamodb:TagResource");
  static const ActionId put_policy = ActionNamed("dynamodb:PutResourcePolicy");
  const std::string arn = check.ArnOf(request.table_name);
  const auto fill = [&](KeySet, RequestKeys* keys) {
    if (request.tags) AddTags(*request.tags, keys);
  };
  TRY(check.Require(create, arn, fill));
  if (request.tags) TRY(check.Require(tag, arn, fill));
  if (request.resource_policy) TRY(check.Require(put_policy, arn));
  return OkStatus();
}

Status AuthorizeRequest(Check& check, const ops::PutResourcePolicyRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:PutResourcePolicy");
  const std::string arn = check.ArnOf(request.resource_arn);
  TRY(check.Require(action, arn));
  if (request.confirm_remove_self_resource_access.value_or(false)) return OkStatus();
  const auto next =
      access::Policy::Parse(request.policy, access::PolicyKind::kResource, "resource policy");
  // The operation refuses a document that cannot be read.
  if (!next.ok() || check.WouldAllow(action, arn, {true, *next})) return OkStatus();
  return Error(ErrorCode::kAccessDenied,
               "The new resource policy will not allow you to update the resource policy in the "
               "future.");
}

Status AuthorizeRequest(Check& check, const ops::TagResourceRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:TagResource");
  return check.Require(action, check.ArnOf(request.resource_arn),
                       [&](KeySet, RequestKeys* keys) { AddTags(request.tags, keys); });
}

Status AuthorizeRequest(Check& check, const ops::UntagResourceRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:UntagResource");
  return check.Require(action, check.ArnOf(request.resource_arn), [&](KeySet, RequestKeys* keys) {
    keys->tag_keys.emplace(request.tag_keys.begin(), request.tag_keys.end());
  });
}

Status AuthorizeRequest(Check& check, const ops::DescribeContributorInsightsRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:DescribeContributorInsights");
  return check.Require(action, ArnWithIndex(check, request.table_name, request.index_name));
}

Status AuthorizeRequest(Check& check, const ops::UpdateContributorInsightsRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:UpdateContributorInsights");
  return check.Require(action, ArnWithIndex(check, request.table_name, request.index_name));
}

Status AuthorizeRequest(Check& check, const ops::StartBulkPutItemsRequest& request) {
  static const ActionId start = ActionNamed("dynamodb:StartBulkPutItems");
  static const ActionId put = ActionNamed("dynamodb:PutItem");
  TRY(check.Require(start, check.ArnOf(request.table_name)));
  // Records and conditions are in files that nothing judges, so a policy that is about keys or
  // attributes would be passed by.
  return RequireOfAllItems(check, put, request.table_name);
}

Status AuthorizeRequest(Check& check, const ops::GetRecordsRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:GetRecords");
  // An iterator begins with the ARN of its stream, which the operation compares with its own.
  const std::string_view iterator = request.shard_iterator;
  return check.Require(action, check.ArnOf(iterator.substr(0, iterator.find('|'))));
}

}  // namespace stator::guard
