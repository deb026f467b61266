#include "server/front_door.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

#include "base/log.h"
#include "base/pump.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "server/test_network_engine.h"
#include "table/store.h"

namespace stator::server {
namespace {

class TestExchange final : public http::Exchange {
 public:
  TestExchange(Executor& loop, http::Request request, std::optional<http::Reply>* reply)
      : loop_(loop), request_(std::move(request)), reply_(reply) {}
  ~TestExchange() override { EXPECT_TRUE(loop_.IsCurrent()); }
  const http::Request& request() const override { return request_; }
  Executor& loop() override { return loop_; }
  void Send(http::Reply reply) override {
    EXPECT_TRUE(loop_.IsCurrent());
    reply_->emplace(std::move(reply));
  }

 private:
  Executor& loop_;
  http::Request request_;
  std::optional<http::Reply>* reply_;
};

// This thread is the loop.
class FrontDoorTest : public testing::Test {
 protected:
  FrontDoorTest() {
    SetLogLevel(LogLevel::kOff);
    auto slow = std::make_unique<kv::FaultEngine>(std::make_unique<kv::MemoryEngine>(), kv::FaultOptions{.delay_done = true});
    engine_ = std::make_unique<NetworkEngine>(std::move(slow));
    store_ = table::Store::Open(*engine_, clock_, workers_).value();
    environment_.emplace(*store_, clock_, random_, workers_, ops::Settings{});
    environment_->admission.Start({});
    heat_.emplace(*environment_, true);
    api::Registry registry;
    api::RegisterAll(&registry);
    service_.emplace(*environment_, std::move(registry), std::make_unique<api::ShapeAuthenticator>(false));
    management_.emplace(*environment_, metrics_, clock_control_, *heat_, [] { return 0; }, Management::Options{});
    door_.emplace(*service_, *management_, true);
    handler_ = door_->HandlerOf(loop_);
    engine_->ForbidThisThread();
  }
  ~FrontDoorTest() override {
    door_->Stop();
    management_->Stop();
    workers_.Stop();
    engine_.reset();
    SetLogLevel(LogLevel::kInfo);
  }

  http::Reply Ask(std::string_view method, std::string_view target, const std::string& operation, std::string body) {
    std::optional<http::Reply> reply;
    http::Request request;
    request.method = method;
    request.target = target;
    request.headers = {{"Content-Type", "application/x-amz-json-1.0"}, {"X-Amz-Target", operation}, {"X-Stator-Management", "true"}};
    const size_t size = body.size();
    body.append(http::kBodyPadding, ' ');
    request.body = std::string_view(body).substr(0, size);
    handler_(std::make_unique<TestExchange>(loop_, std::move(request), &reply));
    loop_.RunUntil([&] { return reply.has_value(); });
    return *std::move(reply);
  }
  void ExpectOk(const std::string& operation, const std::string& body, const std::string& part = "") {
    const http::Reply reply = Ask("POST", "/", "DynamoDB_20120810." + operation, body);
    ASSERT_EQ(reply.status, 200) << operation << ": " << reply.body;
    EXPECT_NE(reply.body.find(part), std::string::npos) << operation << ": " << reply.body;
    EXPECT_EQ(engine_->forbidden_calls(), 0) << operation;
  }

  Pump loop_;
  ManualClock clock_;
  SeededRandom random_{1};
  WorkerPool workers_{2, 100};
  std::unique_ptr<NetworkEngine> engine_;
  std::unique_ptr<table::Store> store_;
  std::optional<ops::Environment> environment_;
  std::optional<HeatHistories> heat_;
  Chores chores_{clock_};
  ClockControl clock_control_{clock_, &clock_, chores_};
  Metrics metrics_{[](std::string_view) { return true; }};
  std::optional<api::Service> service_;
  std::optional<Management> management_;
  std::optional<FrontDoor> door_;
  http::Handler handler_;
};

TEST_F(FrontDoorTest, TheLoopNeverWaitsForTheEngine) {
  ExpectOk("CreateTable", R"({"TableName":"music","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
      "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},
      "GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]})");
  ExpectOk("PutItem", R"({"TableName":"music","Item":{"pk":{"S":"a"},"g":{"S":"x"}}})");
  ExpectOk("GetItem", R"({"TableName":"music","Key":{"pk":{"S":"a"}}})", R"("x")");
  ExpectOk("Query", R"({"TableName":"music","IndexName":"by-g","KeyConditionExpression":"g=:g",
      "ExpressionAttributeValues":{":g":{"S":"x"}}})", R"("Count":1)");
  ExpectOk("Scan", R"({"TableName":"music"})", R"("Count":1)");
  ExpectOk("TransactWriteItems", R"({"ClientRequestToken":"t","TransactItems":[
      {"Update":{"TableName":"music","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n=:n","ExpressionAttributeValues":{":n":{"N":"1"}}}}]})");
  ExpectOk("DescribeTable", R"({"TableName":"music"})", R"("ItemCount":1)");
  ExpectOk("ListTables", "{}", R"(["music"])");
  ExpectOk("UpdateTimeToLive", R"({"TableName":"music","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"t"}})");
  ExpectOk("UpdateTable", R"({"TableName":"music","DeletionProtectionEnabled":false})");
  ExpectOk("DeleteTable", R"({"TableName":"music"})");
  EXPECT_EQ(Ask("POST", "/", "DynamoDB_20120810.DescribeTable", R"({"TableName":"music"})").status, 400);
}

TEST_F(FrontDoorTest, ManagementCallsDoNotWaitOnTheLoopEither) {
  ExpectOk("CreateTable", R"({"TableName":"music","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})");
  for (const char* target : {"/_stator/status", "/metrics", "/health/ready", "/_stator/tables/music/partitions",
                             "/_stator/tables/music/heat", "/_stator/clock", "/_stator/faults"}) {
    EXPECT_EQ(Ask("GET", target, "", "").status, 200) << target;
    EXPECT_EQ(engine_->forbidden_calls(), 0) << target;
  }
  for (const char* target : {"/_stator/tables/music/split", "/_stator/reset"}) {
    EXPECT_EQ(Ask("POST", target, "", "").status, 200) << target;
    EXPECT_EQ(engine_->forbidden_calls(), 0) << target;
  }
}

}  // namespace
}  // namespace stator::server
