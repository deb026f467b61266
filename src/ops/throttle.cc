#include "ops/throttle.h"

#include "ops/table_status.h"

namespace stator::ops {
namespace {

// A limit that tables of one billing mode have says more than the table.
throughput::Billing BillingOf(const Throttle& throttle) {
  if (throttle.limit == throughput::Limit::kProvisioned) return throughput::Billing::kProvisioned;
  if (throttle.limit == throughput::Limit::kMaxOnDemand) return throughput::Billing::kOnDemand;
  return throttle.table.billing_mode == table::BillingMode::kProvisioned
             ? throughput::Billing::kProvisioned
             : throughput::Billing::kOnDemand;
}

ErrorCode CodeOf(const Throttle& throttle) {
  if (throttle.limit == throughput::Limit::kAccount) return ErrorCode::kRequestLimitExceeded;
  return BillingOf(throttle) == throughput::Billing::kProvisioned
             ? ErrorCode::kProvisionedThroughputExceeded
             : ErrorCode::kThrottling;
}

std::string ServiceMessageOf(const Throttle& throttle) {
  switch (CodeOf(throttle)) {
    case ErrorCode::kRequestLimitExceeded:
      return "Throughput exceeds the current throughput limit for your account. Please contact AWS "
             "Support to request a "
             "limit increase.";
    case ErrorCode::kThrottling:
      return "Throughput exceeds the current capacity of your table or index. DynamoDB is "
             "automatically scaling your table "
             "or index so please try again shortly.";
    default: break;
  }
  if (throttle.index != nullptr && throttle.index->is_global()) {
    return "The level of configured provisioned throughput for one or more global secondary "
           "indexes of the table was "
           "exceeded. Consider increasing your provisioning level for the under-provisioned global "
           "secondary indexes with "
           "the UpdateTable API.";
  }
  return "The level of configured provisioned throughput for the table was exceeded. Consider "
         "increasing your provisioning "
         "level with the UpdateTable API.";
}

std::string MessageOf(const Throttle& throttle) {
  std::string message = throttle.words.first;
  // The service's sentence is one for all causes, and may advise what does not help here.
  if (!message.empty()) message += " DynamoDB says: ";
  message += ServiceMessageOf(throttle);
  if (!throttle.words.last.empty()) message.append(" ").append(throttle.words.last);
  return message;
}

}  // namespace

Error ThrottleError(const Environment& env, const Throttle& throttle) {
  ThrottlingReason reason;
  reason.reason =
      throughput::ReasonCode(throttle.index != nullptr, throttle.access, throttle.limit);
  reason.resource = TableArn(env, throttle.table.name);
  if (throttle.index != nullptr) reason.resource.append("/index/").append(throttle.index->name);
  return Error(
      CodeOf(throttle), MessageOf(throttle),
      std::make_shared<ThrottlingPayload>(std::vector<ThrottlingReason>{std::move(reason)}));
}

CancellationReason ThrottleCancellation(const Throttle& throttle) {
  const bool provisioned = CodeOf(throttle) == ErrorCode::kProvisionedThroughputExceeded;
  return {provisioned ? "ProvisionedThroughputExceeded" : "ThrottlingError", MessageOf(throttle),
          ""};
}

}  // namespace stator::ops
