// A store in memory behind the API, without sockets. For tests.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <optional>
#include <string>

#include "api/service.h"
#include "base/clock.h"
#include "base/executor.h"
#include "base/log.h"
#include "base/pump.h"
#include "kv/memory_engine.h"
#include "ops/context.h"
#include "simdjson.h"
#include "table/store.h"

namespace stator::management {

class TestServer {
 public:
  explicit TestServer(throughput::Throttling mode = throughput::Throttling::kEnforce) {
    SetLogLevel(LogLevel::kOff);
    store_ = table::Store::Open(engine_, clock_, workers_).value();
    environment_.emplace(*store_, clock_, random_, workers_, ops::Settings{});
    environment_->admission.Start({.all = mode});
  }
  ~TestServer() {
    workers_.Stop();
    store_->Stop();
    SetLogLevel(LogLevel::kInfo);
  }

  ops::Environment& environment() { return *environment_; }
  ManualClock& clock() { return clock_; }

  // The body of the answer; the status in *status.
  std::string Ask(const std::string& operation, const std::string& body, int* status = nullptr) {
    if (service_ == nullptr) {
      api::Registry registry;
      api::RegisterAll(&registry);
      service_ = std::make_unique<api::Service>(*environment_, std::move(registry),
                                                std::make_unique<api::ShapeAuthenticator>(false));
    }
    const std::string target = "DynamoDB_20120810." + operation;
    std::string padded = body + std::string(api::kBodyPadding, ' ');
    api::Incoming incoming;
    incoming.method = "POST";
    incoming.target = "/";
    incoming.headers.Add("Host", "localhost:8000");
    incoming.headers.Add("Content-Type", "application/x-amz-json-1.0");
    incoming.headers.Add("X-Amz-Target", target);
    incoming.body = std::string_view(padded).substr(0, body.size());
    std::optional<api::Outgoing> answer;
    service_->Handle(incoming, loop_, [&](api::Outgoing out) { answer = std::move(out); });
    loop_.RunUntil([&] { return answer.has_value(); });
    if (status != nullptr) *status = answer->status;
    return answer->body;
  }
  void Must(const std::string& operation, const std::string& body) {
    int status = 0;
    const std::string answer = Ask(operation, body, &status);
    ASSERT_EQ(status, 200) << operation << ": " << answer;
  }
  // Creates a table with partition key pk (S) and `units` of provisioned capacity, both ways.
  void Create(const std::string& name, int units, const std::string& more = "") {
    Must("CreateTable",
         R"({"TableName":")" + name +
             R"(","AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},)"
             R"({"AttributeName":"g","AttributeType":"N"}],)"
             R"("KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],)"
             R"("GlobalSecondaryIndexes":[{"IndexName":"by-g","KeySchema":[{"AttributeName":"g",)"
             R"("KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"},"ProvisionedThroughput":)"
             R"({"ReadCapacityUnits":9,"WriteCapacityUnits":9}}],)"
             R"("ProvisionedThroughput":{"ReadCapacityUnits":)" +
             std::to_string(units) + R"(,"WriteCapacityUnits":)" + std::to_string(units) + "}" +
             more + "}");
  }

 private:
  Pump loop_;
  ManualClock clock_;
  SeededRandom random_{1};
  WorkerPool workers_{2, 100};
  kv::MemoryEngine engine_;
  std::unique_ptr<table::Store> store_;
  std::optional<ops::Environment> environment_;
  std::unique_ptr<api::Service> service_;
};

// A document and what it was parsed from.
class Parsed {
 public:
  explicit Parsed(std::string text) : text_(std::move(text)) {
    EXPECT_EQ(parser_.parse(text_).get(root_), simdjson::SUCCESS) << text_;
  }
  // By JSON pointer; throws if it is not there.
  simdjson::dom::element operator[](std::string_view pointer) const {
    return root_.at_pointer(pointer).value();
  }
  std::string Text(std::string_view pointer) const {
    return std::string(std::string_view((*this)[pointer]));
  }
  int64_t Whole(std::string_view pointer) const { return int64_t((*this)[pointer]); }
  double Number(std::string_view pointer) const { return double((*this)[pointer]); }
  size_t Size(std::string_view pointer) const {
    return simdjson::dom::array((*this)[pointer]).size();
  }
  const std::string& text() const { return text_; }

 private:
  simdjson::dom::parser parser_;
  std::string text_;
  simdjson::dom::element root_;
};

}  // namespace stator::management
