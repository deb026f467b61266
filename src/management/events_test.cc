#include "management/events.h"

#include <gtest/gtest.h>

#include "management/test_server.h"
#include "table/partition_split.h"

namespace stator::management {
namespace {

constexpr int64_t kSecond = 1'000'000;

class EventsTest : public testing::Test {
 protected:
  EventsTest() {
    events_.Listen();
    events_.Look();
  }
  void Pass(int64_t seconds) {
    for (int64_t i = 0; i < seconds; ++i) {
      server_.clock().AdvanceMicros(kSecond);
      server_.environment().admission.Advance();
      events_.Look();
    }
  }
  Parsed All(std::optional<std::string> table = std::nullopt, int64_t since = 0,
             int64_t limit = 1000) {
    return Parsed(events_.Since(since, table, limit));
  }
  // Writes `times` items of 100 KB with this key, all in the second that the clock shows.
  void Heat(const std::string& key, int times) {
    const std::string item = R"({"TableName":"votes","Item":{"pk":{"S":")" + key +
                             R"("},"t":{"S":")" + std::string(100'000, 'x') + R"("}}})";
    for (int i = 0; i < times; ++i) {
      int status = 0;
      server_.Ask("PutItem", item, &status);
    }
  }

  TestServer server_;
  Events events_{server_.environment()};
};

TEST_F(EventsTest, TablesComeChangeAndGo) {
  server_.Create("music", 5);
  Pass(1);
  server_.Must("UpdateTable", R"({"TableName":"music","ProvisionedThroughput":
      {"ReadCapacityUnits":6,"WriteCapacityUnits":5}})");
  server_.Must("UpdateTimeToLive", R"({"TableName":"music","TimeToLiveSpecification":
      {"AttributeName":"until","Enabled":true}})");
  Pass(1);
  server_.Must("DeleteTable", R"({"TableName":"music"})");
  Pass(1);
  const Parsed all = All();
  ASSERT_EQ(all.Size("/events"), 4u) << all.text();
  EXPECT_EQ(all.Text("/events/0/kind"), "created");
  EXPECT_EQ(all.Text("/events/0/text"), "Table music was created");
  EXPECT_TRUE(all["/events/0/index"].is_null());
  EXPECT_EQ(all.Text("/events/1/text"),
            "The table has 6 read and 5 write units now; it had 5 read and 5 write units");
  EXPECT_EQ(all.Text("/events/2/text"), "Time to live is on, by the attribute until");
  EXPECT_EQ(all.Text("/events/3/kind"), "dropped");
  EXPECT_EQ(all.Whole("/seq"), all.Whole("/events/3/seq"));
  EXPECT_EQ(all.Whole("/seq"), events_.seq());

  EXPECT_EQ(All(std::nullopt, all.Whole("/events/2/seq")).Size("/events"), 1u);
  EXPECT_EQ(All(std::nullopt, 0, 2).Text("/events/0/kind"), "altered");
  EXPECT_EQ(All("music").Size("/events"), 4u);
  EXPECT_EQ(All("other").Size("/events"), 0u);
}

TEST_F(EventsTest, WhatWasThereAtTheStartIsNoNews) {
  server_.Create("music", 5);
  Events later(server_.environment());
  later.Look();
  later.Look();
  EXPECT_EQ(later.seq(), 0);
}

TEST_F(EventsTest, ATableOfTheSameNameIsAnotherOne) {
  server_.Create("music", 5);
  Pass(1);
  server_.Must("DeleteTable", R"({"TableName":"music"})");
  server_.Create("music", 5);
  Pass(1);
  const Parsed all = All();
  ASSERT_EQ(all.Size("/events"), 3u) << all.text();
  EXPECT_EQ(all.Text("/events/1/kind"), "dropped");
  EXPECT_EQ(all.Text("/events/2/kind"), "created");
}

TEST_F(EventsTest, ThrottlingIsToldOnceInTenSecondsWithItsCount) {
  server_.Create("votes", 1);
  Pass(1);
  const std::string item = R"({"TableName":"votes","Item":{"pk":{"S":"alice"},"t":{"S":")" +
                           std::string(100'000, 'x') + R"("}}})";
  int throttled = 0;
  for (int second = 0; second < 25; ++second) {
    for (int i = 0; i < 4; ++i) {
      int status = 0;
      server_.Ask("PutItem", item, &status);
      if (status == 400) ++throttled;
    }
    Pass(1);
  }
  ASSERT_GT(throttled, 50);
  const Parsed all = All("votes");
  int told = 0;
  int64_t requests = 0;
  for (size_t i = 0; i < all.Size("/events"); ++i) {
    const std::string at = "/events/" + std::to_string(i);
    if (all.Text(at + "/kind") != "throttled") continue;
    ++told;
    requests += all.Whole(at + "/requests");
    EXPECT_EQ(all.Text(at + "/reason"), "TableWriteProvisionedThroughputExceeded");
    EXPECT_GT(all.Text(at + "/text").size(), 40u) << all.Text(at + "/text");
    EXPECT_EQ(all.Text(at + "/text").find("so far"), std::string::npos) << all.Text(at + "/text");
    EXPECT_EQ(all.Text(at + "/key"), "alice");
    EXPECT_GT(all.Number(at + "/demand"), all.Number(at + "/limit"));
    EXPECT_FALSE(bool(all[at + "/passed"]));
    EXPECT_GT(all.Size(at + "/advice"), 0u);
  }
  EXPECT_GE(told, 2);
  EXPECT_LE(told, 3);
  EXPECT_LE(requests, throttled);
  EXPECT_GT(requests, throttled / 2);
}

TEST_F(EventsTest, ASplitIsToldOnce) {
  server_.Create("music", 5);
  Pass(1);
  Pump loop;
  std::optional<bool> done;
  table::SplitPartition(server_.environment().store, "music", uint64_t{1} << 63,
                        [&](Result<table::TablePtr> split) { done = split.ok(); });
  loop.RunUntil([&] { return done.has_value(); });
  ASSERT_TRUE(*done);
  Pass(3);
  const Parsed all = All("music");
  ASSERT_EQ(all.Size("/events"), 2u) << all.text();
  EXPECT_EQ(all.Text("/events/1/kind"), "split");
  EXPECT_EQ(all.Text("/events/1/hash"), "8000000000000000");
}

// A day's worst second explains the limit; each event tells of its own time.
TEST_F(EventsTest, AnEventTellsItsOwnDemandAndAllRequestsOfItsStorm) {
  server_.Create("votes", 1);
  Pass(1);
  for (int second = 0; second < 40; ++second) {
    Heat("alice", second < 8 ? 20 : 6);
    Pass(1);
  }
  const Parsed all = All("votes");
  std::vector<std::string> told;
  int64_t sum = 0;
  for (size_t i = 0; i < all.Size("/events"); ++i) {
    const std::string at = "/events/" + std::to_string(i);
    if (all.Text(at + "/kind") != "throttled") continue;
    told.push_back(at);
    sum += all.Whole(at + "/requests");
    EXPECT_EQ(all.Whole(at + "/allRequests"), sum) << at;
    EXPECT_EQ(all.Text(at + "/since"), all.Text(told[0] + "/since"));
  }
  ASSERT_GE(told.size(), 3u) << all.text();
  EXPECT_GT(all.Number(told[0] + "/demand"), 1500) << all.text();
  EXPECT_LT(all.Number(told.back() + "/demand"), 800) << all.text();
  EXPECT_NE(all.Text(told.back() + "/text").find("in its busiest second"), std::string::npos)
      << all.text();

  const Parsed brief(events_.Since(0, "votes", 1000, true));
  ASSERT_EQ(brief.Size("/events"), 2u) << brief.text();
  EXPECT_EQ(brief.Text("/events/0/kind"), "created");
  EXPECT_EQ(brief.Whole("/events/1/allRequests"), sum);

  // After a pause it is another storm.
  Pass(90);
  Heat("alice", 6);
  Pass(2);
  const Parsed later(events_.Since(0, "votes", 1000, true));
  ASSERT_EQ(later.Size("/events"), 3u) << later.text();
  EXPECT_LT(later.Whole("/events/2/allRequests"), 10);
}

TEST_F(EventsTest, AStormDoesNotPushOutWhatElseHappened) {
  server_.Create("votes", 1);
  Pass(1);
  Heat("alice", 5);
  Pass(2);
  for (size_t i = 0; i < Events::kMostEvents + 10; ++i) events_.Note("clock", std::to_string(i));
  const Parsed all(events_.Since(0, "votes", 100'000));
  ASSERT_GE(all.Size("/events"), 1u) << all.text();
  EXPECT_EQ(all.Text("/events/0/kind"), "throttled");
}

TEST_F(EventsTest, MemoryIsBoundedByCountAndBytes) {
  for (size_t i = 0; i < Events::kMostEvents + 10; ++i) events_.Note("clock", std::to_string(i));
  const Parsed few = All(std::nullopt, 0, 1);
  EXPECT_EQ(few.Text("/events/0/text"), std::to_string(Events::kMostEvents + 9));
  EXPECT_LE(Parsed(events_.Since(0, std::nullopt, 100'000)).Size("/events"), Events::kMostEvents);
  // A text is cut, and not inside a character.
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "\xC3\xA4";
  for (size_t i = 0; i < Events::kMostEvents; ++i) events_.Note("clock", text);
  const Parsed many(events_.Since(0, std::nullopt, 100'000));
  EXPECT_LE(many.Text("/events/0/text").size(), 1003u);
  EXPECT_LT(many.Size("/events"), 2300u);
}

}  // namespace
}  // namespace stator::management
