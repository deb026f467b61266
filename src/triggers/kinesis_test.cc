#include "triggers/kinesis.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "egress/test_listener.h"

namespace stator::triggers {
namespace {

TEST(KinesisArn, IsParsed) {
  const auto arn = KinesisArn::Parse("arn:aws-cn:kinesis:cn-north-1:000000000000:stream/a.b-C_1");
  ASSERT_TRUE(arn.has_value());
  EXPECT_EQ(arn->region, "cn-north-1");
  EXPECT_EQ(arn->name, "a.b-C_1");
  for (const char* wrong :
       {"", "arn:aws:kinesis:us-east-1:000000000000", "arn:aws:kinesis::000000000000:stream/a",
        "arn:aws:dynamodb:us-east-1:000000000000:stream/a",
        "arn:aws:kinesis:us-east-1:000000000000:stream/",
        "arn:aws:kinesis:us-east-1:000000000000:stream/a/consumer/b:1",
        "arn:aws:kinesis:us-east-1:000000000000:stream/a\"b",
        "arn:aws:kinesis:us\r\n:000000000000:stream/a"}) {
    EXPECT_FALSE(KinesisArn::Parse(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE(
      KinesisArn::Parse("arn:aws:kinesis:us-east-1:000000000000:stream/" + std::string(129, 'a'))
          .has_value());
}

class KinesisClientTest : public testing::Test {
 protected:
  KinesisClientTest() {
    setenv("AWS_ACCESS_KEY_ID", "AKID", 1);
    setenv("AWS_SECRET_ACCESS_KEY", "secret", 1);
  }
  ~KinesisClientTest() override {
    unsetenv("AWS_ACCESS_KEY_ID");
    unsetenv("AWS_SECRET_ACCESS_KEY");
  }
  Status CheckAgainst(const std::string& answer, const std::string& arn = kArn) {
    egress::Listener listener([&](int fd, int) {
      while (true) {
        const std::string request = egress::ReadRequest(fd);
        if (request.empty()) return;
        requests_.push_back(request);
        egress::Write(fd, answer);
      }
    });
    FunctionSettings endpoint;
    endpoint.kind = FunctionSettings::Kind::kKinesis;
    endpoint.url = listener.url().origin();
    const auto client = KinesisClient::Make(endpoint, clock_, &trusts_);
    EXPECT_TRUE(client.ok());
    return (*client)->Check(arn);
  }
  static std::string Answer(int status, const std::string& body) {
    return "HTTP/1.1 " + std::to_string(status) +
           " x\r\nContent-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
  }

  static constexpr const char* kArn = "arn:aws:kinesis:eu-west-3:000000000000:stream/s";
  SystemClock clock_;
  Trusts trusts_;
  std::vector<std::string> requests_;
};

TEST_F(KinesisClientTest, ChecksTheStream) {
  EXPECT_TRUE(CheckAgainst(Answer(200, R"({"StreamDescriptionSummary":{}})")).ok());
  ASSERT_EQ(requests_.size(), 1u);
  EXPECT_NE(requests_[0].find("Kinesis_20131202.DescribeStreamSummary"), std::string::npos);
  EXPECT_NE(requests_[0].find("/eu-west-3/kinesis/aws4_request"), std::string::npos);
  EXPECT_NE(requests_[0].find(R"({"StreamName":"s"})"), std::string::npos);
}

TEST_F(KinesisClientTest, TellsARefusalFromAFailure) {
  const auto code = [this](int status, const std::string& body) {
    return CheckAgainst(Answer(status, body)).error().code();
  };
  EXPECT_EQ(code(400, R"({"__type":"ResourceNotFoundException"})"), ErrorCode::kAccessDenied);
  EXPECT_EQ(code(403, R"({"__type":"a.b#AccessDeniedException"})"), ErrorCode::kAccessDenied);
  EXPECT_EQ(code(400, R"({"__type":"LimitExceededException"})"), ErrorCode::kUnavailable);
  EXPECT_EQ(code(500, R"({"__type":"InternalFailure"})"), ErrorCode::kUnavailable);
  EXPECT_EQ(code(404, "<html>"), ErrorCode::kUnavailable);
  EXPECT_EQ(code(200, "hello"), ErrorCode::kUnavailable);
  EXPECT_EQ(CheckAgainst("", "arn:aws:sqs:eu-west-3:000000000000:queue").error().code(),
            ErrorCode::kAccessDenied);
}

TEST_F(KinesisClientTest, AsksServersThatKnowTheOlderActionOnly) {
  requests_.clear();
  EXPECT_FALSE(CheckAgainst(Answer(400, R"({"__type":"UnknownOperationException"})")).ok());
  ASSERT_EQ(requests_.size(), 2u);
  EXPECT_NE(requests_[1].find("Kinesis_20131202.DescribeStream\r\n"), std::string::npos);
}

}  // namespace
}  // namespace stator::triggers
