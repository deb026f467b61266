#include "management/hot_keys.h"

#include <gtest/gtest.h>

#include "management/test_server.h"

namespace stator::management {
namespace {

struct HotKeysTest : testing::Test {
  TestServer server;
  HotKeys keys{server.environment()};

  void SetUp() override { server.Create("votes", 1000); }
  void Put(const std::string& key, int times) {
    for (int i = 0; i < times; ++i) {
      server.Must("PutItem",
                  R"({"TableName":"votes","Item":{"pk":{"S":")" + key + R"("},"g":{"N":"1"}}})");
    }
  }
  void Pass(int64_t seconds) {
    server.clock().AdvanceMicros(seconds * 1'000'000);
    server.environment().admission.Advance();
  }
  Parsed Render(std::string_view query) {
    return Parsed(
        *keys.Render("votes", *HotKeysQuery(query, server.environment().clock.NowMicros())));
  }
};

TEST_F(HotKeysTest, TheKeysOfAnEarlierTimeAreKept) {
  Put("alice", 90);
  Put("bob", 10);
  Pass(60);
  keys.Look();
  const int64_t then = server.environment().clock.NowMicros() / 1'000'000;
  Pass(600);
  keys.Look();
  Put("carol", 50);
  Pass(60);
  keys.Look();
  const Parsed past = Render("from=" + std::to_string(then - 60) + "&to=" + std::to_string(then));
  ASSERT_EQ(past.Size("/keys"), 2u) << past.text();
  EXPECT_EQ(past.Text("/keys/0/partitionKey"), "alice");
  EXPECT_NEAR(past.Number("/keys/0/share"), 0.9, 0.01);
  EXPECT_EQ(past.Text("/keys/1/partitionKey"), "bob");
  const Parsed now = Render("");
  ASSERT_GE(now.Size("/keys"), 1u) << now.text();
  EXPECT_EQ(now.Text("/keys/0/partitionKey"), "carol");
}

TEST_F(HotKeysTest, AnIndexHasItsOwn) {
  Put("alice", 20);
  Pass(10);
  const Parsed of_index = Render("index=by-g");
  ASSERT_EQ(of_index.Size("/keys"), 1u) << of_index.text();
  EXPECT_EQ(of_index.Text("/keys/0/partitionKey"), "1");
  EXPECT_FALSE(keys.Render("votes", *HotKeysQuery("index=none", 1'000'000'000)).ok());
  EXPECT_FALSE(keys.Render("none", *HotKeysQuery("", 1'000'000'000)).ok());
}

TEST_F(HotKeysTest, ATableThatIsNotUsedCostsNothing) {
  Put("alice", 10);
  Pass(60);
  keys.Look();
  const size_t bytes = keys.Bytes();
  EXPECT_GT(bytes, 0u);
  for (int i = 0; i < 10; ++i) {
    Pass(60);
    keys.Look();
  }
  EXPECT_EQ(keys.Bytes(), bytes);
  Pass(12 * 3600);
  keys.Look();
  EXPECT_EQ(keys.Bytes(), 0u) << "twelve hours are kept";
}

TEST_F(HotKeysTest, MemoryIsBounded) {
  const std::string tail(400, 'x');
  for (int i = 0; i < 3000; ++i) {
    for (int k = 0; k < 5; ++k) Put("key " + std::to_string(k) + tail, 1);
    Pass(10);
    keys.Look();
  }
  EXPECT_LE(keys.Bytes(), 2 * HotKeys::kMostBytes) << "a table and its index";
  server.Must("DeleteTable", R"({"TableName":"votes"})");
  Pass(60);
  keys.Look();
  EXPECT_EQ(keys.Bytes(), 0u);
}

TEST(HotKeysQuery, WhatIsWrongIsSaid) {
  for (const char* query : {"from=x", "from=20&to=10", "fromHash=g", "toHash=00000000000000000"})
    EXPECT_FALSE(HotKeysQuery(query, 1'000'000'000).ok()) << query;
  EXPECT_EQ(HotKeysQuery("fromHash=8000000000000000", 1'000'000'000)->from_hash, 1ull << 63);
}

}  // namespace
}  // namespace stator::management
