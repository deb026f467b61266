#include "ops/throttle.h"

#include <gtest/gtest.h>

#include "ops/test_world.h"

namespace stator::ops {
namespace {

using throughput::Access;
using throughput::Limit;

// The exception and the reason, in one line.
std::string Shown(const Environment& env, const Throttle& throttle) {
  const Error error = ThrottleError(env, throttle);
  const auto* payload = dynamic_cast<const ThrottlingPayload*>(error.payload().get());
  EXPECT_NE(payload, nullptr);
  EXPECT_EQ(payload->reasons.size(), 1u);
  return std::string(ErrorCodeName(error.code())) + " " + payload->reasons[0].reason + " " +
         payload->reasons[0].resource;
}

TEST(Throttle, ExceptionAndReasonFollowCauseAndBillingMode) {
  const TestWorld world;
  table::TableDescriptor provisioned;
  provisioned.name = "t";
  table::TableDescriptor on_demand = provisioned;
  on_demand.billing_mode = table::BillingMode::kPayPerRequest;
  table::IndexDescriptor index;
  index.name = "i";
  const std::string arn = " arn:aws:dynamodb:us-east-1:000000000000:table/t";
  EXPECT_EQ(Shown(world.env, {provisioned, nullptr, Access::kRead, Limit::kProvisioned}),
            "ProvisionedThroughputExceeded TableReadProvisionedThroughputExceeded" + arn);
  EXPECT_EQ(
      Shown(world.env, {provisioned, &index, Access::kWrite, Limit::kKeyRange}),
      "ProvisionedThroughputExceeded IndexWriteKeyRangeThroughputExceeded" + arn + "/index/i");
  EXPECT_EQ(Shown(world.env, {on_demand, nullptr, Access::kWrite, Limit::kKeyRange}),
            "Throttling TableWriteKeyRangeThroughputExceeded" + arn);
  EXPECT_EQ(Shown(world.env, {on_demand, &index, Access::kRead, Limit::kMaxOnDemand}),
            "Throttling IndexReadMaxOnDemandThroughputExceeded" + arn + "/index/i");
  EXPECT_EQ(Shown(world.env, {on_demand, nullptr, Access::kRead, Limit::kAccount}),
            "RequestLimitExceeded TableReadAccountLimitExceeded" + arn);
  EXPECT_NE(
      ThrottleError(world.env, {provisioned, &index}).message().find("global secondary indexes"),
      std::string::npos);
  EXPECT_EQ(ThrottleCancellation({provisioned}).code, "ProvisionedThroughputExceeded");
  EXPECT_EQ(ThrottleCancellation({on_demand, nullptr, Access::kWrite, Limit::kKeyRange}).code,
            "ThrottlingError");
}

}  // namespace
}  // namespace stator::ops
