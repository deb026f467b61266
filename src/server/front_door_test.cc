#include "server/front_door.h"

#include <gtest/gtest.h>

#include <chrono>
#include <deque>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/log.h"
#include "base/pump.h"
#include "expr/test_notation.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "kv/shared_memory.h"
#include "kv_tx/transaction_engine.h"
#include "scaling/service.h"
#include "server/scaling_door.h"
#include "server/test_exchange.h"
#include "server/test_network_engine.h"
#include "table/key_encoding.h"
#include "table/store.h"
#include "triggers/service.h"

namespace stator::server {
namespace {

// Lives and answers on the loop's thread only.
class LoopExchange final : public TestExchange {
 public:
  using TestExchange::TestExchange;
  ~LoopExchange() override { EXPECT_TRUE(loop().IsCurrent()); }
  void Send(http::Reply reply) override {
    EXPECT_TRUE(loop().IsCurrent());
    TestExchange::Send(std::move(reply));
  }
};

// This thread is the loop.
class FrontDoorTest : public testing::Test {
 protected:
  FrontDoorTest() : FrontDoorTest(std::make_unique<kv::MemoryEngine>()) {}
  explicit FrontDoorTest(std::unique_ptr<kv::Engine> engine) {
    SetLogLevel(LogLevel::kOff);
    auto slow =
        std::make_unique<kv::FaultEngine>(std::move(engine), kv::FaultOptions{.delay_done = true});
    engine_ = std::make_unique<NetworkEngine>(std::move(slow));
    store_ = table::Store::Open(*engine_, clock_, workers_).value();
    environment_.reset(new ops::Environment{*store_, clock_, random_, workers_, ops::Settings{}});
    environment_->admission.Start({});
    heat_.emplace(*environment_, true);
    api::Registry registry;
    api::RegisterAll(&registry);
    service_.emplace(*environment_, std::move(registry),
                     std::make_unique<api::ShapeAuthenticator>(false));
    management_.emplace(
        *environment_, metrics_, clock_control_, *heat_, [] { return http::ServerState(); },
        Management::Options{});
    door_.emplace(*service_, *management_, *environment_, nullptr, nullptr, nullptr, true);
    handler_ = door_->HandlerOf(loop_);
    engine_->ForbidThisThread();
  }
  ~FrontDoorTest() override {
    door_->Stop();
    management_->Stop();
    workers_.Stop();
    store_->Stop();
    engine_.reset();
    SetLogLevel(LogLevel::kInfo);
  }

  http::Reply Ask(std::string_view method, std::string_view target, const std::string& operation,
                  std::string body) {
    Asked asked{operation, std::move(body), std::nullopt};
    Send(method, target, &asked);
    loop_.RunUntil([&] { return asked.reply.has_value(); });
    return *std::move(asked.reply);
  }
  // Stays where it is until it has a reply.
  struct Asked {
    std::string operation;
    std::string body;
    std::optional<http::Reply> reply;
  };
  void Send(std::string_view method, std::string_view target, Asked* asked) {
    http::Request request;
    request.method = method;
    request.target = target;
    request.headers = {{"Host", "localhost:8000"},
                       {"Content-Type", "application/x-amz-json-1.0"},
                       {"X-Amz-Target", asked->operation},
                       {"X-Stator-Management", "true"}};
    if (asked->operation.empty()) request.headers.erase(request.headers.begin() + 2);
    const size_t size = asked->body.size();
    asked->body.append(http::kBodyPadding, ' ');
    request.body = std::string_view(asked->body).substr(0, size);
    auto exchange = std::make_unique<LoopExchange>(loop_, std::move(request), &asked->reply);
    exchange->came_to = listener_;
    handler_(std::move(exchange));
  }
  void ExpectOk(const std::string& operation, const std::string& body,
                const std::string& part = "") {
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
  std::unique_ptr<ops::Environment> environment_;
  std::optional<HeatHistories> heat_;
  Chores chores_{clock_};
  ClockControl clock_control_{clock_, &clock_, chores_};
  Metrics metrics_{[](std::string_view) { return true; }};
  std::optional<api::Service> service_;
  std::optional<Management> management_;
  std::optional<FrontDoor> door_;
  http::Handler handler_;
  int listener_ = 0;  // that Ask comes to
};

class PlacesTest : public FrontDoorTest {
 protected:
  void Place(bool console, FrontDoor::ManagementPlace place) {
    door_->Stop();
    door_.emplace(*service_, *management_, *environment_, nullptr, nullptr, nullptr, true, console,
                  place);
    handler_ = door_->HandlerOf(loop_);
  }
  int Get(std::string_view target, int listener) {
    listener_ = listener;
    return Ask("GET", target, "", "").status;
  }
  int ListTables(int listener) {
    listener_ = listener;
    return Ask("POST", "/", "DynamoDB_20120810.ListTables", "{}").status;
  }
};
constexpr const char* kManaged[] = {"/_stator/status", "/_stator/", "/metrics", "/health/live",
                                    "/health/ready"};

TEST_F(PlacesTest, ManagementOnItsOwnListenerIsOnNoOther) {
  Place(/*console=*/true, {.listener = 1});
  for (const char* target : kManaged) {
    EXPECT_EQ(Get(target, 1), 200) << target;
    EXPECT_EQ(Get(target, 0), 404) << target;
    EXPECT_EQ(Get(target, 2), 404) << target;
  }
  EXPECT_EQ(Get("/console/", 1), 200);
  EXPECT_EQ(Get("/console/", 0), 404);
  EXPECT_EQ(Get("/", 0), 200);  // as the service answers
  // The console asks the API on the listener that it came from.
  EXPECT_EQ(ListTables(0), 200);
  EXPECT_EQ(ListTables(1), 200);
}

TEST_F(PlacesTest, ManagementAloneIsOnItsListenerWithoutAConsole) {
  Place(/*console=*/false, {.listener = 1});
  EXPECT_EQ(Get("/_stator/status", 1), 200);
  EXPECT_EQ(ListTables(1), 404);
  EXPECT_EQ(Get("/", 1), 404);
  EXPECT_EQ(ListTables(0), 200);
}

TEST_F(PlacesTest, ManagementOffLeavesHealth) {
  Place(/*console=*/true, {.on = false});
  for (const char* target : {"/_stator/status", "/_stator/", "/metrics", "/console/"})
    EXPECT_EQ(Get(target, 0), 404) << target;
  EXPECT_EQ(Get("/health/live", 0), 200);
  EXPECT_EQ(Get("/health/ready", 0), 200);
  EXPECT_EQ(ListTables(0), 200);
}

TEST_F(FrontDoorTest, TheLoopNeverWaitsForTheEngine) {
  ExpectOk("CreateTable", R"({"TableName":"music","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},{"AttributeName":"g","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
      "StreamSpecification":{"StreamEnabled":true,"StreamViewType":"KEYS_ONLY"},
      "GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]})");
  ExpectOk("PutItem", R"({"TableName":"music","Item":{"pk":{"S":"a"},"g":{"S":"x"}}})");
  ExpectOk("GetItem", R"({"TableName":"music","Key":{"pk":{"S":"a"}}})", R"("x")");
  ExpectOk("Query", R"({"TableName":"music","IndexName":"by-g","KeyConditionExpression":"g=:g",
      "ExpressionAttributeValues":{":g":{"S":"x"}}})",
           R"("Count":1)");
  ExpectOk("Scan", R"({"TableName":"music"})", R"("Count":1)");
  ExpectOk("TransactWriteItems", R"({"ClientRequestToken":"t","TransactItems":[
      {"Update":{"TableName":"music","Key":{"pk":{"S":"a"}},"UpdateExpression":"SET n=:n","ExpressionAttributeValues":{":n":{"N":"1"}}}}]})");
  ExpectOk("DescribeTable", R"({"TableName":"music"})", R"("ItemCount":1)");
  ExpectOk("ListTables", "{}", R"(["music"])");
  ExpectOk(
      "UpdateTimeToLive",
      R"({"TableName":"music","TimeToLiveSpecification":{"Enabled":true,"AttributeName":"t"}})");
  ExpectOk("UpdateTable", R"({"TableName":"music","DeletionProtectionEnabled":false})");
  ExpectOk("DeleteTable", R"({"TableName":"music"})");
  EXPECT_EQ(Ask("POST", "/", "DynamoDB_20120810.DescribeTable", R"({"TableName":"music"})").status,
            400);
}

TEST_F(FrontDoorTest, LongBodiesAreDecodedByThreadsOfTheirOwn) {
  ExpectOk("CreateTable", R"({"TableName":"music","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})");
  const std::string text(300'000, 'x');
  ExpectOk("PutItem",
           R"({"TableName":"music","Item":{"pk":{"S":"a"},"v":{"S":")" + text + R"("}}})");
  ExpectOk("GetItem", R"({"TableName":"music","Key":{"pk":{"S":"a"}}})", text);
  EXPECT_EQ(Ask("POST", "/", "DynamoDB_20120810.PutItem", text).status, 400);
  ExpectOk("BatchGetItem", R"({"RequestItems":{"music":{"Keys":[{"pk":{"S":"a"}}]}}})", text);
}

// More of them than there are threads.
TEST_F(FrontDoorTest, LongBodiesThatWaitForAnItemHoldNoOthersUp) {
  ExpectOk("CreateTable", R"({"TableName":"music","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})");
  const auto put = [](const std::string& key) {
    return Asked{"DynamoDB_20120810.PutItem",
                 R"({"TableName":"music","Item":{"pk":{"S":")" + key + R"("},"v":{"S":")" +
                     std::string(200'000, 'x') + R"("}}})",
                 std::nullopt};
  };
  // A write of the item that does not end before `run` is called.
  std::promise<UniqueFunction<void()>> runs;
  std::future<UniqueFunction<void()>> run = runs.get_future();
  std::vector<table::WriteTarget> targets;
  const table::TablePtr table = store_->Find("music");
  targets.push_back(
      {table, table::EncodeItemKey(table->key_schema(),
                                   model::ItemView(expr::notation::Item("{pk: 'hot'}")))});
  store_->Write(
      std::move(targets),
      [](const auto&) -> Result<std::vector<table::Change>> {
        return std::vector<table::Change>(1);
      },
      [](Status status) { EXPECT_TRUE(status.ok()); }, nullptr,
      [&runs](const auto&, UniqueFunction<void()> rest) {
        runs.set_value(std::move(rest));
        return true;
      });
  UniqueFunction<void()> finish = run.get();
  // So that a failure is one, and no test that hangs.
  std::promise<void> others_done;
  bool in_vain = false;
  std::thread watch([&, done = others_done.get_future()] {
    in_vain = done.wait_for(std::chrono::minutes(2)) != std::future_status::ready;
    finish();
  });
  std::deque<Asked> waiting;
  for (int i = 0; i < 20; ++i) Send("POST", "/", &waiting.emplace_back(put("hot")));
  Asked other = put("other");
  Send("POST", "/", &other);
  loop_.RunUntil([&] { return other.reply.has_value(); });
  EXPECT_EQ(other.reply->status, 200);
  others_done.set_value();
  watch.join();
  EXPECT_FALSE(in_vain);
  for (Asked& asked : waiting) {
    loop_.RunUntil([&] { return asked.reply.has_value(); });
    EXPECT_EQ(asked.reply->status, 200);
  }
}

TEST_F(FrontDoorTest, CallsOfOtherApisThatFindNoThreadAreToComeAgain) {
  scaling::Service service(*environment_, nullptr, nullptr, false);
  ScalingDoor scaling(service, HostRules());
  scaling.Stop();
  std::optional<http::Reply> reply;
  http::Request request;
  request.method = "POST";
  request.target = "/";
  request.headers = {{"Host", "localhost:8000"},
                     {"X-Amz-Target", "AnyScaleFrontendService.DescribeScalableTargets"}};
  scaling.Handle(std::make_unique<TestExchange>(loop_, std::move(request), &reply));
  ASSERT_TRUE(reply);
  EXPECT_EQ(reply->status, 503) << reply->body;
  EXPECT_NE(reply->body.find("ServiceUnavailableException"), std::string::npos) << reply->body;
  EXPECT_EQ(triggers::Service::RenderError(MemoryRefusal()).status, 503);
}

TEST_F(FrontDoorTest, ManagementCallsDoNotWaitOnTheLoopEither) {
  ExpectOk("CreateTable", R"({"TableName":"music","BillingMode":"PAY_PER_REQUEST",
      "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],"KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}]})");
  for (const char* target :
       {"/_stator/status", "/metrics", "/health/ready", "/_stator/tables/music/partitions",
        "/_stator/tables/music/heat", "/_stator/clock", "/_stator/faults"}) {
    EXPECT_EQ(Ask("GET", target, "", "").status, 200) << target;
    EXPECT_EQ(engine_->forbidden_calls(), 0) << target;
  }
  for (const char* target : {"/_stator/tables/music/split", "/_stator/reset"}) {
    EXPECT_EQ(Ask("POST", target, "", "").status, 200) << target;
    EXPECT_EQ(engine_->forbidden_calls(), 0) << target;
  }
}

// Another process has a store on the same memory, and this one hears nothing of it.
struct SharedStore {
  std::unique_ptr<kv::Engine> Attach() {
    return std::make_unique<kv_tx::TransactionEngine>(memory.Attach());
  }
  kv::SharedMemory memory;
};
class SharedFrontDoorTest : private SharedStore, public FrontDoorTest {
 protected:
  SharedFrontDoorTest()
      : FrontDoorTest(SharedStore::Attach()), other_engine_(SharedStore::Attach()) {
    engine_->bulletin()->Listen(nullptr);
    other_ = table::Store::Open(*other_engine_, clock_, workers_).value();
  }
  ~SharedFrontDoorTest() override {
    other_->Stop();
    other_.reset();
  }

  void Create(const std::string& name) {
    table::TableDescriptor d;
    d.name = name;
    d.table_id = "id of " + name;
    d.billing_mode = table::BillingMode::kPayPerRequest;
    d.key_schema.partition = {"pk", model::Type::kS};
    d.attribute_definitions = {d.key_schema.partition};
    std::promise<bool> made;
    other_->Create(std::move(d),
                   [&](Result<table::TablePtr> table) { made.set_value(table.ok()); });
    ASSERT_TRUE(made.get_future().get());
  }
  void Drop(const std::string& name) {
    std::promise<bool> gone;
    other_->Drop(
        name, [](const table::TableDescriptor&) { return OkStatus(); },
        [&](Result<table::TablePtr> table) { gone.set_value(table.ok()); });
    ASSERT_TRUE(gone.get_future().get());
  }

  std::unique_ptr<kv::Engine> other_engine_;
  std::unique_ptr<table::Store> other_;
};

TEST_F(SharedFrontDoorTest, WhatAnotherProcessHasMadeIsThere) {
  Create("music");
  ExpectOk("PutItem", R"({"TableName":"music","Item":{"pk":{"S":"a"}}})");
  Create("films");
  ExpectOk("BatchWriteItem",
           R"({"RequestItems":{"films":[{"PutRequest":{"Item":{"pk":{"S":"b"}}}}]}})");
  Create("books");
  ExpectOk("BatchExecuteStatement",
           R"({"Statements":[{"Statement":"insert into books value {'pk':'c'}"}]})",
           R"("TableName":"books")");
  Create("plays");
  ExpectOk("ListTables", "{}", R"(["books","films","music","plays"])");
}

TEST_F(SharedFrontDoorTest, WhatAnotherProcessHasDroppedIsGone) {
  Create("music");
  ExpectOk("PutItem", R"({"TableName":"music","Item":{"pk":{"S":"a"}}})");
  Drop("music");
  http::Reply reply = Ask("POST", "/", "DynamoDB_20120810.GetItem",
                          R"({"TableName":"music","Key":{"pk":{"S":"a"}}})");
  EXPECT_EQ(reply.status, 400);
  EXPECT_NE(reply.body.find("ResourceNotFoundException"), std::string::npos) << reply.body;
  Create("music");
  ExpectOk("PutItem", R"({"TableName":"music","Item":{"pk":{"S":"b"}}})");
  // One that has taken its name is another table.
  Drop("music");
  Create("music");
  ExpectOk("GetItem", R"({"TableName":"music","Key":{"pk":{"S":"b"}}})", "{}");
  ExpectOk("UpdateItem",
           R"({"TableName":"music","Key":{"pk":{"S":"b"}},"UpdateExpression":"SET n=:n",
      "ExpressionAttributeValues":{":n":{"N":"1"}}})");
  Drop("music");
  reply = Ask("POST", "/", "DynamoDB_20120810.PutItem",
              R"({"TableName":"music","Item":{"pk":{"S":"a"}}})");
  EXPECT_NE(reply.body.find("ResourceNotFoundException"), std::string::npos) << reply.body;
  EXPECT_EQ(engine_->forbidden_calls(), 0);
}

}  // namespace
}  // namespace stator::server
