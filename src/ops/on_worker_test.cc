#include "ops/on_worker.h"

#include <gtest/gtest.h>

#include <optional>

#include "ops/test_world.h"

namespace stator::ops {
namespace {

// No worker takes anything.
TEST(OnWorker, WhatFindsNoThreadIsAnOverload) {
  TestWorld world(/*seed=*/1, /*threads=*/1, /*max_queued=*/0);
  Context context{world.env, world.loop, ""};
  std::optional<Result<int>> answer;
  OnWorker<int>(
      context, world.workers, []() -> Result<int> { return 1; },
      [&answer](Result<int> of) { answer.emplace(std::move(of)); });
  ASSERT_TRUE(answer);
  EXPECT_TRUE(IsOverload(answer->error())) << answer->error().message();

  world.Create("t");
  UpdateTableRequest shown;
  shown.table_name = "t";
  shown.sse_specification = SseSpecification{true, {}, {}};
  const auto altered = world.Call(UpdateTable, std::move(shown));
  ASSERT_FALSE(altered.ok());
  EXPECT_TRUE(IsOverload(altered.error())) << altered.error().message();
}

}  // namespace
}  // namespace stator::ops
