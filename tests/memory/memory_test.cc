// Fails the n-th allocation of a request, for every n, while it is decoded, evaluated and rendered.
//
// Each request runs through api::Service on the memory engine until an n is reached at which no
// allocation fails any more. Its answer is the right one, or 500 (status 0 here: the callback was
// destroyed, and the transport answers 500), and nothing else; the item of a single write is whole
// afterwards, old or new; latches are free, because the next write of the same key is answered; and
// nothing leaks. Inside of a MustNotFail, where a failure ends the process, none is made to fail.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <new>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "api/auth.h"
#include "api/service.h"
#include "base/log.h"
#include "base/out_of_memory.h"
#include "base/pump.h"
#include "base/random.h"
#include "kv/memory_engine.h"
#include "ops/operations.h"
#include "table/store.h"

namespace {

std::atomic<int64_t> until_failure{-1};  // allocations left; negative: none fails
std::atomic<int64_t> living{0};

bool Fails() {
  if (until_failure.load(std::memory_order_relaxed) < 0) return false;
  if (stator::MustNotFail::current() != nullptr) return false;
  return until_failure.fetch_sub(1) == 0;
}

void* Allocate(size_t size, size_t alignment) {
  if (Fails()) return nullptr;
  void* memory =
      alignment <= alignof(std::max_align_t)
          ? std::malloc(size == 0 ? 1 : size)
          : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
  if (memory != nullptr) living.fetch_add(1, std::memory_order_relaxed);
  return memory;
}

void* AllocateOrThrow(size_t size, size_t alignment) {
  void* memory = Allocate(size, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

void Free(void* memory) {
  if (memory == nullptr) return;
  living.fetch_sub(1, std::memory_order_relaxed);
  std::free(memory);
}

constexpr size_t kNatural = alignof(std::max_align_t);

}  // namespace

void* operator new(size_t size) { return AllocateOrThrow(size, kNatural); }
void* operator new[](size_t size) { return AllocateOrThrow(size, kNatural); }
void* operator new(size_t size, const std::nothrow_t&) noexcept { return Allocate(size, kNatural); }
void* operator new[](size_t size, const std::nothrow_t&) noexcept {
  return Allocate(size, kNatural);
}
void* operator new(size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void* operator new[](size_t size, std::align_val_t alignment) {
  return AllocateOrThrow(size, static_cast<size_t>(alignment));
}
void operator delete(void* memory) noexcept { Free(memory); }
void operator delete[](void* memory) noexcept { Free(memory); }
void operator delete(void* memory, size_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t) noexcept { Free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete[](void* memory, size_t, std::align_val_t) noexcept { Free(memory); }
void operator delete(void* memory, const std::nothrow_t&) noexcept { Free(memory); }
void operator delete[](void* memory, const std::nothrow_t&) noexcept { Free(memory); }

namespace stator {
namespace {

struct Answer {
  int status = 0;
  std::string body;
};

class MemoryTest : public ::testing::Test {
 protected:
  MemoryTest()
      : random_(1),
        workers_(2, 100),
        store_(table::Store::Open(engine_, clock_, workers_).value()),
        environment_{*store_, clock_, random_, workers_, {}} {
    SetLogLevel(LogLevel::kOff);
    api::Registry registry;
    api::RegisterAll(&registry);
    service_ = std::make_unique<api::Service>(environment_, std::move(registry),
                                              std::make_unique<api::ShapeAuthenticator>());
    ::alarm(300);  // a latch that stays taken hangs here
    Must("CreateTable",
         R"({"TableName":"orders","KeySchema":[{"AttributeName":"pk","KeyType":"HASH"},)"
         R"({"AttributeName":"sk","KeyType":"RANGE"}],"BillingMode":"PAY_PER_REQUEST",)"
         R"("AttributeDefinitions":[{"AttributeName":"pk","AttributeType":"S"},)"
         R"({"AttributeName":"sk","AttributeType":"N"},{"AttributeName":"g","AttributeType":"S"}],)"
         R"("GlobalSecondaryIndexes":[{"IndexName":"by_g","KeySchema":[{"AttributeName":"g",)"
         R"("KeyType":"HASH"}],"Projection":{"ProjectionType":"ALL"}}]})");
    Reset();
  }
  ~MemoryTest() override {
    workers_.Stop();
    ::alarm(0);
  }

  Answer Send(const std::string& operation, const std::string& json) {
    std::string body = json;
    body.append(api::kBodyPadding, '\0');
    api::Incoming request;
    request.method = "POST";
    request.target = "/";
    const std::string target = "DynamoDB_20120810." + operation;
    request.headers.Add("content-type", "application/x-amz-json-1.0");
    request.headers.Add("x-amz-target", target);
    request.headers.Add("x-amz-date", "20261101T000000Z");
    request.headers.Add(
        "authorization",
        "AWS4-HMAC-SHA256 Credential=AKID/20261101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=host;x-amz-date, Signature=abc");
    request.body = std::string_view(body).substr(0, json.size());
    Answer answer;
    // Destroyed with the callback, called or not.
    struct Ended {
      explicit Ended(bool* ended) : ended(ended) {}
      Ended(Ended&& other) noexcept : ended(std::exchange(other.ended, nullptr)) {}
      ~Ended() {
        if (ended != nullptr) *ended = true;
      }
      bool* ended;
    };
    bool ended = false;
    UniqueFunction<void(api::Outgoing)> done = [&answer,
                                                end = Ended(&ended)](api::Outgoing outgoing) {
      answer.status = outgoing.status;
      answer.body = std::move(outgoing.body);
    };
    until_failure.store(fail_at_);
    service_->Handle(request, loop_, std::move(done));
    while (!ended) RunOrOutOfMemory("a step", [this] { loop_.RunOne(); });
    left_ = until_failure.exchange(-1);
    return answer;
  }

  std::string Must(const std::string& operation, const std::string& json) {
    const Answer answer = Send(operation, json);
    EXPECT_EQ(answer.status, 200) << operation << " " << json << " " << answer.body;
    return answer.body;
  }

  // The items that every request finds.
  void Reset() {
    for (int i = 0; i < 3; ++i) {
      Must("PutItem",
           R"({"TableName":"orders","Item":{"pk":{"S":"a"},"sk":{"N":")" + std::to_string(i) +
               R"("},"g":{"S":"group"},"n":{"N":"5"},"text":{"S":"a text that is longer )"
               R"(than the small strings"},"l":{"L":[{"N":"1"},{"S":"x"}]},)"
               R"("s":{"SS":["p","q"]},"m":{"M":{"k":{"S":"v"}}}}})");
    }
    Must("DeleteItem", R"({"TableName":"orders","Key":{"pk":{"S":"b"},"sk":{"N":"1"}}})");
    Must("DeleteItem", R"({"TableName":"orders","Key":{"pk":{"S":"b"},"sk":{"N":"2"}}})");
  }
  std::string ItemAt(const std::string& pk, const std::string& sk) {
    return Must("GetItem", R"({"TableName":"orders","ConsistentRead":true,"Key":{"pk":{"S":")" +
                               pk + R"("},"sk":{"N":")" + sk + R"("}}})");
  }

  // Runs the request once for each allocation that it makes. `pk`, `sk`: the item that it writes;
  // empty for reads and for writes of several items that are not one transaction.
  void FailEach(const std::string& operation, const std::string& json, int status = 200,
                const std::string& pk = "", const std::string& sk = "") {
    SCOPED_TRACE(operation);
    Reset();
    const std::string before = pk.empty() ? "" : ItemAt(pk, sk);
    const Answer right = Send(operation, json);
    ASSERT_EQ(right.status, status) << right.body;
    const std::string after = pk.empty() ? "" : ItemAt(pk, sk);
    Reset();
    const int64_t lived = living.load();
    int failures = 0;
    for (int n = 0;; ++n) {
      ASSERT_LT(n, 20'000);
      fail_at_ = n;
      const Answer answer = Send(operation, json);
      const bool failed = left_ < 0;
      fail_at_ = -1;
      if (answer.status != 0 && answer.status != 500) {
        EXPECT_EQ(answer.status, right.status) << "allocation " << n << ": " << answer.body;
        // BatchWriteItem leaves a write for which there was no memory to its client.
        if (!failed || !answer.body.starts_with(R"({"UnprocessedItems":{"orders":[{)")) {
          EXPECT_EQ(answer.body, right.body) << "allocation " << n;
        }
      } else {
        EXPECT_TRUE(failed);
        ++failures;
      }
      if (!pk.empty()) {
        const std::string item = ItemAt(pk, sk);
        EXPECT_TRUE(item == before || item == after) << "allocation " << n << ": " << item;
        // The client is told that it was written only if it was.
        if (answer.status == 200) {
          EXPECT_EQ(item, after) << "allocation " << n;
        }
      }
      Reset();
      if (!failed) break;
    }
    EXPECT_GT(failures, 3);
    // One block that each failure leaves behind would be as many as failures.
    EXPECT_LT(living.load() - lived, std::max(8, failures / 2));
    std::printf("%s: %d of its allocations failed\n", operation.c_str(), failures);
  }

  kv::MemoryEngine engine_;
  ManualClock clock_;
  SeededRandom random_;
  WorkerPool workers_;
  std::unique_ptr<table::Store> store_;
  ops::Environment environment_;
  std::unique_ptr<api::Service> service_;
  Pump loop_;
  int64_t fail_at_ = -1;
  int64_t left_ = -1;
};

TEST_F(MemoryTest, PutItem) {
  FailEach(
      "PutItem",
      R"({"TableName":"orders","Item":{"pk":{"S":"a"},"sk":{"N":"1"},"new":{"NS":["3","1"]},)"
      R"("big":{"S":"0123456789012345678901234567890123456789"},"b":{"B":"AAECAwQFBgcICQ=="}},)"
      R"j("ConditionExpression":"attribute_exists(pk) AND contains(#t, :t)",)j"
      R"("ExpressionAttributeNames":{"#t":"text"},)"
      R"("ExpressionAttributeValues":{":t":{"S":"longer than the small"}},)"
      R"("ReturnValues":"ALL_OLD","ReturnConsumedCapacity":"INDEXES"})",
      200, "a", "1");
}

TEST_F(MemoryTest, ConditionThatFails) {
  FailEach("PutItem",
           R"({"TableName":"orders","Item":{"pk":{"S":"a"},"sk":{"N":"1"}},)"
           R"j("ConditionExpression":"attribute_not_exists(pk)",)j"
           R"("ReturnValuesOnConditionCheckFailure":"ALL_OLD"})",
           400, "a", "1");
}

TEST_F(MemoryTest, UpdateItem) {
  FailEach("UpdateItem",
           R"({"TableName":"orders","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"UpdateExpression":)"
           R"("SET n = n + :one, l = list_append(l, :l), m.k = :t REMOVE g ADD s :s",)"
           R"("ExpressionAttributeValues":{":one":{"N":"1"},":l":{"L":[{"S":"z"}]},)"
           R"(":t":{"S":"a text that is longer than the small strings"},":s":{"SS":["r"]}},)"
           R"("ReturnValues":"UPDATED_NEW"})",
           200, "a", "1");
}

TEST_F(MemoryTest, LegacyUpdate) {
  FailEach(
      "UpdateItem",
      R"({"TableName":"orders","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"AttributeUpdates":)"
      R"({"n":{"Action":"ADD","Value":{"N":"2"}},"s":{"Action":"DELETE","Value":{"SS":["p"]}}},)"
      R"("Expected":{"n":{"ComparisonOperator":"GT","AttributeValueList":[{"N":"1"}]}}})",
      200, "a", "1");
}

TEST_F(MemoryTest, DeleteItem) {
  FailEach(
      "DeleteItem",
      R"({"TableName":"orders","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},"ReturnValues":"ALL_OLD"})",
      200, "a", "1");
}

TEST_F(MemoryTest, GetItem) {
  FailEach("GetItem", R"({"TableName":"orders","Key":{"pk":{"S":"a"},"sk":{"N":"1"}},)"
                      R"("ProjectionExpression":"l[1], m.k, n"})");
}

TEST_F(MemoryTest, Query) {
  FailEach("Query",
           R"({"TableName":"orders","KeyConditionExpression":"pk = :p AND sk < :k",)"
           R"j("FilterExpression":"contains(#t, :t) OR n IN (:k, :n)",)j"
           R"("ProjectionExpression":"#t, l[0], m","ExpressionAttributeNames":{"#t":"text"},)"
           R"("ExpressionAttributeValues":{":p":{"S":"a"},":k":{"N":"2"},":n":{"N":"5"},)"
           R"(":t":{"S":"no such text"}},"ReturnConsumedCapacity":"TOTAL"})");
}

TEST_F(MemoryTest, QueryOfAnIndex) {
  FailEach("Query", R"({"TableName":"orders","IndexName":"by_g","KeyConditionExpression":"g = :g",)"
                    R"("Limit":2,"ExpressionAttributeValues":{":g":{"S":"group"}}})");
}

TEST_F(MemoryTest, Scan) {
  FailEach("Scan", R"({"TableName":"orders","ScanFilter":{"n":{"ComparisonOperator":"EQ",)"
                   R"("AttributeValueList":[{"N":"5"}]}},"AttributesToGet":["pk","n"]})");
}

TEST_F(MemoryTest, BatchWriteItem) {
  FailEach("BatchWriteItem",
           R"({"RequestItems":{"orders":[{"PutRequest":{"Item":{"pk":{"S":"b"},"sk":{"N":"1"},)"
           R"("g":{"S":"group"}}}},{"DeleteRequest":{"Key":{"pk":{"S":"a"},"sk":{"N":"0"}}}},)"
           R"({"PutRequest":{"Item":{"pk":{"S":"b"},"sk":{"N":"2"}}}}]}})");
}

TEST_F(MemoryTest, BatchGetItem) {
  FailEach("BatchGetItem", R"({"RequestItems":{"orders":{"Keys":[{"pk":{"S":"a"},"sk":{"N":"0"}},)"
                           R"({"pk":{"S":"a"},"sk":{"N":"2"}}],"ProjectionExpression":"n, l"}}})");
}

TEST_F(MemoryTest, TransactWriteItems) {
  FailEach("TransactWriteItems",
           R"({"TransactItems":[{"Update":{"TableName":"orders","Key":{"pk":{"S":"a"},)"
           R"("sk":{"N":"1"}},"UpdateExpression":"SET n = :n","ExpressionAttributeValues":)"
           R"({":n":{"N":"9"}}}},{"ConditionCheck":{"TableName":"orders","Key":{"pk":{"S":"a"},)"
           R"j("sk":{"N":"2"}},"ConditionExpression":"attribute_exists(g)"}},)j"
           R"({"Put":{"TableName":"orders","Item":{"pk":{"S":"b"},"sk":{"N":"1"}}}}]})",
           200, "a", "1");
}

TEST_F(MemoryTest, TransactGetItems) {
  FailEach(
      "TransactGetItems",
      R"({"TransactItems":[{"Get":{"TableName":"orders","Key":{"pk":{"S":"a"},"sk":{"N":"1"}}}},)"
      R"({"Get":{"TableName":"orders","Key":{"pk":{"S":"z"},"sk":{"N":"1"}}}}]})");
}

TEST_F(MemoryTest, PartiQl) {
  FailEach("ExecuteStatement",
           R"j({"Statement":"SELECT pk, n FROM orders WHERE pk = ? AND contains(text, 'longer')",)j"
           R"("Parameters":[{"S":"a"}]})");
  FailEach("ExecuteStatement",
           R"({"Statement":"UPDATE orders SET n = n + 1 SET fresh = ? WHERE pk = 'a' AND sk = 1",)"
           R"("Parameters":[{"S":"a text that is longer than the small strings"}]})",
           200, "a", "1");
  FailEach("BatchExecuteStatement",
           R"({"Statements":[{"Statement":"SELECT n FROM orders WHERE pk = 'a' AND sk = 1"},)"
           R"({"Statement":"SELECT n FROM orders WHERE pk = 'a' AND sk = 2"}]})");
}

TEST_F(MemoryTest, MalformedRequests) {
  FailEach("PutItem",
           R"({"TableName":"orders","Item":{"pk":{"S":"a"},"sk":{"N":"one and a half"}}})", 400);
  FailEach("PutItem",
           R"({"TableName":"orders","Item":[1,2,{"a":"0123456789012345678901234567890"}]})", 400);
  FailEach("PutItem", R"({"TableName":"x","Item":{},"ReturnValues":"EVERYTHING THERE IS OR WAS"})",
           400);
  FailEach("Query",
           R"({"TableName":"orders","KeyConditionExpression":"pk = = :p and something else",)"
           R"("ExpressionAttributeValues":{":p":{"S":"a"}}})",
           400);
}

}  // namespace
}  // namespace stator
