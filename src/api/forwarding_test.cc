// Writes that go to another process, and those that come from one.
#include "api/forwarding.h"

#include <gtest/gtest.h>

#include <optional>
#include <utility>

#include "api/attribute_json.h"
#include "api/service.h"
#include "base/log.h"
#include "base/pump.h"
#include "kv/permit.h"
#include "table/store.h"

namespace stator::api {

// An operation that may be forwarded, and that answers with what it was sent.
struct WordRequest {
  std::string word;
};
struct WordResponse {
  std::string word;
};

template <>
Result<WordRequest> Decode<WordRequest>(simdjson::dom::element body) {
  std::string_view word;
  if (body["Word"].get(word) != simdjson::SUCCESS) return ValidationError("no word");
  return WordRequest{std::string(word)};
}

void RenderResponse(const WordResponse& response, std::string* out) {
  out->append("{\"Word\":");
  AppendJsonString(out, response.word);
  out->push_back('}');
}

namespace {

constexpr std::string_view kTarget = "DynamoDB_20120810.Word";

void RunHere(ops::Context& ctx, const std::string& word, ops::Callback<WordResponse>& done) {
  if (word == "unavailable") return done(Error(ErrorCode::kUnavailable, "not now"));
  if (word == "unknown") return done(Error(ErrorCode::kOutcomeUnknown, "who knows"));
  if (word == "drop") return;
  if (word == "condition") return done(Error(ErrorCode::kConditionalCheckFailed, "no"));
  done(WordResponse{word + (ctx.permit != nullptr ? " for another" : " here")});
}

void Word(ops::Context& ctx, WordRequest request, ops::Callback<WordResponse> done) {
  table::TableDescriptor descriptor;
  descriptor.name = request.word == "another account" ? "123456789012/words" : "words";
  const table::Table table(std::move(descriptor), nullptr);
  UniqueFunction<void()> here = [&ctx, word = request.word, done = std::move(done)]() mutable {
    RunHere(ctx, word, done);
  };
  const ops::WrittenItem items[] = {{&table, "key"}, {&table, "other key"}};
  if (ctx.forwarder == nullptr || !ctx.forwarder->TryForward(items, here)) here();
}

class FakeForwarding final : public Forwarding {
 public:
  WriteOwner OwnerOf(std::span<const ops::WrittenItem> items) override {
    EXPECT_EQ(items.size(), 2u);
    EXPECT_EQ(items[1].key, "other key");
    return {owner, 1};
  }
  bool Send(const WriteOwner& to, std::span<const ops::WrittenItem> items,
            std::string_view operation, std::string_view text, ForwardedDone& done) override {
    EXPECT_EQ(to.process, owner);
    EXPECT_EQ(to.item, 1u);
    EXPECT_EQ(items.size(), 2u);
    EXPECT_EQ(operation, kTarget);
    body = text;
    if (!sends) return false;
    sent = std::move(done);
    return true;
  }
  std::string owner = "b", body;
  bool sends = true;
  ForwardedDone sent;
};

class CountingObserver final : public RequestObserver {
 public:
  void OnRequest(const RequestRecord& record) override {
    ++count;
    error = record.error;
  }
  int count = 0;
  std::string error;
};

class ForwardingTest : public testing::Test {
 protected:
  ForwardingTest() {
    Registry registry;
    registry.Register("Word", Access::kWrite, Word);
    service_ = std::make_unique<Service>(environment_, std::move(registry),
                                         std::make_unique<ShapeAuthenticator>(false),
                                         ServiceOptions{}, &observer_);
    service_->SetForwarding(&forwarding_);
  }
  ~ForwardingTest() override { workers_.Stop(); }

  void Begin(const std::string& word) {
    Incoming request;
    request.method = "POST";
    request.target = "/";
    request.headers.Add("Content-Type", "application/x-amz-json-1.0");
    request.headers.Add("X-Amz-Target", kTarget);
    std::string body = "{\"Word\":\"" + word + "\"}";
    const size_t size = body.size();
    body.append(kBodyPadding, '\0');
    request.body = std::string_view(body).substr(0, size);
    service_->Handle(request, loop_, [this](Outgoing out) { reply_ = std::move(out); });
    body.assign(body.size(), 'x');
  }
  void Answer(ForwardedAnswer answer) {
    ForwardedDone(std::move(forwarding_.sent))(std::move(answer));
    loop_.RunOne();
  }
  std::optional<ForwardedAnswer> Forwarded(std::string_view target, const std::string& word,
                                           std::shared_ptr<const kv::BatchFate> permit) {
    std::string body = "{\"Word\":\"" + word + "\"}";
    const size_t size = body.size();
    body.append(kBodyPadding, '\0');
    std::optional<ForwardedAnswer> answer;
    service_->HandleForwarded(target, std::string_view(body).substr(0, size), std::move(permit),
                              loop_, [&](ForwardedAnswer one) { answer = std::move(one); });
    return answer;
  }

  alignas(64) char store_[4096] = {};  // nothing here opens a table
  ManualClock clock_;
  SeededRandom random_{7};
  WorkerPool workers_{1, 1};
  ops::Environment environment_{
      reinterpret_cast<table::Store&>(store_), clock_, random_, workers_, {}};
  CountingObserver observer_;
  FakeForwarding forwarding_;
  Pump loop_;
  std::unique_ptr<Service> service_;
  std::optional<Outgoing> reply_;
};

TEST_F(ForwardingTest, AnswerOfTheOwnerIsTheAnswer) {
  Begin("hi");
  EXPECT_EQ(forwarding_.body, R"({"Word":"hi"})");
  EXPECT_FALSE(reply_);
  Answer({ForwardedAnswer::Kind::kAnswered, 200, "", R"({"Word":"of b"})", 0});
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->status, 200);
  EXPECT_EQ(reply_->body, R"({"Word":"of b"})");
  EXPECT_EQ(observer_.count, 1);
}

TEST_F(ForwardingTest, ErrorOfTheOwnerIsTheError) {
  Begin("hi");
  Answer({ForwardedAnswer::Kind::kAnswered, 400, "ConditionalCheckFailedException", "{}", 0});
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->status, 400);
  EXPECT_EQ(observer_.error, "ConditionalCheckFailedException");
}

TEST_F(ForwardingTest, RefusedWriteIsRunHere) {
  Begin("hi");
  Answer({ForwardedAnswer::Kind::kRefused});
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->body, R"({"Word":"hi here"})");
}

TEST_F(ForwardingTest, UnknownOutcomeIsInternalServerError) {
  SetLogLevel(LogLevel::kOff);
  Begin("hi");
  Answer({});
  SetLogLevel(LogLevel::kInfo);
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->status, 500);
  EXPECT_EQ(observer_.error, "InternalServerError");
}

TEST_F(ForwardingTest, WriteThatCannotBeSentIsRunHere) {
  forwarding_.sends = false;
  Begin("hi");
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->body, R"({"Word":"hi here"})");
}

TEST_F(ForwardingTest, OwnWriteIsRunHere) {
  forwarding_.owner = "";
  Begin("hi");
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->body, R"({"Word":"hi here"})");
  EXPECT_EQ(forwarding_.body, "");
}

TEST_F(ForwardingTest, ForwardedWriteIsNotForwardedAgain) {
  const auto answer = Forwarded(kTarget, "hi", kv::MakePermit());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, ForwardedAnswer::Kind::kAnswered);
  EXPECT_EQ(answer->body, R"({"Word":"hi for another"})");
  EXPECT_EQ(forwarding_.body, "");
  EXPECT_EQ(observer_.count, 0) << "its door counts it";
}

TEST_F(ForwardingTest, UnknownOperationIsRefused) {
  const auto answer = Forwarded("DynamoDB_20120810.Later", "hi", kv::MakePermit());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, ForwardedAnswer::Kind::kRefused);
}

TEST_F(ForwardingTest, ErrorKeepsItsName) {
  const auto answer = Forwarded(kTarget, "condition", kv::MakePermit());
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->kind, ForwardedAnswer::Kind::kAnswered);
  EXPECT_EQ(answer->status, 400);
  EXPECT_EQ(answer->error, "ConditionalCheckFailedException");
}

// A refusal promises that nothing was applied.
TEST_F(ForwardingTest, OnlyWhatWasSurelyNotAppliedIsRefused) {
  SetLogLevel(LogLevel::kOff);
  const auto ended = kv::MakePermit();
  ended->failed = true;
  EXPECT_EQ(Forwarded(kTarget, "unavailable", ended)->kind, ForwardedAnswer::Kind::kRefused);
  EXPECT_EQ(Forwarded(kTarget, "unavailable", kv::MakePermit())->kind,
            ForwardedAnswer::Kind::kAnswered);
  EXPECT_EQ(Forwarded(kTarget, "unknown", ended)->kind, ForwardedAnswer::Kind::kAnswered);
  EXPECT_EQ(Forwarded(kTarget, "unknown", ended)->status, 500);
  EXPECT_EQ(Forwarded(kTarget, "drop", kv::MakePermit())->kind, ForwardedAnswer::Kind::kUnknown);
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(ForwardingTest, TablesOfOtherAccountsAreWrittenHere) {
  Begin("another account");
  ASSERT_TRUE(reply_);
  EXPECT_EQ(reply_->body, "{\"Word\":\"another account here\"}");
  EXPECT_TRUE(forwarding_.body.empty());
}

}  // namespace
}  // namespace stator::api
