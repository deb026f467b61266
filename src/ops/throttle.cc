#include "ops/throttle.h"

#include "ops/table_status.h"

namespace stator::ops {
namespace {

bool OnDemand(const Throttle& throttle) { return throttle.table.billing_mode == table::BillingMode::kPayPerRequest; }

ErrorCode CodeOf(const Throttle& throttle) {
  switch (throttle.cause) {
    case ThrottleCause::kProvisioned: return ErrorCode::kProvisionedThroughputExceeded;
    case ThrottleCause::kKeyRange:
      return OnDemand(throttle) ? ErrorCode::kThrottling : ErrorCode::kProvisionedThroughputExceeded;
    case ThrottleCause::kMaxOnDemand: return ErrorCode::kThrottling;
    case ThrottleCause::kAccount: return ErrorCode::kRequestLimitExceeded;
  }
  return ErrorCode::kThrottling;
}

std::string_view SuffixOf(ThrottleCause cause) {
  switch (cause) {
    case ThrottleCause::kProvisioned: return "ProvisionedThroughputExceeded";
    case ThrottleCause::kKeyRange: return "KeyRangeThroughputExceeded";
    case ThrottleCause::kMaxOnDemand: return "MaxOnDemandThroughputExceeded";
    case ThrottleCause::kAccount: return "AccountLimitExceeded";
  }
  return "";
}

std::string MessageOf(const Throttle& throttle) {
  switch (CodeOf(throttle)) {
    case ErrorCode::kRequestLimitExceeded:
      return "Throughput exceeds the current throughput limit for your account. Please contact AWS Support to request a "
             "limit increase.";
    case ErrorCode::kThrottling:
      return "Throughput exceeds the current capacity of your table or index. DynamoDB is automatically scaling your table "
             "or index so please try again shortly.";
    default: break;
  }
  if (throttle.index != nullptr && throttle.index->is_global()) {
    return "The level of configured provisioned throughput for one or more global secondary indexes of the table was "
           "exceeded. Consider increasing your provisioning level for the under-provisioned global secondary indexes with "
           "the UpdateTable API.";
  }
  return "The level of configured provisioned throughput for the table was exceeded. Consider increasing your provisioning "
         "level with the UpdateTable API.";
}

}  // namespace

Error ThrottleError(const Environment& env, const Throttle& throttle) {
  ThrottlingReason reason;
  reason.reason = throttle.index != nullptr ? "Index" : "Table";
  reason.reason.append(throttle.write ? "Write" : "Read").append(SuffixOf(throttle.cause));
  reason.resource = TableArn(env, throttle.table.name);
  if (throttle.index != nullptr) reason.resource.append("/index/").append(throttle.index->name);
  return Error(CodeOf(throttle), MessageOf(throttle),
               std::make_shared<ThrottlingPayload>(std::vector<ThrottlingReason>{std::move(reason)}));
}

CancellationReason ThrottleCancellation(const Throttle& throttle) {
  const bool provisioned = CodeOf(throttle) == ErrorCode::kProvisionedThroughputExceeded;
  return {provisioned ? "ProvisionedThroughputExceeded" : "ThrottlingError", MessageOf(throttle), ""};
}

}  // namespace stator::ops
