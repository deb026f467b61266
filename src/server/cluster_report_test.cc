#include "server/cluster_report.h"

#include <gmock/gmock.h>

#include "server/test_instances.h"
#include "simdjson.h"

namespace stator::server {
namespace {

using testing::HasSubstr;

class ClusterReportTest : public test::InstancesTest {
 protected:
  // A process that has shown itself once and then died.
  void LeaveADeadProcess() {
    kv_tx::TransactionEngine engine(memory_.Attach(), {.threads = 1});
    fleet::Fleet fleet(engine, clock_,
                       {"00000000000dead0", {.endpoint = "gone:1", .clock = "system"}, {}});
    ASSERT_TRUE(fleet.Step().ok());
  }
  const SystemClock clock_;
};

TEST_F(ClusterReportTest, SaysWhatAServerKnows) {
  Instance& instance = Add({.interval_micros = int64_t{3600} * 1'000'000});
  const std::vector<kv::Tablet> tables = {CreateTable(instance, "music"),
                                          CreateTable(instance, "votes")};
  const http::Reply put = Ask(instance, "POST", "/", "DynamoDB_20120810.PutItem",
                              R"({"TableName":"music","Item":{"pk":{"S":"a"}}})");
  ASSERT_EQ(put.status, 200) << put.body;
  ASSERT_EQ(Ask(instance, "PUT", "/_stator/throttling", "", R"({"mode":"observe"})").status, 200);
  DieInATransaction(tables, "undecided", 1);
  Await([&] { return !instance.peers()->fleet().membership().leases.empty(); });

  const http::Reply reply = Ask(instance, "GET", "/_stator/cluster");
  ASSERT_EQ(reply.status, 200) << reply.body;
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  ASSERT_EQ(parser.parse(reply.body).get(json), simdjson::SUCCESS) << reply.body;
  ASSERT_EQ(json["processes"].get_array().size(), 1u);
  EXPECT_EQ(json["processes"].at(0)["endpoint"].get_string().value(), "localhost:8101");
  EXPECT_EQ(json["processes"].at(0)["state"].get_string().value(), "alive");
  EXPECT_EQ(json["processes"].at(0)["leases"].get_int64().value(),
            static_cast<int64_t>(json["leases"].get_object().size()));
  EXPECT_GT(json["settings"].get_object().size(), 0u);
  EXPECT_EQ(json["unfinished"].get_int64().value(), 1);
  EXPECT_GE(json["oldestUnfinishedSeconds"].get_double().value(), 3600);
  std::map<std::string_view, simdjson::dom::element> tablets;
  for (const simdjson::dom::element tablet : json["tablets"].get_array())
    tablets[tablet["purpose"].get_string().value()] = tablet;
  EXPECT_TRUE(tablets.contains("catalog") && tablets.contains("processes"));
  ASSERT_TRUE(tablets.contains("items of music") && tablets.contains("items of votes"));
  EXPECT_GT(tablets["items of music"]["bytes"].get_int64().value(), 0);
  EXPECT_EQ(tablets["items of votes"]["unfinished"].get_int64().value(), 1);
  EXPECT_GE(tablets["items of votes"]["oldestUnfinishedSeconds"].get_double().value(), 3600);

  ASSERT_TRUE(instance.sweep()->Step().ok());
  EXPECT_THAT(Ask(instance, "GET", "/_stator/cluster").body,
              HasSubstr(R"("unfinished":0,"oldest)"));
}

TEST_F(ClusterReportTest, TheAgeOfWhatIsUnfinishedIsAMetric) {
  Instance& instance = Add({.interval_micros = int64_t{3600} * 1'000'000});
  const std::vector<kv::Tablet> tables = {CreateTable(instance, "table-a"),
                                          CreateTable(instance, "table-b")};
  DieInATransaction(tables, "undecided", 1);
  Await([&] {
    return instance.peers()->IsMine(tables[0].id) && instance.peers()->IsMine(tables[1].id);
  });
  ASSERT_TRUE(instance.sweep()->Step().ok());
  const std::string seen = Ask(instance, "GET", "/metrics").body;
  EXPECT_THAT(seen, HasSubstr("\nstator_unfinished_transactions 1\n"));
  EXPECT_THAT(seen, HasSubstr("\nstator_oldest_unfinished_transaction_seconds 36"));
  ASSERT_TRUE(instance.sweep()->Step().ok());
  EXPECT_THAT(Ask(instance, "GET", "/metrics").body,
              HasSubstr("\nstator_oldest_unfinished_transaction_seconds 0\n"));
}

TEST_F(ClusterReportTest, WhoeverWatchesKnowsWhoLives) {
  LeaveADeadProcess();
  Instance& instance = Add();
  CreateTable(instance, "music");
  kv_tx::TransactionEngine engine(memory_.Attach(), {.threads = 1});
  const Result<fleet::Membership> membership = WatchMembership(engine, clock_);
  ASSERT_TRUE(membership.ok()) << membership.error().message();
  ASSERT_EQ(membership->members.size(), 2u);
  for (const auto& [id, member] : membership->members)
    EXPECT_EQ(member.alive, id == instance.peers()->id());
  const Result<ClusterReport> report = MakeClusterReport(engine, *membership, clock_.NowMicros());
  ASSERT_TRUE(report.ok());
  const std::string text = RenderText(*report);
  EXPECT_THAT(text, HasSubstr("00000000000dead0  gone:1"));
  EXPECT_THAT(text, HasSubstr("dead\n"));
  EXPECT_THAT(text, HasSubstr("localhost:8101"));
  EXPECT_THAT(text, HasSubstr("alive\n"));
  EXPECT_THAT(text, HasSubstr("items of music"));
  EXPECT_THAT(text, HasSubstr("\n0 unfinished shares of transactions\n"));
}

TEST_F(ClusterReportTest, SaysWhoDoesNotReachWhom) {
  Instance& one = Add();
  Instance& other = Add();
  one.peers()->fleet().SetUnreached(other.peers()->id() + ",00000000000dead0");
  const std::string sentence =
      "\n" + one.peers()->id() + " does not reach " + other.peers()->id() + ": it serves";
  kv_tx::TransactionEngine engine(memory_.Attach(), {.threads = 1});
  std::string text, json;
  Await([&] {
    const Result<fleet::Membership> membership = WatchMembership(engine, clock_);
    if (!membership.ok()) return false;
    const Result<ClusterReport> report = MakeClusterReport(engine, *membership, clock_.NowMicros());
    if (!report.ok()) return false;
    text = RenderText(*report);
    json = RenderJson(*report);
    return text.find(sentence) != std::string::npos;
  });
  EXPECT_THAT(text, testing::Not(HasSubstr("dead0")));
  EXPECT_THAT(json, HasSubstr("\"unreached\":[\"" + other.peers()->id() + "\"]"));
}

}  // namespace
}  // namespace stator::server
