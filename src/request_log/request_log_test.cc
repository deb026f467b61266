#include <gtest/gtest.h>

#include <random>

#include "request_log/keyed_hash.h"
#include "request_log/read_line.h"
#include "request_log/write_line.h"

namespace stator::request_log {
namespace {

// Returns the line without its line feed.
std::string_view Body(const std::string& line) {
  EXPECT_TRUE(line.ends_with('\n'));
  return std::string_view(line).substr(0, line.size() - 1);
}

template <typename T>
T RoundTrip(const T& record) {
  const std::string line = WriteLine(record);
  EXPECT_EQ(line.find('\n'), line.size() - 1) << "one line";
  LineReader reader;
  const Result<Record> read = reader.Read(Body(line));
  EXPECT_TRUE(read.ok()) << (read.ok() ? "" : read.error().message()) << line;
  if (!read.ok() || !std::holds_alternative<T>(*read)) {
    ADD_FAILURE() << line;
    return T();
  }
  EXPECT_EQ(WriteLine(std::get<T>(*read)), line) << "nothing is lost";
  return std::get<T>(*read);
}

std::string Refusal(std::string_view line) {
  LineReader reader;
  const Result<Record> read = reader.Read(line);
  return read.ok() ? "" : read.error().message();
}

// The first vectors of the reference implementation: key 00 01 .. 0f, input 00 01 .. of growing
// length.
TEST(KeyedHashTest, ReferenceVectors) {
  const HashSecret key{0x0706050403020100, 0x0f0e0d0c0b0a0908};
  std::string input;
  EXPECT_EQ(KeyedHash(key, input), 0x726fdb47dd0e0e31u);
  for (char c = 0; c < 15; ++c) input += c;
  EXPECT_EQ(KeyedHash(key, input), 0xa129ca6149be45e5u);
}

TEST(RequestLogTest, RecordsRoundTrip) {
  EXPECT_EQ(RoundTrip(Header{5, KeyForm::kHashed, "ab12"}).salt, "ab12");
  EXPECT_EQ(RoundTrip(Header{1'795'262'400'123'456, KeyForm::kPlain, ""}).at_micros,
            1'795'262'400'123'456);
  EXPECT_EQ(RoundTrip(Lost{7, 12}).count, 12);
  EXPECT_EQ(RoundTrip(End{7, "size"}).reason, "size");

  TableDefinition table;
  table.name = "Music";
  table.partition = {"Artist:S"};
  table.sort = {"Song:S"};
  table.read_units = 5;
  table.max_write = 100;
  table.stream = true;
  table.bytes = 1 << 20;
  table.indexes.push_back(
      {"by-genre", true, {"a:S", "b:N"}, {"c:B"}, Projection::kInclude, {"x", "y"}, 1, 2, 3, 4});
  table.indexes.push_back(
      {"local", false, {"Artist:S"}, {"Year:N"}, Projection::kKeysOnly, {}, 0, 0, 0, 0});
  const TableDefinition read = RoundTrip(table);
  EXPECT_FALSE(read.on_demand);
  EXPECT_EQ(read.indexes.size(), 2u);
  EXPECT_FALSE(read.indexes.at(1).global);

  Request request;
  request.at_micros = 1'795'262'400'123'456;
  request.operation = "Query";
  request.table = "Music";
  request.index = "by-genre";
  request.keys.push_back({"S:quote \" line\nfeed\x1fN:1", "", std::nullopt});
  request.stored_bytes = 4097;
  request.asked_bytes = 10;
  request.read_units = 0.5;
  request.consistency = Consistency::kStrong;
  request.scanned = 100;
  request.returned = 0;
  request.attributes = {"x"};
  request.filter = {"status", "y"};
  EXPECT_EQ(RoundTrip(request).keys.at(0).partition, "S:quote \" line\nfeed\x1fN:1");

  Request batch;
  batch.operation = "BatchWriteItem";
  batch.table = "Music";
  batch.keys = {{"S:a", "S:1", 100}, {"S:b", "", std::nullopt}};
  batch.write_units = 3;
  batch.index_writes = {{"by-genre", 1, "S:rock"}, {"other", 2, ""}};
  batch.outcome = Outcome::kThrottled;
  const Request again = RoundTrip(batch);
  EXPECT_EQ(again.keys.at(0).bytes, 100);
  EXPECT_FALSE(again.keys.at(1).bytes);
  EXPECT_EQ(again.index_writes.at(0).partition, "S:rock");
  EXPECT_EQ(again.outcome, Outcome::kThrottled);
}

TEST(RequestLogTest, EqualKeysStayEqualUnderOneSecretOnly) {
  Request one;
  one.keys = {{"S:a", "S:b", {}}, {"S:b", "", {}}};
  one.index_writes = {{"i", 1, "S:a"}};
  Request two = one;
  HashKeys({1, 2}, &one);
  HashKeys({1, 3}, &two);
  EXPECT_EQ(one.keys[0].partition, one.index_writes[0].partition);
  EXPECT_EQ(one.keys[0].sort, one.keys[1].partition);
  EXPECT_EQ(one.keys[1].sort, "") << "no key stays no key";
  EXPECT_NE(one.keys[0].partition, one.keys[0].sort);
  EXPECT_NE(one.keys[0].partition, two.keys[0].partition);
  EXPECT_EQ(one.keys[0].partition.size(), 17u);
}

TEST(RequestLogTest, RefusesInvalidLines) {
  for (const char* line :
       {"", "{", "[]", "1", "null", "\"t\"", "{\"t\":1", "{}{}", "\xff\xfe", "{\"t\":1}x"}) {
    EXPECT_EQ(Refusal(line), "not a JSON object") << line;
  }
  EXPECT_EQ(Refusal("{}"), "no record of a request log");
  EXPECT_EQ(Refusal(R"({"stator_request_log":2,"at":1})"),
            "version 2 of the format; this program reads version 1");
  EXPECT_EQ(Refusal(R"({"t":-1,"op":"GetItem","tb":"a"})"), "member \"t\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1e99,"op":"GetItem","tb":"a"})"),
            "member \"t\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"tb":"a"})"), "member \"op\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"GetItem","tb":"a","r":-1})"),
            "member \"r\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"GetItem","tb":"a","r":1e300})"),
            "member \"r\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"GetItem","tb":"a","b":9e99})"),
            "member \"b\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"GetItem","tb":"a","m":[[]]})"),
            "member \"m\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"GetItem","tb":"a","m":[["S:a","",-5]]})"),
            "member \"m\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"PutItem","tb":"a","iw":[["i"]]})"),
            "member \"iw\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"GetItem","tb":"a","c":3})"),
            "member \"c\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"t":1,"op":"GetItem","tb":"a","x":"odd"})"),
            "member \"x\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"table":"a","at":1,"indexes":[{"name":"i","bytes":-1}]})"),
            "member \"bytes\" is not as it should be");
  EXPECT_EQ(Refusal(R"({"table":"a","at":1,"indexes":[7]})"),
            "member \"indexes\" is not as it should be");
  EXPECT_EQ(Refusal(std::string(kMaxLineBytes + 1, ' ')), "longer than any line of a recording");
  EXPECT_EQ(Refusal(std::string(5000, '[')), "not a JSON object");
}

TEST(RequestLogTest, IgnoresMembersOfLaterVersions) {
  LineReader reader;
  const Result<Record> read =
      reader.Read(R"({"t":1,"op":"GetItem","tb":"a","new":{"deep":[1]},"r":0.3})");
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::get<Request>(*read).read_units, 0.5) << "to half units";
}

// Reading returns for every damaged line.
TEST(RequestLogTest, SurvivesDamage) {
  Request request;
  request.operation = "TransactWriteItems";
  request.table = "Music";
  request.keys = {{"S:a", "S:1", 100}, {"S:b", "", 3}};
  request.index_writes = {{"by-genre", 1, "S:rock"}};
  request.filter = {"a"};
  const std::string line = WriteLine(request);
  std::mt19937 random(1);
  LineReader reader;
  int refused = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string damaged = line.substr(0, 1 + random() % line.size());
    for (unsigned n = random() % 4; n > 0; --n)
      damaged[random() % damaged.size()] = static_cast<char>(random());
    refused += reader.Read(damaged).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 15000);
}

}  // namespace
}  // namespace stator::request_log
