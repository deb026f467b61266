// Whole servers, without their sockets, on one store in memory: what has to hold among processes.
#pragma once

#include <gtest/gtest.h>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/pump.h"
#include "kv/shared_memory.h"
#include "kv_tx/transaction_engine.h"
#include "server/instance.h"
#include "server/test_exchange.h"
#include "table/test_cluster.h"

namespace stator::server::test {

class InstancesTest : public testing::Test {
 protected:
  InstancesTest() { SetLogLevel(LogLevel::kOff); }
  ~InstancesTest() override {
    instances_.clear();
    SetLogLevel(LogLevel::kInfo);
  }

  // One more process, which serves.
  Instance& Add(TransactionSweep::Options sweep = {}) {
    ServeSettings settings;
    settings.engine = EngineKind::kRados;  // shows only
    settings.presence.forward_writes = false;
    settings.throttling.all = throughput::Throttling::kOff;
    Instance::Options options;
    options.port = static_cast<uint16_t>(8101 + instances_.size());
    options.sockets = [] { return http::ServerState(); };
    options.sweep = sweep;
    auto engine =
        std::make_unique<kv_tx::TransactionEngine>(memory_.Attach(), kv_tx::Options{.threads = 2});
    instances_.push_back(Instance::Open(settings, std::move(engine), std::move(options)).value());
    EXPECT_TRUE(instances_.back()->Start().ok());
    return *instances_.back();
  }

  http::Reply Ask(Instance& instance, std::string_view method, std::string_view target,
                  const std::string& operation = "", std::string body = "") {
    http::Request request;
    request.method = method;
    request.target = target;
    request.headers = {
        {"Host", "localhost:8000"},
        {"X-Stator-Management", "true"},
        {"X-Amz-Target", operation},
        {"Content-Type", "application/x-amz-json-1.0"},
        {"Authorization",
         "AWS4-HMAC-SHA256 Credential=AKID/20261101/us-east-1/dynamodb/aws4_request, "
         "SignedHeaders=host;x-amz-date, Signature=abc"},
        {"X-Amz-Date", "20261101T000000Z"}};
    const size_t size = body.size();
    body.append(http::kBodyPadding, ' ');
    request.body = std::string_view(body).substr(0, size);
    std::optional<http::Reply> reply;
    instance.HandlerOf(loop_)(std::make_unique<TestExchange>(loop_, std::move(request), &reply));
    loop_.RunUntil([&] { return reply.has_value(); });
    return *std::move(reply);
  }
  // Returns the tablet of its items.
  kv::Tablet CreateTable(Instance& instance, const std::string& name) {
    const http::Reply reply = Ask(
        instance, "POST", "/", "DynamoDB_20120810.CreateTable",
        R"({"TableName":")" + name +
            R"(","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],"BillingMode":"PAY_PER_REQUEST",)"
            R"("AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}]})");
    EXPECT_EQ(reply.status, 200) << reply.body;
    return instance.environment().store.Find(name)->descriptor.tablet();
  }

  // A process that began to put `text` under a key in all of the tablets an hour ago, and died
  // after so many changes of the store. Each tablet but the first takes one, and then the decision
  // one.
  void DieInATransaction(const std::vector<kv::Tablet>& tablets, const std::string& text,
                         int after) {
    ManualClock clock(SystemClock().NowMicros() - 3'600'000'000);
    auto mortal = std::make_unique<table::test::MortalEngine>(memory_.Attach());
    mortal->DieAfter(after);
    kv_tx::TransactionEngine engine(std::move(mortal), {.clock = &clock, .threads = 1});
    kv::Batch batch;
    for (const kv::Tablet tablet : tablets)
      batch.puts.push_back({tablet, KeyOf(text), std::string(kv::kStampBytes, '\0') + '\1' + text});
    (void)kv::ApplyAndWait(engine, std::move(batch)).ok();
  }
  static std::string KeyOf(const std::string& text) { return '\1' + std::string(16, 'h') + text; }
  // What a reader finds under that key.
  std::string TextIn(kv::Tablet tablet, const std::string& text) {
    kv_tx::TransactionEngine reader(memory_.Attach(), {.threads = 1});
    std::string value;
    const Result<bool> found = reader.Get(tablet, KeyOf(text), kv::Tier::kAny, &value);
    if (!found.ok()) return found.error().message();
    return *found ? value.substr(kv::kStampBytes + 1) : "absent";
  }

  // Waits for what happens by itself, for as long as the test may take.
  static void Await(const std::function<bool()>& happened) {
    while (!happened()) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }

  Pump loop_;
  kv::SharedMemory memory_;
  std::vector<std::unique_ptr<Instance>> instances_;
};

}  // namespace stator::server::test
