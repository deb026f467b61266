#include "management/pulse.h"

#include <gtest/gtest.h>

#include "management/test_server.h"

namespace stator::management {
namespace {

constexpr int64_t kSecond = 1'000'000;

class PulseTest : public testing::Test {
 protected:
  Sources Fakes() {
    Sources sources;
    sources.requests = [this] { return totals_; };
    sources.heat = [this](uint32_t tablet, throughput::HeatHistory::Window window) {
      ++maps_;
      return histories_[tablet].Map(window);
    };
    sources.not_ready = [this] { return not_ready_; };
    return sources;
  }
  PulseTest() {
    totals_.bounds = {0.001, 0.01};
    totals_.counts = {0, 0, 0};
    server_.environment().admission.Watch([this](const ops::Admission::Usage& usage) {
      const auto& resource = usage.resource;
      const uint32_t tablet = resource.index != nullptr ? resource.index->tablet_id
                                                        : resource.table->descriptor.tablet_id;
      histories_[tablet].Record(usage.to_micros, throughput::CountsOf(resource.meter->resource()));
    });
    pulse_.emplace(server_.environment(), events_, Fakes());
  }
  void Pass(int64_t seconds, int puts = 0) {
    for (int64_t i = 0; i < seconds; ++i) {
      for (int j = 0; j < puts; ++j) {
        server_.Must("PutItem",
                     R"({"TableName":"music","Item":{"pk":{"S":"nina"},"g":{"N":"1"}}})");
      }
      server_.clock().AdvanceMicros(kSecond);
      server_.environment().admission.Advance();
    }
  }
  Parsed Ask(int64_t since) { return Parsed(pulse_->Since(since)); }

  TestServer server_;
  Events events_{server_.environment()};
  std::map<uint32_t, throughput::HeatHistory> histories_;
  RequestTotals totals_;
  std::string not_ready_;
  int maps_ = 0;
  std::optional<Pulse> pulse_;
};

TEST_F(PulseTest, TheFirstAnswerIsWhole) {
  server_.Create("music", 5, R"(,"DeletionProtectionEnabled":true,"StreamSpecification":
      {"StreamEnabled":true,"StreamViewType":"NEW_IMAGE"})");
  const Parsed all = Ask(0);
  EXPECT_TRUE(bool(all["/whole"]));
  ASSERT_EQ(all.Size("/tables"), 1u);
  EXPECT_EQ(all.Text("/tables/0/name"), "music");
  EXPECT_EQ(all.Text("/tables/0/status"), "ACTIVE");
  EXPECT_EQ(all.Text("/tables/0/billing"), "PROVISIONED");
  EXPECT_EQ(all.Number("/tables/0/provisioned/read"), 5);
  EXPECT_EQ(all.Text("/tables/0/throttling"), "enforce");
  EXPECT_EQ(all.Whole("/tables/0/globalIndexes"), 1);
  EXPECT_EQ(all.Whole("/tables/0/localIndexes"), 0);
  EXPECT_EQ(all.Text("/tables/0/stream"), "NEW_IMAGE");
  EXPECT_TRUE(all["/tables/0/ttl"].is_null());
  EXPECT_TRUE(bool(all["/tables/0/protected"]));
  EXPECT_TRUE(all["/tables/0/hottest"].is_null());
  EXPECT_EQ(all.Size("/tables/0/strip"), all.Whole("/tables/0/partitions") * 1u);
  EXPECT_TRUE(bool(all["/ready"]));
  EXPECT_TRUE(all["/notReady"].is_null());
  EXPECT_TRUE(all["/requests/p50"].is_null());
}

TEST_F(PulseTest, LaterAnswersHaveWhatChanged) {
  server_.Create("music", 5);
  server_.Create("votes", 5);
  const int64_t seq = Ask(0).Whole("/seq");
  EXPECT_EQ(Ask(seq).Size("/tables"), 0u);
  Pass(1, 1);
  const Parsed changed = Ask(seq);
  EXPECT_FALSE(bool(changed["/whole"]));
  ASSERT_EQ(changed.Size("/tables"), 1u) << changed.text();
  EXPECT_EQ(changed.Text("/tables/0/name"), "music");
  EXPECT_EQ(changed.Whole("/tables/0/items"), 1);
  server_.Must("DeleteTable", R"({"TableName":"votes"})");
  const Parsed gone = Ask(changed.Whole("/seq"));
  EXPECT_EQ(gone.Size("/tables"), 0u) << gone.text();
  ASSERT_EQ(gone.Size("/dropped"), 1u);
  EXPECT_EQ(gone.Text("/dropped/0"), "votes");
  EXPECT_EQ(Ask(gone.Whole("/seq")).Size("/dropped"), 0u);
  // Numbers that this process never answered.
  EXPECT_TRUE(bool(Ask(seq - 1)["/whole"]));
  EXPECT_TRUE(bool(Ask(gone.Whole("/seq") + 1)["/whole"]));
}

TEST_F(PulseTest, ATableMadeAgainIsNotDropped) {
  server_.Create("music", 5);
  const int64_t seq = Ask(0).Whole("/seq");
  server_.Must("DeleteTable", R"({"TableName":"music"})");
  Ask(0);
  server_.Create("music", 6);
  const Parsed again = Ask(seq);
  EXPECT_EQ(again.Size("/dropped"), 0u) << again.text();
  ASSERT_EQ(again.Size("/tables"), 1u);
  EXPECT_EQ(again.Number("/tables/0/provisioned/read"), 6);
}

TEST_F(PulseTest, RatesAreMeansOfFullSecondsAndEndWithTheUse) {
  server_.Create("music", 5);
  Pass(10, 3);
  const Parsed busy = Ask(0);
  EXPECT_NEAR(busy.Number("/tables/0/consumed/write"), 3, 0.2) << busy.text();
  EXPECT_NEAR(busy.Number("/tables/0/use"), 0.6, 0.05);
  EXPECT_EQ(busy.Text("/tables/0/hottest/key"), "nina");
  EXPECT_EQ(busy.Whole("/tables/0/hottest/number"), 0);
  EXPECT_GT(busy.Number("/tables/0/hottest/heat"), 0.002);
  EXPECT_GT(busy.Number("/tables/0/strip/0/1"), 0.002);
  Pass(20);
  const Parsed quiet = Ask(0);
  EXPECT_EQ(quiet.Number("/tables/0/consumed/write"), 0) << quiet.text();
  EXPECT_TRUE(quiet["/tables/0/hottest"].is_null());
}

// Each of 100 units, of which 5 come a second: in most spans of five seconds none is served.
TEST_F(PulseTest, APartitionThatOnlyRefusesIsTheHottest) {
  server_.Create("music", 5);
  const std::string large = R"({"TableName":"music","Item":{"pk":{"S":"nina"},"t":{"S":")" +
                            std::string(100 * 1024 - 50, 'x') + R"("}}})";
  for (int i = 0; i < 30; ++i) server_.Ask("PutItem", large);
  Pass(7);
  server_.Ask("PutItem", large);
  Pass(1);
  const Parsed refused = Ask(0);
  EXPECT_EQ(refused.Number("/tables/0/consumed/write"), 0) << refused.text();
  EXPECT_GT(refused.Number("/tables/0/refused/write"), 0);
  EXPECT_EQ(refused.Number("/tables/0/hottest/heat"), 0);
  EXPECT_EQ(refused.Text("/tables/0/hottest/key"), "nina");
}

TEST_F(PulseTest, AQuietTableIsNotLookedAt) {
  server_.Create("music", 5);
  Pass(1, 1);
  Ask(0);
  for (int i = 0; i < 12; ++i) {
    Pass(1);
    Ask(0);
  }
  maps_ = 0;
  for (int i = 0; i < 5; ++i) {
    Pass(1);
    Ask(0);
  }
  EXPECT_EQ(maps_, 0);
  Pass(1, 1);
  Ask(0);
  EXPECT_EQ(maps_, 2);  // of the table and of its index
}

TEST_F(PulseTest, RequestsAreRatesOfTheLastSeconds) {
  Ask(0);
  totals_.served = 40;
  totals_.counts = {20, 19, 1};
  totals_.throttled = 6;
  totals_.user_errors = 2;
  not_ready_ = "the disk is full";
  Pass(2);
  const Parsed now = Ask(0);
  EXPECT_EQ(now.Number("/requests/perSecond"), 24);
  EXPECT_EQ(now.Number("/requests/throttled"), 3);
  EXPECT_EQ(now.Number("/requests/userErrors"), 1);
  EXPECT_EQ(now.Number("/requests/p50"), 1);
  EXPECT_GT(now.Number("/requests/p99"), 9);
  EXPECT_FALSE(bool(now["/ready"]));
  EXPECT_EQ(now.Text("/notReady"), "the disk is full");
  for (int i = 0; i < 8; ++i) {
    Pass(1);
    Ask(0);
  }
  EXPECT_EQ(Ask(0).Number("/requests/perSecond"), 0);
}

}  // namespace
}  // namespace stator::management
