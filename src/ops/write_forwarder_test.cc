// Batches of which other processes write a part.
#include <gtest/gtest.h>

#include <deque>
#include <string>
#include <utility>

#include "ops/test_world.h"

namespace stator::ops {
namespace {

using expr::notation::Item;

// Takes every write, and answers when it is told to.
class Taker final : public WriteForwarder {
 public:
  bool TryForward(const table::Table&, std::string_view, UniqueFunction<void()>&) override {
    return false;
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

}  // namespace
}  // namespace stator::ops
