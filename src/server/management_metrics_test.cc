// /metrics, as the management calls render it.
#include <algorithm>

#include "base/compress.h"
#include "server/seed_data.h"
#include "server/test_management.h"
#include "simdjson.h"

namespace stator::server {
namespace {

api::RequestRecord Record(std::string_view operation, std::string_view table,
                          std::string_view error = "", int status = 200) {
  api::RequestRecord record;
  record.operation = operation;
  record.table = table;
  record.error = error;
  record.status = status;
  record.latency_micros = 700;
  record.items = 2;
  return record;
}

TEST_F(ManagementTest, MetricsText) {
  WriteMusic();
  ASSERT_TRUE(LoadSeedData(environment_, directory_).ok());
  metrics_.OnRequest(Record("GetItem", "Music"));
  metrics_.OnRequest(Record("GetItem", "arn:aws:dynamodb:us-east-1:000000000001:table/Music"));
  metrics_.OnRequest(Record("PutItem", "Music", "ConditionalCheckFailedException", 400));
  metrics_.OnRequest(Record("PutItem", "Music", "InternalServerError", 500));
  metrics_.OnRequest(Record("GetItem", "invented", "ResourceNotFoundException", 400));
  metrics_.OnRequest(Record("GetItem", "arn:aws:dynamodb:invented:000000000001:table/Music",
                            "ValidationException", 400));
  metrics_.OnRequest(Record("GetItem", "arn:invented", "ValidationException", 400));
  metrics_.OnExpired({"Music", 5, 90});
  metrics_.OnExpired({"Music", 2, 30});
  const http::Reply reply = Send(*Make(), "GET", "/metrics");
  EXPECT_EQ(reply.status, 200);
  for (const char* line :
       {"stator_successful_request_latency_seconds_count{operation=\"GetItem\",table=\"Music\"} "
        "2\n",
        "stator_successful_request_latency_seconds_bucket{operation=\"GetItem\",table=\"Music\",le="
        "\"0.0005\"} 0\n",
        "stator_successful_request_latency_seconds_bucket{operation=\"GetItem\",table=\"Music\",le="
        "\"0.001\"} 2\n",
        "stator_returned_item_count_total{operation=\"GetItem\",table=\"Music\"} 4\n",
        "stator_conditional_check_failed_requests_total{table=\"Music\"} 1\n",
        "stator_system_errors_total{error=\"InternalServerError\",operation=\"PutItem\",table="
        "\"Music\"} 1\n",
        "stator_user_errors_total{error=\"ResourceNotFoundException\",operation=\"GetItem\",table="
        "\"\"} 1\n",
        "stator_user_errors_total{error=\"ValidationException\",operation=\"GetItem\",table="
        "\"Music\"} 1\n",
        "stator_time_to_live_deleted_item_count_total{table=\"Music\"} 7\n",
        "stator_time_to_live_backlog_seconds{table=\"Music\"} 30\n", "stator_connections 3\n",
        "stator_connections_limit 20\n", "stator_connections_refused 5\n", "stator_tables 1\n",
        "stator_uptime_seconds "}) {
    EXPECT_NE(reply.body.find(line), std::string::npos) << line << "\n" << reply.body;
  }
  EXPECT_EQ(reply.body.find("invented"), std::string::npos)
      << "a name that a client made up is no label";
  EXPECT_EQ(reply.body.find("arn:"), std::string::npos);
}

TEST_F(ManagementTest, MetricsAreRenderedOffTheLoop) {
  const std::unique_ptr<Management> management = Make();
  for (int i = 0; i < 20; ++i) metrics_.OnRequest(Record("GetItem", "table" + std::to_string(i)));
  std::optional<http::Reply> reply;
  http::Request request;
  request.method = "GET";
  request.target = "/metrics";
  request.headers = {{"Host", "localhost"}, {"Accept-Encoding", "gzip"}};
  management->Handle(std::make_unique<TestExchange>(loop_, std::move(request), &reply));
  EXPECT_FALSE(reply.has_value()) << "rendered on the thread of the loop";
  loop_.RunUntil([&] { return reply.has_value(); });
  ASSERT_EQ(reply->status, 200);
  const Result<std::string> text = Decompress(Encoding::kGzip, reply->body, 1 << 20);
  ASSERT_TRUE(text.ok()) << "not packed, though it is long";
  EXPECT_NE(text->find("stator_uptime_seconds"), std::string::npos);
}

TEST_F(ManagementTest, AllSeriesAreRendered) {
  // More than are collected under one lock.
  Metrics metrics([](std::string_view) { return true; });
  constexpr int kTables = 600;
  for (int i = 0; i < kTables; ++i)
    metrics.OnRequest(Record("GetItem", "table" + std::to_string(i)));
  const std::string text = metrics.Render({});
  for (int i = 0; i < kTables; ++i) {
    const std::string label = "table=\"table" + std::to_string(i) + "\"";
    EXPECT_NE(text.find(label), std::string::npos) << label;
  }
  const std::string count = "stator_successful_request_latency_seconds_count{";
  int series = 0;
  for (size_t at = text.find(count); at != std::string::npos; at = text.find(count, at + 1))
    ++series;
  EXPECT_EQ(series, kTables);
}

TEST_F(ManagementTest, SeriesOfATableEndWithIt) {
  bool there = true;
  Metrics metrics(
      [&there](std::string_view table) { return table == "Kept" || (table == "Gone" && there); });
  const auto count_all = [&metrics](std::string_view table) {
    metrics.OnRequest(Record("GetItem", table));
    metrics.OnRequest(Record("PutItem", table, "ConditionalCheckFailedException", 400));
    metrics.OnRequest(Record("PutItem", table, "TransactionConflictException", 400));
    metrics.OnRequest(Record("PutItem", table, "ThrottlingException", 400));
    metrics.OnRequest(Record("PutItem", table, "InternalServerError", 500));
    metrics.OnExpired({table, 1, 2});
  };
  count_all("Gone");
  count_all("Kept");
  EXPECT_NE(metrics.Render({}).find("table=\"Gone\""), std::string::npos);
  there = false;
  // DeleteTable itself, and whatever still runs.
  metrics.OnRequest(Record("DeleteTable", "Gone"));
  metrics.OnExpired({"Gone", 1, 2});
  const std::string without = metrics.Render({});
  EXPECT_EQ(without.find("Gone"), std::string::npos) << without;
  for (const char* line :
       {"_count{operation=\"DeleteTable\",table=\"\"} 1\n",
        "_count{operation=\"GetItem\",table=\"Kept\"} 1\n",
        "stator_transaction_conflict_total{table=\"Kept\"} 1\n",
        "stator_throttled_requests_total{operation=\"PutItem\",table=\"Kept\"} 1\n"}) {
    EXPECT_NE(without.find(line), std::string::npos) << line << without;
  }
  // Another table of that name begins at 0.
  there = true;
  metrics.OnRequest(Record("GetItem", "Gone"));
  EXPECT_NE(metrics.Render({}).find("_count{operation=\"GetItem\",table=\"Gone\"} 1\n"),
            std::string::npos);
}

TEST_F(ManagementTest, TwoMetricsObjectsDoNotShareSeries) {
  const auto all = [](std::string_view) { return true; };
  {
    Metrics other(all);
    other.OnRequest(Record("GetItem", "Music"));
    EXPECT_NE(other.Render({}).find("_count{"), std::string::npos);
  }
  Metrics metrics(all);
  metrics.OnRequest(Record("GetItem", "Music"));
  EXPECT_NE(metrics.Render({}).find("_count{operation=\"GetItem\",table=\"Music\"} 1\n"),
            std::string::npos);
}

}  // namespace
}  // namespace stator::server
