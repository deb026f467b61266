#include "mcp/endpoint.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include "mcp/paged.h"

namespace stator::mcp {
namespace {

// A port on which nothing listens: what gets that far fails with kUnavailable.
EndpointSettings Nowhere(bool allow_writes) {
  EndpointSettings settings;
  settings.api = settings.management = *egress::ParseUrl("http://127.0.0.1:1");
  settings.key = {"AKID", "secret", ""};
  settings.allow_writes = allow_writes;
  return settings;
}

TEST(Endpoint, WithoutLeaveNoWriteIsSent) {
  const SystemClock clock;
  const EndpointSettings settings = Nowhere(false);
  Endpoint endpoint(settings, clock);
  for (const Change change :
       {Change::kPutItem, Change::kUpdateItem, Change::kDeleteItem, Change::kCreateTable})
    EXPECT_EQ(endpoint.Do(change, "{}").error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(endpoint.Set("PUT", "faults/votes", "{}").error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(endpoint.Set("GET", "status", "").error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(endpoint.Ask(Read::kScan, "{}").error().code(), ErrorCode::kUnavailable);
}

TEST(Endpoint, WithLeaveItIs) {
  const SystemClock clock;
  const EndpointSettings settings = Nowhere(true);
  Endpoint endpoint(settings, clock);
  EXPECT_EQ(endpoint.Do(Change::kPutItem, "{}").error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(endpoint.Set("POST", "clock", "{}").error().code(), ErrorCode::kUnavailable);
}

TEST(Endpoint, AllRequestsOfACallShareItsTime) {
  ManualClock clock;
  const EndpointSettings settings = Nowhere(false);
  Endpoint endpoint(settings, clock);
  clock.AdvanceMicros(settings.call_micros);
  const Result<std::string> late = endpoint.Ask(Read::kScan, "{}");
  ASSERT_FALSE(late.ok());
  EXPECT_NE(late.error().message().find("longer than a tool may"), std::string::npos);
}

// It takes connections, as the system does for it, and says nothing.
TEST(Endpoint, AServerThatHangsIsLeft) {
  const int silent = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof(address);
  ASSERT_EQ(::bind(silent, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(::listen(silent, 8), 0);
  ASSERT_EQ(::getsockname(silent, reinterpret_cast<sockaddr*>(&address), &size), 0);
  EndpointSettings settings = Nowhere(false);
  settings.api.port = ntohs(address.sin_port);
  settings.call_micros = 50'000;
  const SystemClock clock;
  Endpoint endpoint(settings, clock);
  const Result<std::string> answer = endpoint.Ask(Read::kScan, "{}");
  ::close(silent);
  ASSERT_FALSE(answer.ok());
  EXPECT_EQ(answer.error().code(), ErrorCode::kUnavailable);
}

TEST(ParseSelect, TakesSelectsOnly) {
  EXPECT_TRUE(ParseSelect("SELECT * FROM t", "").ok());
  EXPECT_TRUE(
      ParseSelect("/* x */ -- y\n select a FROM \"t\".\"i\" WHERE k = ?", R"([{"S":"x"}])").ok());
  for (const char* text :
       {"INSERT INTO t VALUE {'k': '1'}", "UPDATE t SET a = 1 WHERE k = '1'",
        "DELETE FROM t WHERE k = '1'", "EXISTS(SELECT * FROM t WHERE k = '1')",
        "/* SELECT */ DELETE FROM t WHERE k = '1'", "-- SELECT\nDELETE FROM t WHERE k = '1'",
        "SELECT * FROM t; DELETE FROM t WHERE k = '1'", "SELECT", "", ";", "'SELECT'",
        "\"SELECT\" * FROM t", "SELECT * FROM t WHERE k = ?"}) {
    EXPECT_FALSE(ParseSelect(text, "").ok()) << text;
  }
  EXPECT_FALSE(ParseSelect("SELECT * FROM t WHERE k = '" + std::string(9000, 'x') + "'", "").ok());
  EXPECT_FALSE(ParseSelect("SELECT * FROM t WHERE k = ?", R"([{"S":1}])").ok());
  EXPECT_FALSE(ParseSelect("SELECT * FROM t WHERE k = ?", R"({"S":"1"})").ok());
}

TEST(TablePath, TakesNamesOnly) {
  EXPECT_EQ(*TablePath("my.table-1_x", "heat/keys"), "tables/my.table-1_x/heat/keys");
  for (const char* name : {"", "ab", "../reset", "a/b", "a?b", "a b", "a%2fb", "tab\nle"})
    EXPECT_FALSE(TablePath(name, "x").ok()) << name;
  EXPECT_EQ(QueryPart("from", "a&b=c d"), "from=a%26b%3Dc%20d");
}

std::string Reply(int64_t items, size_t bytes) {
  ArrayText list;
  for (int64_t i = 0; i < items; ++i)
    list.Add(
        ObjectText().Add("v", ObjectText().AddText("S", std::string(bytes, 'x')).Take()).Take());
  return ObjectText()
      .Add("Items", list.Take())
      .AddWhole("ScannedCount", items)
      .Add("LastEvaluatedKey", R"({"k":{"S":"1"}})")
      .Take();
}

TEST(ReadPage, AsksForFewerItemsUntilTheyFit) {
  std::vector<int64_t> limits;
  const auto read = [&limits](int64_t limit) -> Result<std::string> {
    limits.push_back(limit);
    return Reply(limit, 1000);
  };
  const Result<ToolAnswer> answer = ReadPage(1000, {"LastEvaluatedKey", "next"}, "", read);
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(limits.size(), 2u);
  EXPECT_LT(limits.back(), 100);
  EXPECT_LE(answer->json.size(), kMostAnswerBytes + 1000);
  const Result<Document> object = Document::Parse(answer->json);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(NumberMember(object->root(), "count"), static_cast<double>(limits.back()));
  EXPECT_TRUE(Member(object->root(), "next"));
  EXPECT_TRUE(Member(object->root(), "note"));
}

TEST(ReadPage, TellsTheSizesOfAnItemThatIsTooLong) {
  int reads = 0;
  const auto read = [&reads](int64_t limit) -> Result<std::string> {
    ++reads;
    return Reply(limit, 2 * kMostAnswerBytes);
  };
  const Result<ToolAnswer> answer = ReadPage(10, {"LastEvaluatedKey", "next"}, ",\"a\":1", read);
  ASSERT_TRUE(answer.ok());
  EXPECT_LE(reads, 4);
  EXPECT_LT(answer->json.size(), 1000u);
  const Result<Document> object = Document::Parse(answer->json);
  ASSERT_TRUE(object.ok());
  EXPECT_TRUE(Member(object->root(), "attribute_sizes"));
  EXPECT_EQ(NumberMember(object->root(), "a"), 1);
}

}  // namespace
}  // namespace stator::mcp
