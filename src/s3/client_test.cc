#include "s3/client.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <deque>

#include "egress/test_listener.h"

namespace stator::s3 {
namespace {

std::string Answer(std::string_view status, std::string_view body, std::string_view headers = "") {
  return fmt::format("HTTP/1.1 {}\r\nContent-Length: {}\r\n{}\r\n{}", status, body.size(), headers,
                     body);
}

std::string ErrorBody(std::string_view code) {
  return fmt::format("<Error><Code>{}</Code><Message>Because &amp; so</Message></Error>", code);
}

// Answers requests in order; an empty answer closes the connection.
class S3Client : public testing::Test {
 protected:
  // Requests arrive in `requests_`, which may be read once the calls have ended.
  void Serve(std::deque<std::string> answers) {
    answers_ = std::move(answers);
    listener_ = std::make_unique<egress::Listener>([this](int fd, int) {
      while (!answers_.empty()) {
        std::string request = egress::ReadRequest(fd);
        if (request.empty()) return;
        requests_.push_back(std::move(request));
        const std::string answer = answers_.front();
        answers_.pop_front();
        if (answer.empty()) return;
        egress::Write(fd, answer);
      }
    });
    Options options;
    options.endpoint = listener_->url();
    options.key = {"AKIA", "secret", "token"};
    options.region = "eu-north-1";
    options.tries = 4;
    options.pause = [this](int64_t micros) { pauses_.push_back(micros); };
    client_ = std::make_unique<Client>(std::move(options), clock_);
  }
  ~S3Client() override {
    client_ = nullptr;
    listener_ = nullptr;
  }
  // The first line of a request, and what a header of it says.
  static std::string LineOf(const std::string& request) {
    return request.substr(0, request.find("\r\n"));
  }

  const SystemClock clock_;
  std::deque<std::string> answers_;
  std::vector<std::string> requests_;
  std::vector<int64_t> pauses_;
  std::unique_ptr<egress::Listener> listener_;
  std::unique_ptr<Client> client_;
};

TEST_F(S3Client, NamesAreEncodedAndTheBodyIsSigned) {
  Serve({Answer("200 OK", "")});
  ASSERT_TRUE(client_->Put("bucket", "a b/\xc3\xbc+?&#.gz", "text").ok());
  EXPECT_EQ(LineOf(requests_[0]), "PUT /bucket/a%20b/%C3%BC%2B%3F%26%23.gz HTTP/1.1");
  EXPECT_NE(
      requests_[0].find("x-amz-content-sha256: "
                        "982d9e3eb996f559e633f4d194def3761d909f5a3b647d1a851fead67c32c9d1\r\n"),
      std::string::npos);
  EXPECT_NE(requests_[0].find("/eu-north-1/s3/aws4_request, SignedHeaders=host;"
                              "x-amz-content-sha256;x-amz-date;x-amz-security-token, "),
            std::string::npos);
}

TEST_F(S3Client, AnOverloadedServerIsAskedAgainLaterAndLater) {
  Serve({Answer("503 Slow Down", ErrorBody("SlowDown")), "",
         Answer("500 Internal Server Error", ""), Answer("200 OK", "")});
  EXPECT_TRUE(client_->Put("bucket", "key", "text").ok());
  // The connection that closed was one that waited: its request is sent again at once.
  EXPECT_EQ(pauses_, (std::vector<int64_t>{100'000, 200'000}));
  EXPECT_TRUE(answers_.empty());
}

TEST_F(S3Client, ItGivesUpInTheEndAndSaysWhy) {
  Serve(std::deque<std::string>(4, Answer("503 Slow Down", ErrorBody("SlowDown"))));
  const Status put = client_->Put("bucket", "key", "text");
  ASSERT_FALSE(put.ok());
  EXPECT_EQ(put.error().code(), ErrorCode::kUnavailable);
  EXPECT_EQ(put.error().message(),
            fmt::format("PUT {}/bucket/key: 503 SlowDown: Because & so", client_->place()));
}

TEST_F(S3Client, ARefusalIsNotAskedAgain) {
  Serve({Answer("403 Forbidden", ErrorBody("InvalidAccessKeyId")),
         Answer("404 Not Found", ErrorBody("NoSuchKey")), Answer("404 Not Found", ""),
         Answer("301 Moved", "")});
  EXPECT_EQ(client_->Put("bucket", "key", "").error().code(), ErrorCode::kAccessDenied);
  EXPECT_EQ(client_->Get("bucket", "key", 0, 9, "").error().code(), ErrorCode::kResourceNotFound);
  EXPECT_EQ(client_->CheckBucket("bucket").error().code(), ErrorCode::kResourceNotFound);
  const Status moved = client_->CheckBucket("bucket");
  EXPECT_NE(moved.error().message().find("another Region"), std::string::npos);
  EXPECT_TRUE(pauses_.empty());
}

TEST_F(S3Client, AnObjectIsReadInRangesAndMustStayTheSame) {
  Serve({"HTTP/1.1 200 OK\r\nContent-Length: 10\r\nETag: \"e\"\r\n\r\n",
         Answer("206 Partial Content", "34567"),
         Answer("412 Precondition Failed", ErrorBody("PreconditionFailed"))});
  const Result<Properties> properties = client_->Describe("bucket", "key");
  ASSERT_TRUE(properties.ok()) << properties.error().message();
  EXPECT_EQ(properties->bytes, 10u);
  EXPECT_EQ(client_->Get("bucket", "key", 3, 5, properties->etag).value(), "34567");
  EXPECT_NE(requests_[1].find("Range: bytes=3-7\r\n"), std::string::npos);
  EXPECT_NE(requests_[1].find("If-Match: \"e\"\r\n"), std::string::npos);
  EXPECT_EQ(client_->Get("bucket", "key", 8, 2, properties->etag).error().code(),
            ErrorCode::kUnavailable);
}

TEST_F(S3Client, TheBytesOfAnObjectAreNoErrorOfTheServer) {
  Serve({Answer("206 Partial Content", ErrorBody("SlowDown"))});
  EXPECT_EQ(client_->Get("bucket", "key", 0, 100, "").value(), ErrorBody("SlowDown"));
}

TEST_F(S3Client, AListHasPagesWithKeysOfAnyBytes) {
  Serve(
      {Answer("200 OK",
              "<ListBucketResult><IsTruncated>true</IsTruncated><Contents><Key>a/+b%2Bc+d%0A</Key>"
              "<Size>12</Size></Contents><NextContinuationToken>n=/</NextContinuationToken>"
              "</ListBucketResult>"),
       Answer("200 OK",
              "<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>a/+z</Key>"
              "<Size>0</Size></Contents></ListBucketResult>")});
  const Page first = client_->List("bucket", "a/ ", "").value();
  ASSERT_EQ(first.objects.size(), 1u);
  EXPECT_EQ(first.objects[0].key, "a/ b+c d\n");
  EXPECT_EQ(first.objects[0].bytes, 12u);
  EXPECT_EQ(first.next, "n=/");
  const Page second = client_->List("bucket", "a/ ", first.next).value();
  EXPECT_EQ(second.next, "");
  EXPECT_NE(LineOf(requests_[0]).find("prefix=a%2F%20 "), std::string::npos);
  EXPECT_NE(LineOf(requests_[1]).find("continuation-token=n%3D%2F "), std::string::npos);
}

TEST_F(S3Client, AListThatNeverEndsIsLeft) {
  std::deque<std::string> answers;
  for (int i = 0; i < 200; ++i) {
    answers.push_back(Answer("200 OK", fmt::format("<L><IsTruncated>true</IsTruncated>"
                                                   "<NextContinuationToken>{}"
                                                   "</NextContinuationToken></L>",
                                                   i)));
  }
  Serve(std::move(answers));
  const Status listed =
      client_->ListAll("bucket", "", 10, [](const Object&) -> Status { return OkStatus(); });
  ASSERT_FALSE(listed.ok());
  EXPECT_NE(listed.error().message().find("pages without an object"), std::string::npos);
  EXPECT_EQ(requests_.size(), 100u);
}

TEST_F(S3Client, AListThatGoesRoundInCirclesIsLeft) {
  std::deque<std::string> answers;
  for (int i = 0; i < 20; ++i) {
    answers.push_back(Answer(
        "200 OK", fmt::format("<L><IsTruncated>true</IsTruncated><Contents><Key>a{}</Key>"
                              "</Contents><NextContinuationToken>{}</NextContinuationToken></L>",
                              i % 2, i % 2)));
  }
  Serve(std::move(answers));
  int visited = 0;
  const Status listed = client_->ListAll("bucket", "a", 10, [&visited](const Object&) -> Status {
    ++visited;
    return OkStatus();
  });
  ASSERT_FALSE(listed.ok());
  EXPECT_EQ(listed.error().code(), ErrorCode::kLimitExceeded);
  EXPECT_NE(listed.error().message().find("more than 10 objects"), std::string::npos);
  EXPECT_EQ(visited, 10);
}

TEST_F(S3Client, AKeyThatWasNotAskedForIsRefused) {
  Serve({Answer("200 OK", "<L><Contents><Key>a</Key><Size>1</Size></Contents></L>")});
  const Result<Page> page = client_->List("bucket", "backups/of/shop/", "");
  ASSERT_FALSE(page.ok());
  EXPECT_NE(page.error().message().find("the object a, which does not begin"), std::string::npos);
}

TEST_F(S3Client, APageOfMoreObjectsThanWereAskedForIsRefused) {
  std::string body = "<L>";
  for (int i = 0; i < 10'001; ++i) body += "<Contents/>";
  Serve({Answer("200 OK", body + "</L>")});
  const Result<Page> page = client_->List("bucket", "", "");
  ASSERT_FALSE(page.ok());
  EXPECT_NE(page.error().message().find("more than 10000 objects"), std::string::npos);
}

TEST_F(S3Client, PartsBecomeOneObject) {
  Serve({Answer("200 OK", "<R><UploadId>u/1</UploadId></R>"),
         Answer("200 OK", "", "ETag: \"p1\"\r\n"), Answer("200 OK", ErrorBody("InternalError")),
         Answer("200 OK", "<R></R>")});
  const std::string upload = client_->BeginParts("bucket", "key").value();
  EXPECT_EQ(upload, "u/1");
  EXPECT_EQ(client_->PutPart("bucket", "key", upload, 1, "text").value(), "\"p1\"");
  // The first answer is 200 with an error inside.
  EXPECT_TRUE(client_->CompleteParts("bucket", "key", upload, {"\"p1\""}).ok());
  EXPECT_EQ(pauses_.size(), 1u);
  EXPECT_EQ(LineOf(requests_[1]), "PUT /bucket/key?partNumber=1&uploadId=u%2F1 HTTP/1.1");
  EXPECT_TRUE(
      requests_[3].ends_with("<Part><PartNumber>1</PartNumber><ETag>\"p1\"</ETag></Part>"
                             "</CompleteMultipartUpload>"));
}

TEST_F(S3Client, AnUploadIsThereIfTheAnswerToItsEndWasLost) {
  Serve({"", Answer("404 Not Found", ErrorBody("NoSuchUpload")),
         "HTTP/1.1 200 OK\r\nContent-Length: 4\r\nETag: \"e-1\"\r\n\r\n"});
  EXPECT_TRUE(client_->CompleteParts("bucket", "key", "u", {"\"p\""}).ok());
}

TEST_F(S3Client, ABucketThatIsThereIsNotMade) {
  Serve({Answer("200 OK", ""), Answer("404 Not Found", ""), Answer("200 OK", "")});
  EXPECT_TRUE(client_->MakeBucket("one").ok());
  EXPECT_TRUE(client_->MakeBucket("two").ok());
  EXPECT_EQ(LineOf(requests_[2]), "PUT /two HTTP/1.1");
  EXPECT_NE(requests_[2].find("<LocationConstraint>eu-north-1<"), std::string::npos);
}

TEST_F(S3Client, CancelEndsWhatWaits) {
  Serve({Answer("200 OK", "")});
  client_->Cancel();
  const Status put = client_->Put("bucket", "key", "text");
  ASSERT_FALSE(put.ok());
  EXPECT_NE(put.error().message().find("cancelled"), std::string::npos);
  EXPECT_TRUE(pauses_.empty());
}

}  // namespace
}  // namespace stator::s3
