#include "management/request_tail.h"

#include <gtest/gtest.h>

#include <thread>

#include "management/test_server.h"

namespace stator::management {
namespace {

request_log::Request Read(std::string key) {
  request_log::Request request;
  request.operation = "GetItem";
  request.table = "music";
  request.keys.push_back({std::move(key), "S:Sinnerman", {}});
  request.read_units = 0.5;
  return request;
}

// Hears of what passes the tail.
class Next final : public api::RequestTap {
 public:
  bool on() const override { return wants; }
  void Take(std::vector<request_log::Request> requests) override { heard += requests.size(); }
  bool wants = false;
  size_t heard = 0;
};

struct RequestTailTest : testing::Test {
  ManualClock clock;
  ManualClock machine;
  Next next;
  RequestTail tail{clock, false, machine, &next};

  Parsed Since(int64_t seq, int64_t limit = 1000) { return Parsed(tail.Since(seq, limit)); }
};

TEST_F(RequestTailTest, NothingIsKeptUntilAClientAsks) {
  EXPECT_FALSE(tail.on());
  tail.Take({Read("S:a")});
  EXPECT_EQ(Since(0).Size("/requests"), 0u);
  EXPECT_TRUE(tail.on());
  tail.Take({Read("S:b")});
  EXPECT_EQ(Since(0).Text("/requests/0/keys/0/partition"), "S:b");
}

TEST_F(RequestTailTest, ItEndsWhenTheClientIsGone) {
  (void)Since(0);
  tail.Take({Read("S:a")});
  machine.AdvanceMicros(RequestTail::kWatchMicros + 1);
  tail.Take({Read("S:b")});
  EXPECT_FALSE(tail.on());
  EXPECT_EQ(Since(0).Size("/requests"), 0u);
}

TEST_F(RequestTailTest, ARequestIsToldWithWhatItDid) {
  (void)Since(0);
  request_log::Request write = Read("S:a");
  write.operation = "PutItem";
  write.at_micros = clock.NowMicros();
  write.write_units = 2;
  write.index_writes = {{"by-year", 3, "N:1965"}};
  write.stored_bytes = 1500;
  write.outcome = request_log::Outcome::kThrottled;
  clock.AdvanceMicros(1500);
  tail.Take({write});
  const Parsed told = Since(0);
  EXPECT_EQ(told.Text("/requests/0/operation"), "PutItem");
  EXPECT_EQ(told.Text("/requests/0/keys/0/sort"), "S:Sinnerman");
  EXPECT_EQ(told.Number("/requests/0/write"), 5);
  EXPECT_EQ(told.Whole("/requests/0/bytes"), 1500);
  EXPECT_TRUE(told["/requests/0/returned"].is_null());
  EXPECT_EQ(told.Text("/requests/0/outcome"), "throttled");
  EXPECT_EQ(told.Number("/requests/0/milliseconds"), 1.5);
}

TEST_F(RequestTailTest, OnlyNewOnesAreTold) {
  (void)Since(0);
  tail.Take({Read("S:a"), Read("S:b")});
  const Parsed first = Since(0);
  EXPECT_EQ(first.Size("/requests"), 2u);
  EXPECT_EQ(Since(first.Whole("/seq")).Size("/requests"), 0u);
  tail.Take({Read("S:c")});
  const Parsed second = Since(first.Whole("/seq"));
  EXPECT_EQ(second.Size("/requests"), 1u);
  EXPECT_EQ(second.Text("/requests/0/keys/0/partition"), "S:c");
  EXPECT_EQ(Since(0, 2).Text("/requests/0/keys/0/partition"), "S:b");
}

TEST_F(RequestTailTest, KeysAreBounded) {
  (void)Since(0);
  request_log::Request batch;
  for (int i = 0; i < 100; ++i) batch.keys.push_back({"S:" + std::string(999, 'x'), {}, {}});
  // A character of two bytes lies across the cut.
  batch.keys[1].partition = "S:" + std::string(RequestTail::kMostKeyBytes - 3, 'x') + "öö";
  tail.Take({batch});
  const Parsed told = Since(0);
  EXPECT_EQ(told.Size("/requests/0/keys"), RequestTail::kMostKeys);
  EXPECT_EQ(told.Whole("/requests/0/keyCount"), 100);
  EXPECT_EQ(told.Text("/requests/0/keys/1/partition"),
            "S:" + std::string(RequestTail::kMostKeyBytes - 3, 'x') + "…");
}

TEST_F(RequestTailTest, AStormIsCountedAndTheOldestGo) {
  (void)Since(0);
  for (size_t second = 0; second < 6; ++second) {
    for (int i = 0; i < RequestTail::kMostPerSecond + 7; ++i) tail.Take({Read("S:a")});
    machine.AdvanceMicros(1'000'000);
  }
  const Parsed told = Since(0, 1 << 20);
  EXPECT_EQ(told.Whole("/skipped"), 6 * 7);
  EXPECT_EQ(told.Size("/requests"), RequestTail::kMostKept);
  EXPECT_EQ(told.Whole("/seq"), 6 * RequestTail::kMostPerSecond);
}

TEST_F(RequestTailTest, TheNextTapHearsOfEveryRequest) {
  next.wants = true;
  EXPECT_TRUE(tail.on());
  tail.Take({Read("S:a")});
  (void)Since(0);
  tail.Take({Read("S:b")});
  EXPECT_EQ(next.heard, 2u);
  EXPECT_EQ(Since(0).Size("/requests"), 1u);
}

TEST_F(RequestTailTest, WatchersAndRequestsMeet) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 3; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 2000; ++i) tail.Take({Read("S:a")});
    });
  }
  for (int i = 0; i < 200; ++i) (void)tail.Since(0, 10);
  for (std::thread& thread : threads) thread.join();
}

}  // namespace
}  // namespace stator::management
