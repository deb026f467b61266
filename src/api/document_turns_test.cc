#include "api/document_turns.h"

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "gtest/gtest.h"

namespace stator::api {
namespace {

constexpr int64_t kMiB = 1 << 20;

TEST(DocumentTurns, SmallDocumentNeedsNone) {
  DocumentTurns turns;
  const DocumentTurns::Turn large = turns.Take(500 * kMiB);
  const DocumentTurns::Turn small = turns.Take(DocumentTurns::kFreeBytes);
}

TEST(DocumentTurns, DocumentsThatFitAreHeldTogether) {
  DocumentTurns turns;
  const DocumentTurns::Turn one = turns.Take(DocumentTurns::kTogetherBytes / 2);
  const DocumentTurns::Turn two = turns.Take(DocumentTurns::kTogetherBytes / 2);
}

TEST(DocumentTurns, LargeDocumentWaitsForTheEndOfTheOneBefore) {
  DocumentTurns turns;
  DocumentTurns::Turn first = turns.Take(100 * kMiB);
  std::atomic<bool> has_turn = false;
  std::thread second([&] {
    const DocumentTurns::Turn turn = turns.Take(100 * kMiB);
    has_turn = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_turn);
  first.End();
  second.join();
  EXPECT_TRUE(has_turn);
}

TEST(DocumentTurns, MovedTurnEndsOnce) {
  DocumentTurns turns;
  DocumentTurns::Turn first = turns.Take(100 * kMiB);
  DocumentTurns::Turn moved = std::move(first);
  first.End();
  moved.End();
  moved.End();
  // Nothing is held: a turn that were ended twice would leave room for two of these.
  const DocumentTurns::Turn alone = turns.Take(100 * kMiB);
  std::atomic<bool> has_turn = false;
  std::thread second([&] {
    const DocumentTurns::Turn turn = turns.Take(60 * kMiB);
    has_turn = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(has_turn);
  const_cast<DocumentTurns::Turn&>(alone).End();
  second.join();
}

TEST(DocumentTurns, ManyThreadsNeverHoldMoreThanTheBound) {
  DocumentTurns turns;
  std::atomic<int64_t> held = 0, most = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < 200; ++round) {
        const int64_t bytes = (9 + 7 * ((i + round) % 12)) * kMiB;
        const DocumentTurns::Turn turn = turns.Take(bytes);
        const int64_t now = held += bytes;
        for (int64_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) continue;
        held -= bytes;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(held, 0);
  EXPECT_LE(most, 86 * kMiB);  // the largest alone
}

}  // namespace
}  // namespace stator::api
