// Requests that other processes run, and batches of which they write a part.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

#include "kv/permit.h"
#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;

// Takes every write, and answers when it is told to.
class Taker final : public WriteForwarder {
 public:
  bool TryForward(std::span<const WrittenItem> items, UniqueFunction<void()>& here) override {
    if (!takes_requests) return false;
    for (const WrittenItem& item : items) named += item.table->descriptor.name + " ";
    run_here = std::move(here);
    return true;
  }
  bool TryForwardEntry(const table::Table&, std::string_view, bool put, model::ItemView,
                       EntryDone& done) override {
    if (taken.size() == most) return false;
    puts += put ? 1 : 0;
    taken.push_back(std::move(done));
    return true;
  }
  std::deque<EntryDone> taken;
  size_t most = 100;
  int puts = 0;
  bool takes_requests = false;
  std::string named;  // the tables of the items of requests
  UniqueFunction<void()> run_here;
};

struct BatchWorld : TestWorld {
  BatchWorld() { Create("t"); }

  void Begin(BatchWriteItemRequest request) {
    context.emplace(Context{env, loop, "BatchWriteItem"});
    context->forwarder = &taker;
    BatchWriteItem(*context, std::move(request), [this](Result<BatchWriteItemResponse> response) {
      answer.emplace(std::move(response));
    });
  }
  static BatchWriteItemRequest ThreePutsAndADelete() {
    BatchWriteItemRequest request;
    request.request_items.push_back({"t", {}});
    for (const char* key : {"a", "b", "c"}) {
      request.request_items[0].requests.push_back(
          {PutRequest{{Item("{pk: '" + std::string(key) + "'}")}}, {}});
    }
    request.request_items[0].requests.push_back({{}, DeleteRequest{{Item("{pk: 'd'}")}}});
    return request;
  }
  int64_t items() { return store->Counts(*store->Find("t"))->items; }

  Taker taker;
  std::optional<Context> context;
  std::optional<Result<BatchWriteItemResponse>> answer;
};

TEST(WriteForwarder, BatchIsDoneWhenAllOfItIs) {
  BatchWorld world;
  world.Begin(BatchWorld::ThreePutsAndADelete());
  ASSERT_EQ(world.taker.taken.size(), 4u);
  EXPECT_EQ(world.taker.puts, 3);
  world.taker.taken[3](OkStatus());
  world.taker.taken[0](std::nullopt);  // refused: written here
  world.taker.taken[1](Status(Error(ErrorCode::kProvisionedThroughputExceeded, "too many")));
  EXPECT_FALSE(world.answer);
  world.taker.taken[2](OkStatus());
  while (!world.answer) world.loop.RunOne();
  ASSERT_TRUE(world.answer->ok());
  const BatchWriteItemResponse& response = **world.answer;
  ASSERT_EQ(response.unprocessed_items.size(), 1u);
  ASSERT_EQ(response.unprocessed_items[0].requests.size(), 1u);
  EXPECT_EQ(response.unprocessed_items[0].requests[0].put_request->item.bytes, Item("{pk: 'b'}"));
  EXPECT_EQ(world.items(), 1);
}

TEST(WriteForwarder, WritesThatAreNotTakenAreMadeHere) {
  BatchWorld world;
  world.taker.most = 1;
  world.Begin(BatchWorld::ThreePutsAndADelete());
  ASSERT_EQ(world.taker.taken.size(), 1u);
  world.taker.taken[0](OkStatus());
  while (!world.answer) world.loop.RunOne();
  EXPECT_TRUE(world.answer->ok());
  EXPECT_EQ(world.items(), 2);
}

TEST(WriteForwarder, BatchWhoseCostIsAskedForIsWrittenHere) {
  BatchWorld world;
  BatchWriteItemRequest request = BatchWorld::ThreePutsAndADelete();
  request.return_consumed_capacity = ReturnConsumedCapacity::kTotal;
  world.Begin(std::move(request));
  EXPECT_TRUE(world.taker.taken.empty());
  while (!world.answer) world.loop.RunOne();
  ASSERT_TRUE(world.answer->ok());
  EXPECT_EQ(world.items(), 3);
}

struct RequestWorld : TestWorld {
  RequestWorld() {
    Create("one");
    Create("two");
  }

  // Begins a transaction that puts an item into each table.
  void BeginTransaction() {
    TransactWriteItemsRequest request;
    for (const char* name : {"one", "two"}) {
      TransactWriteAction& action = request.transact_items.emplace_back().put.emplace();
      action.table_name = name;
      action.item.bytes = Item("{pk: 'a'}");
    }
    Begin(TransactWriteItems, std::move(request));
  }
  template <typename Request, typename Response>
  void Begin(void (*operation)(Context&, Request, Callback<Response>), Request request) {
    context.emplace(Context{env, loop, "any"});
    context->forwarder = forwards ? &taker : nullptr;
    context->permit = permit;
    operation(*context, std::move(request), [this](Result<Response> response) {
      answer = response.ok() ? OkStatus() : Status(std::move(response).error());
    });
  }
  void BeginStatement(const std::string& statement) {
    ExecuteStatementRequest request;
    request.statement = statement;
    Begin(ExecuteStatement, std::move(request));
  }
  Status Wait() {
    while (!answer) loop.RunOne();
    return *answer;
  }
  int64_t items(const char* name) { return store->Counts(*store->Find(name))->items; }

  Taker taker;
  bool forwards = true;
  kv::FatePtr permit;
  std::optional<Context> context;
  std::optional<Status> answer;
};

TEST(WriteForwarder, TransactionIsHandedOverAsAWhole) {
  RequestWorld world;
  world.taker.takes_requests = true;
  world.BeginTransaction();
  EXPECT_EQ(world.taker.named, "one two ");
  EXPECT_FALSE(world.answer);
  world.taker.run_here();  // refused
  EXPECT_TRUE(world.Wait().ok());
  EXPECT_EQ(world.items("one") + world.items("two"), 2);
}

TEST(WriteForwarder, TransactionThatIsNotTakenIsRunHere) {
  RequestWorld world;
  world.BeginTransaction();
  EXPECT_TRUE(world.Wait().ok());
  EXPECT_EQ(world.items("one") + world.items("two"), 2);
}

TEST(WriteForwarder, StatementIsHandedOver) {
  RequestWorld world;
  world.taker.takes_requests = true;
  world.BeginStatement("INSERT INTO one VALUE {'pk': 'a'}");
  EXPECT_EQ(world.taker.named, "one ");
  world.taker.run_here();
  EXPECT_TRUE(world.Wait().ok());
  EXPECT_EQ(world.items("one"), 1);
}

// The request that the client has sent is all of them.
TEST(WriteForwarder, StatementOfABatchIsRunHere) {
  RequestWorld world;
  world.taker.takes_requests = true;
  BatchExecuteStatementRequest request;
  request.statements.emplace_back().statement = "INSERT INTO one VALUE {'pk': 'a'}";
  world.Begin(BatchExecuteStatement, std::move(request));
  EXPECT_TRUE(world.Wait().ok());
  EXPECT_EQ(world.taker.named, "");
  EXPECT_EQ(world.items("one"), 1);
}

TEST(WriteForwarder, NothingIsChangedWithoutThePermit) {
  for (const bool transaction : {true, false}) {
    RequestWorld world;
    world.forwards = false;
    const auto permit = kv::MakePermit();
    permit->failed = true;
    world.permit = permit;
    if (transaction) {
      world.BeginTransaction();
    } else {
      world.BeginStatement("INSERT INTO one VALUE {'pk': 'a'}");
    }
    const Status status = world.Wait();
    ASSERT_FALSE(status.ok());
    EXPECT_EQ(status.error().code(), ErrorCode::kUnavailable);
    EXPECT_EQ(world.items("one") + world.items("two"), 0);
  }
}

}  // namespace
}  // namespace stator::ops
