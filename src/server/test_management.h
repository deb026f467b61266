// Management calls of a server in memory, for tests.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/pump.h"
#include "kv/fault_engine.h"
#include "kv/memory_engine.h"
#include "server/management.h"
#include "server/test_exchange.h"
#include "table/store.h"

namespace stator::server {

inline const std::vector<http::Header> kGood = {{"X-Stator-Management", "true"}};

class ManagementTest : public testing::Test {
 protected:
  void SetUp() override {
    SetLogLevel(LogLevel::kOff);
    char name[] = "/tmp/stator-init-XXXXXX";
    directory_ = mkdtemp(name);
  }
  void TearDown() override {
    SetLogLevel(LogLevel::kInfo);
    std::filesystem::remove_all(directory_);
    chores_.Stop();
    workers_.Stop();
    engine_.reset();
  }
  void WriteFile(const std::string& name, const std::string& text) {
    std::ofstream(directory_ / name) << text;
  }
  void WriteMusic() {
    WriteFile("Music.table.json",
              R"({"TableName":"Music","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"}],
        "AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"}],
        "BillingMode":"PAY_PER_REQUEST"})");
    std::string lines;
    for (int i = 0; i < 600; ++i)
      lines += R"({"Item":{"pk":{"S":"k)" + std::to_string(i) +
               R"("},"n":{"N":"1"}}})"
               "\n";
    WriteFile("Music.items.jsonl", "\n" + lines + "  \n");
  }
  http::Reply Send(Management& management, std::string_view method, std::string_view target,
                   std::vector<http::Header> headers = {}, std::string_view body = "",
                   std::string_view host = "localhost:8000") {
    std::optional<http::Reply> reply;
    http::Request request;
    request.method = method;
    request.target = target;
    request.headers = std::move(headers);
    request.headers.push_back({"Host", host});
    request.body = body;
    management.Handle(std::make_unique<TestExchange>(loop_, std::move(request), &reply));
    loop_.RunUntil([&] { return reply.has_value(); });
    return std::move(*reply);
  }
  std::unique_ptr<Management> Make(const std::string& init_dir = "",
                                   const std::string& store_name = "") {
    Management::Options options;
    options.engine_name = "memory";
    options.init_dir = init_dir;
    options.store_name = store_name;
    return std::make_unique<Management>(
        environment_, metrics_, clock_control_, heat_,
        [this] {
          http::ServerState state;
          state.connections = 3;
          state.max_connections = 20;
          state.refused_connections = 5;
          state.inflight_bytes = inflight_bytes_;
          state.max_inflight_bytes = 1 << 20;
          return state;
        },
        std::move(options));
  }
  int64_t ItemsOf(const std::string& table) { return store_->Counts(*store_->Find(table))->items; }

  int64_t inflight_bytes_ = 0;
  std::filesystem::path directory_;
  Pump loop_;
  ManualClock clock_;
  SeededRandom random_{1};
  WorkerPool workers_{1, 100};
  std::unique_ptr<kv::FaultEngine> engine_ = std::make_unique<kv::FaultEngine>(
      std::make_unique<kv::MemoryEngine>(), kv::FaultOptions{.delay_done = true});
  std::unique_ptr<table::Store> store_ = table::Store::Open(*engine_, clock_, workers_).value();
  ops::Environment environment_{*store_, clock_, random_, workers_, {}};
  HeatHistories heat_{environment_, true};
  Chores chores_{clock_};
  ClockControl clock_control_{clock_, &clock_, chores_};
  Metrics metrics_{[this](std::string_view name) { return store_->Find(name) != nullptr; }};
};

}  // namespace stator::server
