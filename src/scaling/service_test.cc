#include "scaling/service.h"

#include <gtest/gtest.h>

#include <future>
#include <memory>

#include "base/random.h"
#include "kv/memory_engine.h"
#include "table/store.h"

namespace stator::scaling {
namespace {

class ScalingTest : public testing::Test {
 protected:
  ScalingTest() {
    auto opened = table::Store::Open(engine_, clock_, workers_);
    EXPECT_TRUE(opened.ok());
    store_ = *std::move(opened);
    env_.reset(new ops::Environment{*store_, clock_, random_, workers_, {}});
    service_ = std::make_unique<Service>(*env_, nullptr, nullptr, false);
    table::TableDescriptor descriptor;
    descriptor.name = "t";
    descriptor.attribute_definitions = {{"p", model::Type::kS}};
    descriptor.key_schema = {{"p", model::Type::kS}, std::nullopt};
    descriptor.read_units = descriptor.write_units = 5;
    descriptor.table_id = "id";
    std::promise<bool> made;
    store_->Create(std::move(descriptor),
                   [&](Result<table::TablePtr> table) { made.set_value(table.ok()); });
    EXPECT_TRUE(made.get_future().get());
  }
  ~ScalingTest() override { workers_.Stop(); }

  Reply Run(std::string_view operation, std::string_view body) {
    return service_->Run("AnyScaleFrontendService." + std::string(operation),
                         {"POST", "/", {}, body}, nullptr);
  }
  std::string Register(std::string_view more) {
    return Run("RegisterScalableTarget",
               R"({"ServiceNamespace":"dynamodb","ResourceId":"table/t","ScalableDimension":)"
               R"("dynamodb:table:ReadCapacityUnits")" +
                   std::string(more) + "}")
        .body;
  }
  const table::AutoScalingRules& rules() { return store_->Find("t")->descriptor.auto_scaling; }

  kv::MemoryEngine engine_;
  ManualClock clock_{1'700'000'000'000'000};
  SeededRandom random_{7};
  WorkerPool workers_{2, 100};
  std::unique_ptr<table::Store> store_;
  std::unique_ptr<ops::Environment> env_;
  std::unique_ptr<Service> service_;
};

TEST_F(ScalingTest, ATargetAndItsPolicyMakeARule) {
  EXPECT_NE(Register(R"(,"MinCapacity":3,"MaxCapacity":40)").find("ScalableTargetARN"),
            std::string::npos);
  ASSERT_TRUE(rules().read_target);
  EXPECT_FALSE(rules().read) << "no policy, no rule";
  const std::string policy =
      R"({"ServiceNamespace":"dynamodb","ResourceId":"table/t","ScalableDimension":)"
      R"("dynamodb:table:ReadCapacityUnits","PolicyName":"p","TargetTrackingScalingPolicyConfiguration":)"
      R"({"TargetValue":50.5,"ScaleInCooldown":60,"PredefinedMetricSpecification":)"
      R"({"PredefinedMetricType":"DynamoDBReadCapacityUtilization"}}})";
  EXPECT_EQ(Run("PutScalingPolicy", policy).status, 200);
  ASSERT_TRUE(rules().read);
  EXPECT_EQ(rules().read->min_units, 3);
  EXPECT_EQ(rules().read->max_units, 40);
  EXPECT_NEAR(rules().read->target, 0.505, 1e-9);
  EXPECT_EQ(rules().read->lower_cooldown_seconds, 60);
  // A later call changes only its members, and the rule follows the bounds.
  Register(R"(,"MaxCapacity":60)");
  EXPECT_EQ(rules().read->min_units, 3);
  EXPECT_EQ(rules().read->max_units, 60);
  Register(
      R"(,"SuspendedState":{"DynamicScalingInSuspended":true,"DynamicScalingOutSuspended":true})");
  EXPECT_FALSE(rules().read);
  EXPECT_FALSE(rules().write_target);
}

TEST_F(ScalingTest, ARefusedCallChangesNothing) {
  Register(R"(,"MinCapacity":3,"MaxCapacity":40)");
  const table::AutoScalingRules before = rules();
  for (const char* more :
       {R"(,"MinCapacity":41)", R"(,"MaxCapacity":2)", R"(,"MinCapacity":0)",
        R"(,"MinCapacity":1.5)", R"(,"MinCapacity":"1")", R"(,"MinCapacity":99999999999999999999)",
        R"(,"MaxCapacity":1e30)", R"(,"Tags":{"k{":""})", R"(,"Tags":{"k":1})", R"(,"Tags":[])",
        R"(,"RoleARN":"")", R"(,"SuspendedState":{"DynamicScalingInSuspended":true})",
        R"(,"SuspendedState":true)"}) {
    EXPECT_NE(Register(more).find("Exception"), std::string::npos) << more;
    EXPECT_TRUE(rules() == before) << more;
  }
}

TEST_F(ScalingTest, AnyBytesGetAnAnswer) {
  for (const char* operation : {"DescribeScalableTargets", "RegisterScalableTarget", "", "x"}) {
    for (const std::string& body :
         {std::string(), std::string("{"), std::string("[]"), std::string("null"),
          std::string(5000, '['), std::string(Service::kMostBodyBytes + 1, ' '),
          std::string("{\"a\":\"\xff\"}"), std::string(100, '\0')}) {
      const Reply reply = Run(operation, body);
      EXPECT_EQ(reply.status, 400) << operation << " " << body.substr(0, 20);
      EXPECT_NE(reply.body.find("__type"), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace stator::scaling
