#include "triggers/function.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "stream/position.h"
#include "triggers/event.h"
#include "triggers/function_http.h"

namespace stator::triggers {
namespace {

Status Add(std::vector<Setting> settings, std::vector<FunctionSettings>* functions) {
  return AddFunction(settings, "/dir", functions);
}

TEST(Function, IsDeclared) {
  std::vector<FunctionSettings> functions;
  ASSERT_TRUE(
      Add({{"name", {"a"}}, {"lambda", {"http://h:1"}}, {"timeout", {"2s"}}}, &functions).ok());
  ASSERT_TRUE(Add({{"name", {"b"}}, {"directory", {"x"}}}, &functions).ok());
  ASSERT_TRUE(Add({{"name", {"*"}}, {"lambda", {"http://h:2"}}}, &functions).ok());
  constexpr const char* kArn = "arn:aws:kinesis:eu-west-3:000000000000:stream/s";
  ASSERT_TRUE(
      Add({{"name", {"k"}}, {"kinesis", {"https://h"}}, {"stream", {kArn}}}, &functions).ok());
  EXPECT_EQ(FeatureOf(functions.back()), "trigger-kinesis");
  EXPECT_EQ(FeatureOf(functions.front()), "");
  functions.pop_back();
  EXPECT_EQ(functions[0].timeout_micros, 2'000'000);
  EXPECT_EQ(functions[1].directory, "/dir/x");
  EXPECT_EQ(FindFunction(functions, "a:live"), &functions[0]);
  EXPECT_EQ(FindFunction(functions, "c"), &functions[2]);
  functions.pop_back();
  EXPECT_EQ(FindFunction(functions, "c"), nullptr);
}

TEST(Function, WrongOnesAreRefused) {
  std::vector<FunctionSettings> functions;
  ASSERT_TRUE(Add({{"name", {"there"}}, {"directory", {"x"}}}, &functions).ok());
  for (const std::vector<Setting>& settings : std::vector<std::vector<Setting>>{
           {{"name", {"a"}}},
           {{"url", {"http://h"}}},
           {{"name", {"a b"}}, {"url", {"http://h"}}},
           {{"name", {"a"}}, {"url", {"file:///x"}}},
           {{"name", {"a"}}, {"url", {"http://h"}}, {"directory", {"y"}}},
           {{"name", {"a"}}, {"lambda", {"http://h/path"}}},
           {{"name", {"*"}}, {"url", {"http://h"}}},
           {{"name", {"there"}}, {"url", {"http://h"}}},
           {{"name", {"a"}}, {"directory", {"x"}}},
           {{"name", {"a"}}, {"directory", {"y"}}, {"bucket", {"https://h/bucket"}}},
           {{"name", {"a"}}, {"bucket", {"https://h"}}},
           {{"name", {"a"}}, {"bucket", {"s3://bucket"}}},
           {{"name", {"a"}}, {"bucket", {"https://h/b/c?d"}}},
           {{"name", {"a"}}, {"url", {"http://h"}}, {"timeout", {"1h"}}},
           {{"name", {"a"}}, {"kinesis", {"https://h"}}},
           {{"name", {"a"}}, {"kinesis", {"https://h"}}, {"stream", {"s"}}},
           {{"name", {"a"}}, {"url", {"http://h"}}, {"stream", {"arn:aws:kinesis:r:1:stream/s"}}},
           {{"name", {"a"}}, {"url", {"http://h"}}, {"secret-file", {"missing"}}},
           {{"name", {"a"}}, {"url", {"http://h"}}, {"colour", {"red"}}}}) {
    EXPECT_FALSE(Add(settings, &functions).ok()) << settings.front().values.front();
  }
  EXPECT_EQ(functions.size(), 1u);
  ASSERT_TRUE(Add({{"name", {"a"}}, {"bucket", {"https://h:9/b/c"}}}, &functions).ok());
  EXPECT_FALSE(Add({{"name", {"b"}}, {"bucket", {"https://h:9/b/c"}}}, &functions).ok());
}

class JudgeTest : public testing::Test {
 protected:
  JudgeTest() {
    for (uint64_t i = 1; i <= 5; ++i) changes_.push_back({{i, 0}, 0, 0, "{}"});
    for (const Change& change : changes_) batch_.changes.push_back(&change);
  }
  Outcome Of(int status, std::string body, bool invoke = true, egress::Headers headers = {}) {
    egress::Reply reply;
    reply.status = status;
    reply.body = std::move(body);
    reply.headers = std::move(headers);
    return Judge(reply, batch_, invoke);
  }
  static std::string Failing(uint64_t stamp) {
    return R"({"batchItemFailures":[{"itemIdentifier":")" + stream::SequenceNumberOf({stamp, 0}) +
           R"("}]})";
  }

  std::vector<Change> changes_;
  Batch batch_;
};

TEST_F(JudgeTest, StatusesOfTheInvokeApi) {
  using Kind = Outcome::Kind;
  for (const char* body : {"", "null", "{}", "1", "\"text\""})
    EXPECT_EQ(Of(200, body).kind, Kind::kDone) << body;
  EXPECT_EQ(Of(200, "null", true, {{"x-amz-function-error", "Unhandled"}}).kind, Kind::kFailed);
  EXPECT_EQ(Of(200, R"({"errorType":"E","errorMessage":"m"})").kind, Kind::kFailed);
  EXPECT_EQ(Of(200, "Task timed out after 3.00 seconds").kind, Kind::kFailed);
  for (const int status : {301, 302, 307, 400, 403, 404, 409, 429, 500, 502, 503, 504})
    EXPECT_EQ(Of(status, "").kind, Kind::kNotRun) << status;
  EXPECT_EQ(Of(413, "").kind, Kind::kFailed);
}

TEST_F(JudgeTest, StatusesOfAWebServer) {
  using Kind = Outcome::Kind;
  EXPECT_EQ(Of(204, "", false).kind, Kind::kDone);
  EXPECT_EQ(Of(200, "<html>", false).kind, Kind::kDone) << "what it says does not matter";
  EXPECT_EQ(Of(404, "", false).kind, Kind::kFailed);
  EXPECT_EQ(Of(429, "", false).kind, Kind::kNotRun);
  EXPECT_EQ(Of(500, "", false).kind, Kind::kNotRun);
}

TEST_F(JudgeTest, PartsThatFailed) {
  batch_.reports_failures = true;
  using Kind = Outcome::Kind;
  for (const char* body :
       {"", "null", "{}", R"({"batchItemFailures":[]})", R"({"batchItemFailures":null})"})
    EXPECT_EQ(Of(200, body).kind, Kind::kDone) << body;
  EXPECT_EQ(Of(200, Failing(3)).first_failed, 2u);
  EXPECT_EQ(Of(200, Failing(3)).kind, Kind::kFailed);
  for (const std::string& body :
       {std::string("[]"), std::string("nonsense"), std::string(R"({"batchItemFailures":{}})"),
        std::string(R"({"batchItemFailures":[{"itemIdentifier":""}]})"),
        std::string(R"({"batchItemFailures":[{"itemIdentifier":null}]})"),
        std::string(R"({"batchItemFailures":[{"identifier":"1"}]})"),
        std::string(R"({"batchItemFailures":[7]})"), Failing(9)}) {
    const Outcome outcome = Of(200, body);
    EXPECT_EQ(outcome.kind, Kind::kFailed) << body;
    EXPECT_EQ(outcome.first_failed, 0u) << body;
  }
}

TEST_F(JudgeTest, TheStateOfAWindow) {
  using Kind = Outcome::Kind;
  const WindowCall window;
  batch_.window = &window;
  for (const bool invoke : {true, false}) {
    for (const char* body : {"", "null", "{}", R"({"state":null})", "[1]"})
      EXPECT_EQ(Of(200, body, invoke).state, "{}") << body;
    EXPECT_EQ(Of(200, R"({ "state" : {"a": {"n":1.10}, "b":"}"} , "x":{}})", invoke).state,
              R"({"a": {"n":1.10}, "b":"}"})");
    EXPECT_EQ(Of(200, R"({"state":7})", invoke).kind, Kind::kFailed);
    EXPECT_EQ(Of(200, "ok", invoke).kind, Kind::kFailed);
    EXPECT_EQ(Of(500, "", invoke).state, std::nullopt);
  }
  batch_.reports_failures = true;
  std::string partial = Failing(3);
  EXPECT_EQ(Of(200, partial).state, "{}");
  partial.insert(1, R"("state":{"n":2},)");
  EXPECT_EQ(Of(200, partial).state, R"({"n":2})");
  EXPECT_EQ(Of(200, partial).first_failed, 2u);
  EXPECT_EQ(Of(200, Failing(1)).state, std::nullopt) << "nothing is done";
  batch_.changes.clear();
  EXPECT_EQ(Of(200, partial).kind, Kind::kDone) << "a final call";
}

TEST(WindowCall, TellsOfTheWindow) {
  WindowCall call;
  call.window.start_micros = 1'764'259'200'000'000;
  call.window.end_micros = 1'764'259'260'000'000;
  call.window.state = std::make_shared<const std::string>(R"({"n":1})");
  call.early = true;
  call.stream_arn = "arn:x";
  EXPECT_EQ(call.TailOf("shardId-1"),
            R"(],"window":{"start":"2025-11-27T16:00:00Z","end":"2025-11-27T16:01:00Z"},)"
            R"("state":{"n":1},"shardId":"shardId-1","eventSourceARN":"arn:x",)"
            R"("isFinalInvokeForWindow":false,"isWindowTerminatedEarly":true})");
  call.window.state = nullptr;
  call.final_call = true;
  EXPECT_NE(call.TailOf("s").find(R"("state":{},)"), std::string::npos);
  const Batch none;
  const std::string tail = call.TailOf("s");
  const EventBody body(EventBody::kHead, none, tail);
  EXPECT_EQ(body.size(), EventBody::kHead.size() + tail.size());
}

TEST(Webhook, SignatureIsThatOfItsRule) {
  // Computed with Python's hmac module.
  const Batch batch;
  EXPECT_EQ(WebhookSignature("secret", "id", 1'700'000'000, EventBody("{", batch, "}")),
            "v1,GBemBzTgbKoVEGKycqyY3615LbdJbhFLE1oQk+zZ+lo=");
}

}  // namespace
}  // namespace stator::triggers
