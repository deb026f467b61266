#include "server/recorder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "api/service.h"
#include "base/log.h"
#include "base/pump.h"
#include "kv/memory_engine.h"
#include "request_log/read_line.h"

namespace stator::server {
namespace {

using request_log::Record;
using request_log::Request;
using request_log::TableDefinition;

constexpr std::string_view kAuthorization =
    "AWS4-HMAC-SHA256 Credential=AKID/20261101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=abc";

std::string ReadText(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// A whole service over a store in memory, recorded.
class RecorderTest : public testing::Test {
 protected:
  void SetUp() override {
    SetLogLevel(LogLevel::kOff);
    char name[] = "/tmp/stator-record-XXXXXX";
    directory_ = mkdtemp(name);
    path_ = (directory_ / "requests.log").string();
  }
  void TearDown() override {
    service_.reset();
    recorder_.reset();
    workers_.Stop();
    std::filesystem::remove_all(directory_);
    SetLogLevel(LogLevel::kInfo);
  }

  Result<std::unique_ptr<Recorder>> Open(RecorderOptions options = {}) {
    options.path = path_;
    return Recorder::Open(options, *store_, clock_);
  }
  void Serve(bool recorded, RecorderOptions options = {}) {
    if (recorded) {
      Result<std::unique_ptr<Recorder>> opened = Open(options);
      ASSERT_TRUE(opened.ok()) << opened.error().message();
      recorder_ = std::move(*opened);
    }
    api::Registry registry;
    api::RegisterAll(&registry);
    service_ = std::make_unique<api::Service>(environment_, std::move(registry),
                                              std::make_unique<api::ShapeAuthenticator>(),
                                              api::ServiceOptions{}, nullptr, recorder_.get());
  }
  std::string Call(const std::string& operation, std::string body) {
    const size_t size = body.size();
    body.append(api::kBodyPadding, '\0');
    api::Incoming incoming{"POST", "/", {}, std::string_view(body).substr(0, size)};
    const std::string target = "DynamoDB_20120810." + operation;
    incoming.headers.Add("X-Amz-Target", target);
    incoming.headers.Add("Content-Type", "application/x-amz-json-1.0");
    incoming.headers.Add("X-Amz-Date", "20261101T000000Z");
    incoming.headers.Add("Authorization", kAuthorization);
    std::optional<std::string> reply;
    service_->Handle(incoming, loop_,
                     [&](api::Outgoing outgoing) { reply = std::move(outgoing.body); });
    loop_.RunUntil([&] { return reply.has_value(); });
    return *reply;
  }
  void CreateTable() {
    const std::string reply = Call("CreateTable", R"({"TableName":"Tab","BillingMode":"PROVISIONED",
      "ProvisionedThroughput":{"ReadCapacityUnits":7,"WriteCapacityUnits":9},
      "AttributeDefinitions":[{"AttributeName":"p","AttributeType":"S"},{"AttributeName":"s","AttributeType":"N"},
        {"AttributeName":"g","AttributeType":"S"},{"AttributeName":"l","AttributeType":"S"}],
      "KeySchema":[{"AttributeName":"p","KeyType":"HASH"},{"AttributeName":"s","KeyType":"RANGE"}],
      "LocalSecondaryIndexes":[{"IndexName":"local","KeySchema":[{"AttributeName":"p","KeyType":"HASH"},
        {"AttributeName":"l","KeyType":"RANGE"}],"Projection":{"ProjectionType":"KEYS_ONLY"}}],
      "GlobalSecondaryIndexes":[{"IndexName":"global","KeySchema":[{"AttributeName":"g","KeyType":"HASH"}],
        "Projection":{"ProjectionType":"INCLUDE","NonKeyAttributes":["x"]},
        "ProvisionedThroughput":{"ReadCapacityUnits":3,"WriteCapacityUnits":4}}]})");
    ASSERT_NE(reply.find("TableDescription"), std::string::npos) << reply;
  }
  std::vector<Record> Read() {
    std::vector<Record> records;
    std::istringstream lines(ReadText(path_));
    request_log::LineReader reader;
    for (std::string line; std::getline(lines, line);) {
      Result<Record> record = reader.Read(line);
      EXPECT_TRUE(record.ok()) << line;
      if (record.ok()) records.push_back(*std::move(record));
    }
    return records;
  }
  template <typename T>
  std::vector<T> All() {
    std::vector<T> all;
    for (Record& record : Read()) {
      if (std::holds_alternative<T>(record)) all.push_back(std::get<T>(std::move(record)));
    }
    return all;
  }

  std::filesystem::path directory_;
  std::string path_;
  ManualClock clock_;
  SeededRandom random_{1};
  kv::MemoryEngine engine_;
  WorkerPool workers_{1, 100};
  std::unique_ptr<table::Store> store_ = *table::Store::Open(engine_, clock_, workers_);
  ops::Environment environment_{*store_, clock_, random_, workers_, {}};
  Pump loop_;
  std::unique_ptr<Recorder> recorder_;
  std::unique_ptr<api::Service> service_;
};

// What is recorded of each kind of request, with the units that the service answers.
TEST_F(RecorderTest, SaysWhatRequestsDidAndCost) {
  Serve(true);
  CreateTable();
  Call("PutItem",
       R"({"TableName":"Tab","Item":{"p":{"S":"a"},"s":{"N":"1.0"},"g":{"S":"hot"},"x":{"S":")" +
           std::string(3000, 'x') + R"("}}})");
  Call("GetItem", R"({"TableName":"Tab","Key":{"p":{"S":"a"},"s":{"N":"1"}},"ConsistentRead":true,
      "ProjectionExpression":"#g, s","ExpressionAttributeNames":{"#g":"g"}})");
  Call("UpdateItem",
       R"({"TableName":"Tab","Key":{"p":{"S":"a"},"s":{"N":"1"}},"UpdateExpression":"ADD n :one",
      "ExpressionAttributeValues":{":one":{"N":"1"}}})");
  Call(
      "Query",
      R"({"TableName":"Tab","IndexName":"global","KeyConditionExpression":"g = :g","FilterExpression":"x = :x",
      "ExpressionAttributeValues":{":g":{"S":"hot"},":x":{"S":"no"}}})");
  Call("Scan",
       R"({"TableName":"Tab","Select":"COUNT","ScanFilter":{"n":{"ComparisonOperator":"NULL"}}})");
  Call("BatchWriteItem",
       R"({"RequestItems":{"Tab":[{"PutRequest":{"Item":{"p":{"S":"b"},"s":{"N":"2"}}}},
      {"DeleteRequest":{"Key":{"p":{"S":"c"},"s":{"N":"3"}}}}]}})");
  Call("TransactGetItems",
       R"({"TransactItems":[{"Get":{"TableName":"Tab","Key":{"p":{"S":"b"},"s":{"N":"2"}}}}]})");
  Call("ExecuteStatement", R"({"Statement":" SELECT * FROM \"Tab\" WHERE p = 'b'"})");
  Call(
      "PutItem",
      R"j({"TableName":"Tab","Item":{"p":{"S":"a"},"s":{"N":"1"}},"ConditionExpression":"attribute_not_exists(p)"})j");
  Call("PutItem", R"({"TableName":"Tab","Item":{"p":{"S":"a"}}})");
  Call("GetItem", R"({"TableName":"Gone","Key":{"p":{"S":"a"}}})");
  recorder_->Stop();

  const std::vector<TableDefinition> tables = All<TableDefinition>();
  ASSERT_EQ(tables.size(), 2u) << "when it is first used, and at the end";
  EXPECT_EQ(tables[0].partition, std::vector<std::string>{"p:S"});
  EXPECT_EQ(tables[0].sort, std::vector<std::string>{"s:N"});
  EXPECT_EQ(tables[0].read_units, 7);
  ASSERT_EQ(tables[0].indexes.size(), 2u);
  EXPECT_EQ(tables[0].indexes[1].attributes, std::vector<std::string>{"x"});
  EXPECT_EQ(tables[0].indexes[1].write_units, 4);
  EXPECT_EQ(tables[1].items, 2);

  const std::vector<Request> requests = All<Request>();
  ASSERT_EQ(requests.size(), 9u) << "requests that are wrong are no traffic";
  const Request& put = requests[0];
  EXPECT_EQ(put.operation, "PutItem");
  EXPECT_EQ(put.keys.at(0).partition, "S:a");
  EXPECT_EQ(put.keys.at(0).sort, "N:1") << "equal numbers are equal keys";
  EXPECT_EQ(put.write_units, 3);
  EXPECT_EQ(put.at_micros, clock_.NowMicros());
  ASSERT_EQ(put.index_writes.size(), 1u);
  EXPECT_EQ(put.index_writes[0].index, "global");
  EXPECT_EQ(put.index_writes[0].units, 3);
  EXPECT_EQ(put.index_writes[0].partition, "S:hot");
  const int64_t bytes = put.stored_bytes.value();
  EXPECT_GT(bytes, 3000);
  const Request& get = requests[1];
  EXPECT_EQ(get.stored_bytes, bytes);
  EXPECT_EQ(get.read_units, 1);
  EXPECT_EQ(get.consistency, request_log::Consistency::kStrong);
  EXPECT_EQ(get.attributes, (std::vector<std::string>{"g", "s"}));
  EXPECT_LT(get.asked_bytes.value(), 20);
  const Request& update = requests[2];
  EXPECT_EQ(update.write_units, 3);
  EXPECT_LT(update.asked_bytes.value(), 20);
  EXPECT_TRUE(update.index_writes.empty()) << "the entry did not change";
  const Request& query = requests[3];
  EXPECT_EQ(query.index, "global");
  EXPECT_EQ(query.keys.at(0).partition, "S:hot");
  EXPECT_EQ(query.scanned, 1);
  EXPECT_EQ(query.returned, 0);
  EXPECT_EQ(query.filter, std::vector<std::string>{"x"});
  EXPECT_EQ(query.read_units, 0.5);
  const Request& scan = requests[4];
  EXPECT_EQ(scan.filter, std::vector<std::string>{"n"});
  EXPECT_EQ(scan.attributes, std::vector<std::string>{"p"}) << "a count needs the keys";
  EXPECT_TRUE(scan.keys.empty());
  const Request& batch = requests[5];
  EXPECT_EQ(batch.keys.size(), 2u);
  EXPECT_EQ(batch.write_units, 2);
  EXPECT_EQ(requests[6].consistency, request_log::Consistency::kTransactional);
  EXPECT_EQ(requests[6].read_units, 2);
  EXPECT_EQ(requests[7].operation, "ExecuteStatement");
  EXPECT_EQ(requests[7].read_units, 0.5);
  EXPECT_EQ(requests[8].outcome, request_log::Outcome::kConditionFailed);
  EXPECT_EQ(All<request_log::End>().at(0).reason, "stopped");
  EXPECT_EQ(recorder_->written(), 9);
  EXPECT_EQ(recorder_->lost(), 0);
}

// Clients are told the same with and without a recording, whatever capacity they ask for.
TEST_F(RecorderTest, AnswersAreTheSame) {
  std::vector<std::string> answers[2];
  for (const bool recorded : {false, true}) {
    Serve(recorded);
    CreateTable();
    for (const char* wanted :
         {"", R"(,"ReturnConsumedCapacity":"NONE")", R"(,"ReturnConsumedCapacity":"TOTAL")",
          R"(,"ReturnConsumedCapacity":"INDEXES")"}) {
      const std::string key = R"("Key":{"p":{"S":"a"},"s":{"N":"1"}})";
      const std::string item =
          R"("Item":{"p":{"S":"a"},"s":{"N":"1"},"g":{"S":"x"},"l":{"S":"y"}})";
      const std::vector<std::pair<std::string, std::string>> calls = {
          {"PutItem", R"({"TableName":"Tab",)" + item + wanted + "}"},
          {"GetItem", R"({"TableName":"Tab",)" + key + wanted + "}"},
          {"UpdateItem",
           R"({"TableName":"Tab",)" + key +
               R"(,"UpdateExpression":"SET g = :v","ExpressionAttributeValues":{":v":{"S":"z"}})" +
               wanted + "}"},
          {"Query",
           R"({"TableName":"Tab","IndexName":"global","KeyConditionExpression":"g = :v","ExpressionAttributeValues":{":v":{"S":"z"}})" +
               std::string(wanted) + "}"},
          {"Query",
           R"({"TableName":"Tab","IndexName":"local","Select":"ALL_ATTRIBUTES","KeyConditionExpression":"p = :v","ExpressionAttributeValues":{":v":{"S":"a"}})" +
               std::string(wanted) + "}"},
          {"Scan", R"({"TableName":"Tab")" + std::string(wanted) + "}"},
          {"BatchGetItem", R"({"RequestItems":{"Tab":{"Keys":[{"p":{"S":"a"},"s":{"N":"1"}}]}})" +
                               std::string(wanted) + "}"},
          {"BatchWriteItem",
           R"({"RequestItems":{"Tab":[{"PutRequest":{)" + item + "}}]}" + wanted + "}"},
          {"TransactGetItems",
           R"({"TransactItems":[{"Get":{"TableName":"Tab",)" + key + "}}]" + wanted + "}"},
          {"TransactWriteItems",
           R"({"TransactItems":[{"Put":{"TableName":"Tab",)" + item + "}}]" + wanted + "}"},
          {"ExecuteStatement", R"({"Statement":"SELECT * FROM Tab")" + std::string(wanted) + "}"},
          {"BatchExecuteStatement",
           R"({"Statements":[{"Statement":"SELECT * FROM Tab WHERE p='a' AND s=1"}])" +
               std::string(wanted) + "}"},
          {"ExecuteTransaction",
           R"({"TransactStatements":[{"Statement":"SELECT * FROM Tab WHERE p='a' AND s=1"}])" +
               std::string(wanted) + "}"},
          {"DeleteItem", R"({"TableName":"Tab",)" + key + wanted + "}"},
      };
      for (const auto& [operation, body] : calls)
        answers[recorded].push_back(operation + " " + Call(operation, body));
    }
    Call("DeleteTable", R"({"TableName":"Tab"})");
  }
  EXPECT_EQ(answers[0], answers[1]);
  EXPECT_EQ(answers[0].size(), 56u);
  for (const std::string& answer : answers[0])
    EXPECT_EQ(answer.find("__type"), std::string::npos) << answer;
}

TEST_F(RecorderTest, HidesKeysAndKeepsThemEqualAcrossRestarts) {
  RecorderOptions options;
  options.keys = request_log::KeyForm::kHashed;
  options.new_secret = {1, 2};
  const std::string put =
      R"({"TableName":"Tab","Item":{"p":{"S":"secret-name"},"s":{"N":"12345"},"g":{"S":"secret-group"}}})";
  Serve(true, options);
  CreateTable();
  Call("PutItem", put);
  recorder_->Stop();
  service_.reset();
  recorder_.reset();
  options.new_secret = {3, 4};
  Serve(true, options);
  Call("PutItem", put);
  recorder_->Stop();
  const std::vector<Request> requests = All<Request>();
  ASSERT_EQ(requests.size(), 2u);
  EXPECT_EQ(requests[0].keys[0].partition, requests[1].keys[0].partition);
  EXPECT_EQ(requests[0].keys[0].sort, requests[1].keys[0].sort);
  EXPECT_TRUE(requests[0].keys[0].partition.starts_with("#"));
  const std::string text = ReadText(path_);
  EXPECT_EQ(text.find("secret-"), std::string::npos);
  EXPECT_EQ(text.find("12345"), std::string::npos);
  const auto headers = All<request_log::Header>();
  ASSERT_EQ(headers.size(), 2u);
  EXPECT_EQ(headers[0].salt, headers[1].salt);
  EXPECT_FALSE(headers[0].salt.empty());
  struct stat status = {};
  ASSERT_EQ(stat((path_ + ".secret").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600u);
}

TEST_F(RecorderTest, ChangedTablesAreDefinedAgain) {
  Serve(true);
  CreateTable();
  const std::string get = R"({"TableName":"Tab","Key":{"p":{"S":"a"},"s":{"N":"1"}}})";
  Call("GetItem", get);
  while (recorder_->written() < 1) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  Call(
      "UpdateTable",
      R"({"TableName":"Tab","ProvisionedThroughput":{"ReadCapacityUnits":70,"WriteCapacityUnits":9}})");
  Call("GetItem", get);
  recorder_->Stop();
  const std::vector<TableDefinition> tables = All<TableDefinition>();
  ASSERT_EQ(tables.size(), 3u);
  EXPECT_EQ(tables[0].read_units, 7);
  EXPECT_EQ(tables[1].read_units, 70);
}

TEST_F(RecorderTest, EndsAtItsSizeWithWholeLines) {
  RecorderOptions options;
  options.most_bytes = 20000;
  Serve(true, options);
  CreateTable();
  for (int i = 0; i < 1000; ++i) {
    const std::string reply =
        Call("GetItem", R"({"TableName":"Tab","Key":{"p":{"S":"a"},"s":{"N":"1"}}})");
    ASSERT_EQ(reply, "{}") << "served as before";
    if (i % 100 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(120));
  }
  for (int i = 0; i < 12'000 && recorder_->on(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(recorder_->on());
  recorder_->Stop();
  EXPECT_LE(std::filesystem::file_size(path_), 20000u);
  EXPECT_GT(std::filesystem::file_size(path_), 15000u);
  EXPECT_EQ(All<request_log::End>().at(0).reason, "size");
  EXPECT_EQ(static_cast<int64_t>(All<Request>().size()), recorder_->written());
  service_.reset();
  recorder_.reset();
  const auto again = Open(options);
  ASSERT_FALSE(again.ok());
  EXPECT_EQ(again.error().message(), path_ + " has reached the limit of --record-max-mb");
}

TEST_F(RecorderTest, CountsWhatItDrops) {
  RecorderOptions options;
  options.most_queued_bytes = 2000;  // a few requests
  Serve(true, options);
  CreateTable();
  const auto burst = [this] {
    for (int i = 0; i < 2000; ++i)
      Call("GetItem", R"({"TableName":"Tab","Key":{"p":{"S":"a"},"s":{"N":"1"}}})");
  };
  burst();
  recorder_->Stop();
  EXPECT_GT(recorder_->lost(), 0);
  EXPECT_EQ(recorder_->lost() + recorder_->written(), 2000);
  int64_t told = 0;
  for (const request_log::Lost& lost : All<request_log::Lost>()) told += lost.count;
  EXPECT_EQ(told, recorder_->lost());
  EXPECT_EQ(static_cast<int64_t>(All<Request>().size()), recorder_->written());
}

// A file that may not grow answers writes as a full disk does.
TEST_F(RecorderTest, AFullDiskEndsTheRecordingAndNothingElse) {
  Serve(true);
  CreateTable();
  struct rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, SIG_IGN);
  struct rlimit small = before;
  small.rlim_cur = 5000;
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &small), 0);
  for (int i = 0; i < 200; ++i)
    Call("GetItem", R"({"TableName":"Tab","Key":{"p":{"S":"a"},"s":{"N":"1"}}})");
  for (int i = 0; i < 12'000 && recorder_->on(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  EXPECT_FALSE(recorder_->on());
  EXPECT_EQ(Call("GetItem", R"({"TableName":"Tab","Key":{"p":{"S":"a"},"s":{"N":"1"}}})"), "{}");
  recorder_->Stop();
  EXPECT_TRUE(ReadText(path_).ends_with("\n")) << "no half line is left";
}

TEST_F(RecorderTest, RefusesFilesOfAnotherKind) {
  const auto refusal = [this] {
    const auto opened = Open();
    return opened.ok() ? std::string() : opened.error().message();
  };
  std::ofstream(path_) << "precious notes\n";
  EXPECT_EQ(refusal(), path_ + " is there already and is no recording of requests");
  EXPECT_EQ(ReadText(path_), "precious notes\n");
  std::ofstream(path_) << "{\"stator_request_log\":2,\"at\":1}\n";
  EXPECT_EQ(
      refusal(),
      path_ +
          " is another format of recording: version 2 of the format; this program reads version 1");
  std::filesystem::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(refusal(), "");
  std::filesystem::remove(path_);
  std::filesystem::create_directory(path_);
  EXPECT_EQ(refusal(), path_ + " cannot be opened: Is a directory");
  std::filesystem::remove(path_);
  const auto first = Open();
  ASSERT_TRUE(first.ok());
  EXPECT_EQ(refusal(), path_ + " is being written by another process");
}

TEST_F(RecorderTest, GoesOnBehindALineThatWasCutOff) {
  { ASSERT_TRUE(Open().ok()); }
  std::ofstream(path_, std::ios::app) << "{\"t\":12";
  { ASSERT_TRUE(Open().ok()); }
  EXPECT_NE(ReadText(path_).find("{\"t\":12\n{\"stator_request_log\":1"), std::string::npos);
}

}  // namespace
}  // namespace stator::server
