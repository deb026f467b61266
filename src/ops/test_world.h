// For tests: operations over a store in memory, on an executor that the test's own thread pumps,
// and on an engine that can be told to lack data in memory and to refuse writes.
#pragma once

#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <gtest/gtest.h>

#include "base/memory_account.h"
#include "base/pump.h"
#include "base/random.h"
#include "expr/test_notation.h"
#include "kv/memory_engine.h"
#include "kv/partial_ahead.h"
#include "ops/operations.h"
#include "table/store.h"

namespace stator::ops {

// Memory whose reads with Tier::kMemory give up by chance: before the first key, or after some.
// Refuses writes on demand. Behind a network they give up always, unless a range was read ahead; of
// which by chance nothing came, some keys, all, or more than a loop should look at.
class StutteringEngine final : public kv::Engine, public kv::Rewinder {
 public:
  explicit StutteringEngine(uint64_t seed) : random_(seed) {}
  void set_stutter(double probability) { stutter_ = probability; }
  void set_network(bool network) { network_ = network; }
  // Batches that put or delete `key` are refused from now on.
  void Refuse(std::string key) { refused_ = std::move(key); }
  void RefuseAll(bool refuse) { refuse_all_ = refuse; }

  kv::Capabilities capabilities() const override {
    kv::Capabilities capabilities = memory_.capabilities();
    capabilities.blocking = network_;
    return capabilities;
  }
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override {
    if (tier == kv::Tier::kMemory && random_.Unit() < stutter_)
      return Error(ErrorCode::kWouldBlock, "cold");
    return memory_.Get(tablet, key, tier, value);
  }
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override {
    if (tier == kv::Tier::kMemory && random_.Unit() < stutter_)
      return Error(ErrorCode::kWouldBlock, "cold");
    return memory_.MultiGet(points, tier, values);
  }
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view, std::string_view)> visit) override {
    uint64_t left = 0;
    if (tier != kv::Tier::kMemory) {
      return memory_.Scan(range, tier, visit);
    } else if (network_) {
      left = kv::PartialAhead::Take(range);
      if (left == SIZE_MAX) return memory_.Scan(range, tier, visit);
    } else if (random_.Unit() >= stutter_) {
      return memory_.Scan(range, tier, visit);
    } else {
      left = random_.Below(40);
    }
    bool ended = false;
    TRY(memory_.Scan(range, tier, [&](std::string_view key, std::string_view value) {
      if (left-- == 0) return false;
      ended = !visit(key, value);
      return !ended;
    }));
    if (ended) return OkStatus();
    return Error(ErrorCode::kWouldBlock, "cold");
  }
  void ReadAhead(const kv::Range& range, AheadDone done) override {
    ++reads_ahead;
    std::unique_ptr<kv::Ahead> ahead;
    switch (random_.Below(5)) {
      case 0: return done(nullptr);
      case 1: ahead = std::make_unique<kv::PartialAhead>(range, 0, 0); break;
      case 2: ahead = std::make_unique<kv::PartialAhead>(range, 1 + random_.Below(40), 1000); break;
      case 3: ahead = std::make_unique<kv::PartialAhead>(range, SIZE_MAX, 1000); break;
      default: ahead = std::make_unique<kv::PartialAhead>(range, SIZE_MAX, 1 << 20);
    }
    if (random_.Below(4) == 0) return done(std::move(ahead));
    UniqueFunction<void()> later = [ahead = std::move(ahead), done = std::move(done)]() mutable {
      done(std::move(ahead));
    };
    EXPECT_TRUE(network_thread_.TryPost(later));
  }
  int reads_ahead = 0;
  void Apply(kv::Batch batch, kv::ApplyDone done) override {
    bool refuse = refuse_all_;
    for (const kv::Put& put : batch.puts) refuse |= !refused_.empty() && put.key == refused_;
    for (const kv::Delete& key : batch.deletes) refuse |= !refused_.empty() && key.key == refused_;
    if (refuse) return done(Error(ErrorCode::kUnavailable, "refused"));
    memory_.Apply(std::move(batch), std::move(done));
  }
  kv::Rewinder* rewinder() override { return this; }
  std::unique_ptr<kv::RewindPoint> SetPoint(std::vector<kv::Watched> watched,
                                            std::shared_ptr<kv::RewindBudget> budget) override {
    return memory_.SetPoint(std::move(watched), std::move(budget));
  }
  Status Health() const override { return OkStatus(); }
  uint64_t ApproximateBytes(kv::Tablet tablet) const override {
    return memory_.ApproximateBytes(tablet);
  }
  std::map<std::string, double> Statistics() const override { return {}; }
  Status Checkpoint(const std::string& directory) override { return memory_.Checkpoint(directory); }

 private:
  kv::MemoryEngine memory_;
  SeededRandom random_;
  std::atomic<double> stutter_{0};
  std::atomic<bool> network_{false};
  WorkerPool network_thread_{1, 1000};
  std::string refused_;
  bool refuse_all_ = false;
};

// A provisioned table with key `pk`, S, and a global index `index_name` by `attribute`, S, that
// projects everything.
inline CreateTableRequest IndexedTable(const std::string& name, ProvisionedThroughput units,
                                       const std::string& index_name, const std::string& attribute,
                                       ProvisionedThroughput index_units) {
  CreateTableRequest request;
  request.table_name = name;
  request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
  if (attribute != "pk")
    request.attribute_definitions->push_back({attribute, ScalarAttributeType::kS});
  request.key_schema = {{"pk", KeyType::kHash}};
  request.provisioned_throughput = units;
  GlobalSecondaryIndex index;
  index.index_name = index_name;
  index.key_schema = {{attribute, KeyType::kHash}};
  index.projection.projection_type = ProjectionType::kAll;
  index.provisioned_throughput = index_units;
  request.global_secondary_indexes = {index};
  return request;
}

struct TestWorld {
  explicit TestWorld(uint64_t seed = 1, int threads = 1, size_t max_queued = 100,
                     bool measure = true)
      : engine(seed),
        random(seed),
        workers(threads, max_queued),
        store(table::Store::Open(engine, clock, workers).value()),
        env{*store, clock, random, workers, {}} {
    if (measure) env.admission.Start({});
  }
  ~TestWorld() { workers.Stop(); }

  // Runs an operation to its end; under a client's `name` for it, if it is to meet faults.
  template <typename Response, typename Request>
  Result<Response> Call(void (*operation)(Context&, Request, Callback<Response>), Request request,
                        std::string_view name = "") {
    std::optional<Result<Response>> answer;
    Context context{env, loop, name};
    context.memory = memory;
    operation(context, std::move(request),
              [&answer](Result<Response> response) { answer.emplace(std::move(response)); });
    while (!answer) loop.RunOne();
    return std::move(*answer);
  }

  // Runs an operation for a caller of another account than the default.
  template <typename Response, typename Request>
  Result<Response> CallAs(std::string account,
                          void (*operation)(Context&, Request, Callback<Response>),
                          Request request) {
    std::optional<Result<Response>> answer;
    Context context{env, loop};
    context.account = std::move(account);
    context.tells_accounts = true;
    operation(context, std::move(request),
              [&answer](Result<Response> response) { answer.emplace(std::move(response)); });
    while (!answer) loop.RunOne();
    return std::move(*answer);
  }

  // A table with key `pk`, S, and, if given, a sort key `sk`.
  table::TablePtr Create(const std::string& name, std::optional<ScalarAttributeType> sort = {},
                         int64_t partitions = 1) {
    CreateTableRequest request;
    request.table_name = name;
    request.key_schema = {{"pk", KeyType::kHash}};
    request.attribute_definitions = {{"pk", ScalarAttributeType::kS}};
    if (sort) {
      request.key_schema->push_back({"sk", KeyType::kRange});
      request.attribute_definitions->push_back({"sk", *sort});
    }
    request.provisioned_throughput = ProvisionedThroughput{3000 * partitions, 1};
    EXPECT_TRUE(Call(CreateTable, std::move(request)).ok());
    return store->Find(name);
  }
  Status Put(const std::string& table, std::string item) {
    PutItemRequest request;
    request.table_name = table;
    request.item.bytes = std::move(item);
    const auto answer = Call(PutItem, std::move(request));
    return answer.ok() ? OkStatus() : Status(answer.error());
  }

  StutteringEngine engine;
  ManualClock clock;
  SeededRandom random;
  WorkerPool workers;
  std::unique_ptr<table::Store> store;
  Environment env;
  Pump loop;
  MemoryLease* memory = nullptr;  // of the requests
};

}  // namespace stator::ops
