#include "management/recording.h"

#include <gtest/gtest.h>

#include <thread>

#include "management/advice.h"
#include "management/test_server.h"

namespace stator::management {
namespace {

request_log::Request Write(int64_t at, std::string key, double units = 1) {
  request_log::Request request;
  request.at_micros = at;
  request.operation = "PutItem";
  request.table = "music";
  request.keys.push_back({std::move(key), "", {}});
  request.write_units = units;
  return request;
}

class Next final : public api::RequestTap {
 public:
  bool on() const override { return wants; }
  void Take(std::vector<request_log::Request> requests) override { heard += requests.size(); }
  bool wants = false;
  size_t heard = 0;
};

struct RecordingTest : testing::Test {
  ManualClock clock;
  ManualClock machine;
  Next next;
  Recording recording{clock, machine, &next};

  size_t Kept() {
    size_t count = 0;
    for (const Recording::ChunkPtr& chunk : recording.Chunks()) count += chunk->requests.size();
    return count;
  }
};

TEST_F(RecordingTest, NothingIsKeptBeforeItBeginsAndAfterItEnds) {
  EXPECT_FALSE(recording.on());
  recording.Take({Write(1, "S:a")});
  EXPECT_EQ(Kept(), 0u);
  recording.Begin(1);
  EXPECT_TRUE(recording.on());
  recording.Take({Write(2, "S:b"), Write(3, "S:c")});
  EXPECT_EQ(recording.view().requests, 2);
  recording.End();
  EXPECT_FALSE(recording.on());
  recording.Take({Write(4, "S:d")});
  EXPECT_EQ(Kept(), 2u) << "the requests stay";
  recording.Begin(1);
  EXPECT_EQ(Kept(), 0u);
}

TEST_F(RecordingTest, ItEndsByItselfByTheMachinesClock) {
  recording.Begin(2);
  EXPECT_EQ(recording.view().left_seconds, 120);
  recording.Take({Write(1, "S:a")});
  machine.AdvanceMicros(60'000'000);
  recording.Begin(2);
  EXPECT_EQ(recording.view().requests, 1) << "one that runs goes on";
  EXPECT_EQ(recording.view().left_seconds, 120);
  machine.AdvanceMicros(120'000'000);
  EXPECT_FALSE(recording.view().on);
  recording.Take({Write(2, "S:b")});
  EXPECT_FALSE(recording.on());
  EXPECT_EQ(Kept(), 1u);
}

TEST_F(RecordingTest, TheNextTapHearsOfEverything) {
  next.wants = true;
  EXPECT_TRUE(recording.on());
  recording.Take({Write(1, "S:a")});
  recording.Begin(1);
  recording.Take({Write(2, "S:b")});
  EXPECT_EQ(next.heard, 2u);
  EXPECT_EQ(Kept(), 1u);
}

TEST_F(RecordingTest, MemoryIsBoundedAndTheOldestGo) {
  recording.Begin(1);
  const std::string key = "S:" + std::string(2000, 'x');
  constexpr int64_t kRequests = 40'000;
  for (int64_t i = 0; i < kRequests; ++i) recording.Take({Write(i + 1, key)});
  const Recording::View view = recording.view();
  EXPECT_LE(view.bytes, Recording::kMostBytes);
  EXPECT_GT(view.bytes, Recording::kMostBytes / 2);
  EXPECT_EQ(view.requests + view.dropped, kRequests);
  EXPECT_GT(view.dropped, 0);
  EXPECT_EQ(static_cast<int64_t>(Kept()), view.requests);
  EXPECT_EQ(recording.Chunks().front()->requests.front().at_micros, view.dropped + 1);
}

TEST_F(RecordingTest, ThreadsMayRecordWhileOneReads) {
  recording.Begin(1);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([this] {
      for (int i = 0; i < 2000; ++i) recording.Take({Write(i, "S:a")});
    });
  }
  for (int i = 0; i < 20; ++i) (void)Kept();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(Kept(), 8000u);
}

TEST(MinutesIn, OfABody) {
  EXPECT_EQ(*MinutesIn(""), Recording::kMinutes);
  EXPECT_EQ(*MinutesIn("{}"), Recording::kMinutes);
  EXPECT_EQ(*MinutesIn(R"({"minutes": 5})"), 5);
  for (const char* body : {"[]", "{", R"({"minutes":0})", R"({"minutes":1441})",
                           R"({"minutes":"5"})", R"({"hours":1})"}) {
    EXPECT_FALSE(MinutesIn(body).ok()) << body;
  }
}

struct AdviceTest : testing::Test {
  TestServer server;
  ManualClock machine;
  Recording recording{server.clock(), machine, nullptr};
  Advice advice{server.environment(), recording, machine};

  void SetUp() override {
    server.Create("music", 1000);
    recording.Begin(60);
  }
  // One key takes `units` a second.
  void Heat(int seconds, double units) {
    for (int i = 0; i < seconds; ++i) {
      server.clock().AdvanceMicros(1'000'000);
      const int64_t now = server.clock().NowMicros();
      for (int k = 0; k < 10; ++k) recording.Take({Write(now + k, "S:alice", units / 10)});
    }
  }
};

TEST_F(AdviceTest, AHotKeyIsFound) {
  Heat(60, 1500);
  const Parsed made(*advice.Make(0, {}));
  EXPECT_EQ(made.Whole("/looked"), 600);
  EXPECT_EQ(made.Whole("/of"), 600);
  EXPECT_EQ(made.Whole("/recording/requests"), 600);
  EXPECT_EQ(made.Text("/report/tables/0/name"), "music");
  EXPECT_EQ(made.Text("/report/tables/0/findings/0/level"), "problem");
  EXPECT_NE(made.text().find("hot-key"), std::string::npos) << made.text();
  EXPECT_NE(made.text().find("alice"), std::string::npos);
}

TEST_F(AdviceTest, TheLastTimeAlone) {
  Heat(60, 100);
  EXPECT_EQ(Parsed(*advice.Make(30'000'000, {})).Whole("/of"), 310);
}

TEST_F(AdviceTest, NothingRecordedIsNoTableAndNoFinding) {
  EXPECT_EQ(Parsed(*advice.Make(0, {})).Size("/report/tables"), 0u);
}

TEST_F(AdviceTest, ATableThatIsGoneIsLookedAtWithoutItsDefinition) {
  Heat(30, 100);
  server.Must("DeleteTable", R"({"TableName":"music"})");
  EXPECT_EQ(Parsed(*advice.Make(0, {})).Whole("/looked"), 300);
}

// A clock that moves on with each look at it.
class Busy final : public Clock {
 public:
  int64_t NowMicros() const override { return 0; }
  int64_t TicksMicros() const override { return ticks += step; }
  int64_t step = 1'000'000;
  mutable int64_t ticks = 0;
};

TEST_F(AdviceTest, ItEndsInTimeAndSaysHowMuchItLookedAt) {
  Heat(60, 100);
  Busy busy;
  Advice hurried(server.environment(), recording, busy);
  const Parsed made(*hurried.Make(0, {}));
  EXPECT_EQ(made.Whole("/of"), 600);
  EXPECT_LT(made.Whole("/looked"), 600);
  EXPECT_GT(made.Whole("/looked"), 0);
}

TEST_F(AdviceTest, SizesAreNotWaitedForWhenTimeIsShort) {
  Heat(60, 100);
  Busy busy;
  busy.step = 2 * Advice::kMostMicros;
  Advice late(server.environment(), recording, busy);
  const Parsed made(*late.Make(0, {}));
  EXPECT_EQ(made.Whole("/looked"), 0);
  EXPECT_EQ(made.Text("/report/tables/0/name"), "music");
}

TEST(PricesIn, OfAQuery) {
  const throughput::UnitPrices prices = *PricesIn("readUnit=0.1&millionReads=0.25");
  EXPECT_EQ(prices.read_unit, 0.1);
  EXPECT_EQ(prices.million_reads, 0.25);
  EXPECT_EQ(prices.write_unit, throughput::UnitPrices().write_unit);
  for (const char* query : {"readUnit=x", "readUnit=-1", "gigabyte=", "writeUnit=nan"})
    EXPECT_FALSE(PricesIn(query).ok()) << query;
}

}  // namespace
}  // namespace stator::management
