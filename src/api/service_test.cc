#include "api/service.h"

#include <gtest/gtest.h>

#include <deque>

#include "api/attribute_json.h"
#include "base/compress.h"
#include "base/log.h"

namespace stator::api {

// An operation of the test's own: it answers with what it was sent.
struct EchoRequest {
  std::string table_name;
  std::string text;
};
struct EchoResponse {
  std::string text;
};

template <>
Result<EchoRequest> Decode<EchoRequest>(simdjson::dom::element body) {
  EchoRequest request;
  std::string_view text;
  if (body["Text"].get(text) != simdjson::SUCCESS) {
    return Error(ErrorCode::kSerialization, "NUMBER_VALUE cannot be converted to String");
  }
  request.text = text;
  if (body["TableName"].get(text) == simdjson::SUCCESS) request.table_name = text;
  return request;
}

void RenderResponse(const EchoResponse& response, std::string* out) {
  out->append("{\"Text\":");
  AppendJsonString(out, response.text);
  out->push_back('}');
}

namespace {

class QueueExecutor final : public Executor {
 public:
  void Post(UniqueFunction<void()> task) override { tasks_.push_back(std::move(task)); }
  void RunAll() {
    while (!tasks_.empty()) {
      UniqueFunction<void()> task = std::move(tasks_.front());
      tasks_.pop_front();
      task();
    }
  }

 private:
  std::deque<UniqueFunction<void()>> tasks_;
};

void Echo(ops::Context&, EchoRequest request, ops::Callback<EchoResponse> done) {
  done(EchoResponse{std::move(request.text)});
}

void EchoLater(ops::Context& context, EchoRequest request, ops::Callback<EchoResponse> done) {
  context.loop.Post([&context, request = std::move(request), done = std::move(done)]() mutable {
    // The context lives as long as the callback.
    done(EchoResponse{request.text + " in " + context.env.settings.region});
  });
}

void FailWithText(ops::Context&, EchoRequest request, ops::Callback<EchoResponse> done) {
  if (request.text == "corrupt") return done(CorruptionError("block 7"));
  done(ValidationError(request.text));
}

void Drop(ops::Context&, EchoRequest, ops::Callback<EchoResponse>) {}

class RecordingObserver final : public RequestObserver {
 public:
  struct Seen {
    std::string operation, table, error;
    int status;
    bool write;
    int64_t latency_micros;
  };
  void OnRequest(const RequestRecord& record) override {
    seen.push_back({std::string(record.operation), std::string(record.table),
                    std::string(record.error), record.status, record.write, record.latency_micros});
  }
  std::vector<Seen> seen;
};

constexpr std::string_view kGoodAuth =
    "AWS4-HMAC-SHA256 Credential=AKID/20261101/us-east-1/dynamodb/aws4_request, "
    "SignedHeaders=host;x-amz-date, Signature=abc";

using HeaderList = std::vector<std::pair<std::string, std::string>>;

class ServiceTest : public ::testing::Test {
 protected:
  ServiceTest() : service_(MakeService({})) {}

  std::unique_ptr<Service> MakeService(ServiceOptions options) {
    Registry registry;
    registry.Register("Echo", Access::kWrite, Echo);
    registry.Register("EchoLater", Access::kRead, EchoLater);
    registry.Register("FailWithText", Access::kRead, FailWithText);
    registry.Register("Drop", Access::kRead, Drop);
    registry.Register("StreamEcho", Access::kRead, Echo, Api::kStreams);
    return std::make_unique<Service>(environment_, std::move(registry),
                                     std::make_unique<ShapeAuthenticator>(), options, &observer_);
  }

  // The reply, or status 0 if there was none.
  Outgoing Handle(std::string_view method, std::string_view target, const HeaderList& headers,
                  std::string body) {
    Incoming request;
    request.method = method;
    request.target = target;
    for (const auto& [name, value] : headers) request.headers.Add(name, value);
    const size_t size = body.size();
    body.append(kBodyPadding, '\xff');
    request.body = std::string_view(body).substr(0, size);
    Outgoing reply;
    reply.status = 0;
    service_->Handle(request, loop_, [&](Outgoing outgoing) { reply = std::move(outgoing); });
    body.assign(body.size(), 'x');  // whatever is needed later must have been taken over
    loop_.RunAll();
    return reply;
  }

  static HeaderList ApiHeaders(std::string_view operation) {
    return {{"Content-Type", "application/x-amz-json-1.0"},
            {"X-Amz-Target", "DynamoDB_20120810." + std::string(operation)},
            {"X-Amz-Date", "20261101T000000Z"},
            {"Authorization", std::string(kGoodAuth)}};
  }
  Outgoing Post(std::string_view operation, std::string body, const HeaderList& more = {}) {
    HeaderList headers = ApiHeaders(operation);
    headers.insert(headers.end(), more.begin(), more.end());
    return Handle("POST", "/", headers, std::move(body));
  }

  static std::string Header(const Outgoing& reply, std::string_view name) {
    for (const auto& [key, value] : reply.headers) {
      if (key == name) return value;
    }
    return "(none)";
  }

  // Nothing here opens a table, so the store is an address only.
  alignas(64) char store_[64] = {};
  ManualClock clock_;
  SeededRandom random_{7};
  WorkerPool workers_{1, 1};
  ops::Environment environment_{
      reinterpret_cast<table::Store&>(store_), clock_, random_, workers_, {}};
  RecordingObserver observer_;
  QueueExecutor loop_;
  std::unique_ptr<Service> service_;
};

constexpr std::string_view kSerialization =
    R"({"__type":"com.amazon.coral.service#SerializationException"})";
constexpr std::string_view kUnknownOperation =
    R"({"__type":"com.amazon.coral.service#UnknownOperationException"})";

TEST_F(ServiceTest, AnswersAnOperation) {
  const Outgoing reply = Post("Echo", R"({"Text":"hi","TableName":"t"})");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, R"({"Text":"hi"})");
  EXPECT_EQ(Header(reply, "Content-Type"), "application/x-amz-json-1.0");
  EXPECT_EQ(Header(reply, "x-amz-crc32"), std::to_string(Crc32(reply.body)));
  const std::string id = Header(reply, "x-amzn-RequestId");
  EXPECT_EQ(id.size(), 52u);
  EXPECT_EQ(id.find_first_not_of("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"), std::string::npos);
  EXPECT_NE(Header(Post("Echo", R"({"Text":"hi"})"), "x-amzn-RequestId"), id);
  EXPECT_EQ(Header(reply, "Access-Control-Allow-Origin"), "(none)");

  ASSERT_EQ(observer_.seen.size(), 2u);
  EXPECT_EQ(observer_.seen[0].operation, "Echo");
  EXPECT_EQ(observer_.seen[0].table, "t");
  EXPECT_EQ(observer_.seen[0].error, "");
  EXPECT_EQ(observer_.seen[0].status, 200);
  EXPECT_TRUE(observer_.seen[0].write);
}

TEST_F(ServiceTest, AnswersLater) {
  EXPECT_EQ(Post("EchoLater", R"({"Text":"hi"})").body, R"({"Text":"hi in us-east-1"})");
}

TEST_F(ServiceTest, ADroppedCallbackAnswersNobody) {
  SetLogLevel(LogLevel::kOff);
  EXPECT_EQ(Post("Drop", R"({"Text":"hi"})").status, 0);
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(ServiceTest, BothTargetPrefixes) {
  HeaderList headers = ApiHeaders("Echo");
  headers[1].second = "DynamoDBStreams_20120810.StreamEcho";
  EXPECT_EQ(Handle("POST", "/", headers, R"({"Text":"s"})").body, R"({"Text":"s"})");
  for (std::string_view target :
       {"", "DynamoDB_20120810", "DynamoDB_20120810.", "DynamoDB_20120810.Nope", "Echo",
        "DynamoDB_20120810.StreamEcho", "DynamoDBStreams_20120810.Echo", "DynamoDB_20111205.Echo",
        "DynamoDB_20120810.echo"}) {
    headers[1].second = target;
    const Outgoing reply = Handle("POST", "/", headers, R"({"Text":"s"})");
    EXPECT_EQ(reply.status, 400) << target;
    EXPECT_EQ(reply.body, kUnknownOperation) << target;
  }
  headers[1].second = "DynamoDB_20120810." + std::string(5000, 'x');
  EXPECT_EQ(Handle("POST", "/", headers, R"({})").body, kUnknownOperation);
}

TEST_F(ServiceTest, HostileJson) {
  for (const std::string& body : {
           std::string(),
           std::string(" "),
           std::string("{"),
           std::string("{}x"),
           std::string("[]"),
           std::string("\"x\""),
           std::string("null"),
           std::string("{\"Text\":\"\\ud800\"}"),
           std::string("{\"Text\":\"\xff\"}"),
           std::string("{\"Text\":\"\xed\xa0\x80\"}"),
           std::string("{\"Text\":\"a\nb\"}"),
           std::string("{'Text':1}"),
           std::string("{\"Text\":\"a\",}"),
           std::string("{\"Text\":tru}"),
           std::string("{\"a\":1e999}"),
           std::string("{\"Text\":\"a\"") + std::string(1, '\0') + "}",
           std::string(1000000, '['),
           std::string(1000000, '{'),
           "{\"a\":" + std::string(1500, '[') + std::string(1500, ']') + "}",
           std::string("{\"Text\":\"unterminated"),
           std::string("\xef\xbb\xbf{}"),
       }) {
    const Outgoing reply = Post("Echo", body);
    EXPECT_EQ(reply.status, 400) << body.substr(0, 40);
    EXPECT_EQ(reply.body, kSerialization) << body.substr(0, 40);
    EXPECT_EQ(Header(reply, "x-amz-crc32"), std::to_string(Crc32(reply.body)));
  }
  EXPECT_EQ(Post("Echo", R"({"Text":"a","Text":"b"})").status, 200);
  EXPECT_EQ(Post("Echo", R"( {"Text":"\ud83d\ude00"} )").body, "{\"Text\":\"😀\"}");
}

TEST_F(ServiceTest, EveryTruncationOfARequestIsRefused) {
  const std::string whole = R"({"Text":"h\u00e9\"llo","n":[1,-2.5e3,true,null,{"a":{}}]})";
  ASSERT_EQ(Post("Echo", whole).status, 200);
  for (size_t length = 0; length < whole.size(); ++length) {
    EXPECT_EQ(Post("Echo", whole.substr(0, length)).body, kSerialization) << length;
  }
}

TEST_F(ServiceTest, ChecksInTheServicesOrder) {
  // Everything is wrong: first the JSON is reported, then the target, then the signature, then the
  // types.
  HeaderList headers = {{"Content-Type", "application/x-amz-json-1.0"},
                        {"X-Amz-Target", "DynamoDB_20120810.Nope"}};
  EXPECT_EQ(Handle("POST", "/", headers, "{").body, kSerialization);
  EXPECT_EQ(Handle("POST", "/", headers, R"({"Text":1})").body, kUnknownOperation);
  headers[1].second = "DynamoDB_20120810.Echo";
  EXPECT_EQ(Handle("POST", "/", headers, R"({"Text":1})").body,
            R"({"__type":"com.amazon.coral.service#MissingAuthenticationTokenException",)"
            R"("message":"Request is missing Authentication Token"})");
  EXPECT_EQ(Post("Echo", R"({"Text":1})").body,
            R"({"__type":"com.amazon.coral.service#SerializationException",)"
            R"("Message":"NUMBER_VALUE cannot be converted to String"})");
  EXPECT_EQ(Handle("POST", "/?X-Amz-Algorithm=x", ApiHeaders("Echo"), R"({"Text":"a"})").status,
            400);
  EXPECT_EQ(observer_.seen.back().error, "InvalidSignatureException");
  EXPECT_EQ(observer_.seen.back().operation, "Echo");
}

TEST_F(ServiceTest, Errors) {
  EXPECT_EQ(Post("FailWithText", R"({"Text":"no"})").body,
            R"({"__type":"com.amazon.coral.validate#ValidationException","message":"no"})");
  SetLogLevel(LogLevel::kOff);
  const Outgoing corrupt = Post("FailWithText", R"({"Text":"corrupt"})");
  SetLogLevel(LogLevel::kInfo);
  EXPECT_EQ(corrupt.status, 500);
  EXPECT_NE(corrupt.body.find("Stored data is corrupt: block 7"), std::string::npos);
  EXPECT_EQ(observer_.seen.back().error, "InternalServerError");
}

TEST_F(ServiceTest, ContentTypes) {
  HeaderList headers = ApiHeaders("Echo");
  headers[0].second = "application/json";
  EXPECT_EQ(Header(Handle("POST", "/", headers, R"({"Text":"a"})"), "Content-Type"),
            "application/json");
  headers[0].second = "Application/X-AMZ-JSON-1.0; charset=utf-8";
  EXPECT_EQ(Handle("POST", "/", headers, R"({"Text":"a"})").status, 200);
  for (std::string_view type :
       {"", "text/plain", "application/x-amz-json-1.1", "application/cbor"}) {
    headers[0].second = type;
    const Outgoing reply = Handle("POST", "/", headers, R"({"Text":"a"})");
    EXPECT_EQ(reply.status, 404);
    EXPECT_EQ(reply.body, "<UnknownOperationException/>\n");
  }
}

TEST_F(ServiceTest, OtherMethodsAndPaths) {
  const Outgoing healthy = Handle("GET", "/", {}, "");
  EXPECT_EQ(healthy.status, 200);
  EXPECT_EQ(healthy.body, "healthy: dynamodb.us-east-1.amazonaws.com ");
  EXPECT_EQ(Header(healthy, "x-amz-crc32"), std::to_string(Crc32(healthy.body)));
  EXPECT_EQ(Handle("GET", "/x", {}, "").status, 404);
  EXPECT_EQ(Handle("PUT", "/", ApiHeaders("Echo"), R"({"Text":"a"})").status, 404);
  EXPECT_EQ(Handle("POST", "/x", ApiHeaders("Echo"), R"({"Text":"a"})").status, 404);
  EXPECT_EQ(Handle("POST", "", ApiHeaders("Echo"), R"({"Text":"a"})").status, 404);
  EXPECT_EQ(Handle("OPTIONS", "/", {}, "").status, 404);
}

TEST_F(ServiceTest, Cors) {
  EXPECT_EQ(Header(Post("Echo", R"({"Text":"a"})", {{"Origin", "http://a"}}),
                   "Access-Control-Allow-Origin"),
            "*");
  const HeaderList preflight = {{"Origin", "http://a"},
                                {"Access-Control-Request-Headers", "x-amz-target"},
                                {"Access-Control-Request-Method", "POST"}};
  const Outgoing reply = Handle("OPTIONS", "/", preflight, "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(Header(reply, "Access-Control-Allow-Headers"), "x-amz-target");
  EXPECT_EQ(Header(reply, "Access-Control-Allow-Methods"), "POST");
  EXPECT_EQ(Header(reply, "Access-Control-Max-Age"), "172800");

  ServiceOptions some;
  some.allowed_origins = {"http://b"};
  service_ = MakeService(some);
  EXPECT_EQ(Handle("OPTIONS", "/", preflight, "").status, 404);
  EXPECT_EQ(Header(Post("Echo", R"({"Text":"a"})", {{"Origin", "http://a"}}),
                   "Access-Control-Allow-Origin"),
            "(none)");
  const Outgoing allowed = Post("Echo", R"({"Text":"a"})", {{"Origin", "http://b"}});
  EXPECT_EQ(Header(allowed, "Access-Control-Allow-Origin"), "http://b");
  EXPECT_EQ(Header(allowed, "Vary"), "Origin");

  ServiceOptions none;
  none.allowed_origins = {};
  service_ = MakeService(none);
  EXPECT_EQ(Header(Post("Echo", R"({"Text":"a"})", {{"Origin", "http://a"}}),
                   "Access-Control-Allow-Origin"),
            "(none)");
}

TEST_F(ServiceTest, CompressedRequests) {
  const std::string body = R"({"Text":"packed"})";
  const std::string half1 = Gzip(body.substr(0, 5)), half2 = Gzip(body.substr(5));
  EXPECT_EQ(Post("Echo", Gzip(body), {{"Content-Encoding", "gzip"}}).body, body);
  EXPECT_EQ(Post("Echo", half1 + half2, {{"Content-Encoding", "GZIP"}}).body, body);
  EXPECT_EQ(Post("Echo", Deflate(body), {{"Content-Encoding", "deflate"}}).body, body);
  EXPECT_EQ(Post("Echo", body, {{"Content-Encoding", "identity"}}).body, body);

  SetLogLevel(LogLevel::kOff);
  ServiceOptions small;
  small.max_body_bytes = 1000;
  for (const auto& [bytes, encoding] :
       std::vector<std::pair<std::string, std::string>>{{body, "gzip"},
                                                        {body, "br"},
                                                        {Gzip(body).substr(0, 20), "gzip"},
                                                        {Gzip(body) + "x", "gzip"}}) {
    const Outgoing reply = Post("Echo", bytes, {{"Content-Encoding", encoding}});
    EXPECT_EQ(reply.status, 500);
    EXPECT_NE(reply.body.find("InternalServerError"), std::string::npos);
  }
  service_ = MakeService(small);
  const std::string big = R"({"Text":")" + std::string(2000, 'a') + "\"}";
  EXPECT_EQ(Post("Echo", Gzip(big), {{"Content-Encoding", "gzip"}}).status, 500);
  SetLogLevel(LogLevel::kInfo);
  EXPECT_EQ(Post("Echo", big).status, 413);
}

TEST_F(ServiceTest, CompressedReplies) {
  const std::string big = R"({"Text":")" + std::string(5000, 'a') + "\"}";
  const Outgoing packed = Post("Echo", big, {{"Accept-Encoding", "deflate, gzip;q=0.5"}});
  EXPECT_EQ(Header(packed, "Content-Encoding"), "gzip");
  EXPECT_EQ(Header(packed, "x-amz-crc32"), std::to_string(Crc32(packed.body)));
  EXPECT_EQ(*Decompress(Encoding::kGzip, packed.body, 10000), big);
  const Outgoing deflated = Post("Echo", big, {{"Accept-Encoding", "gzip;q=0, deflate"}});
  EXPECT_EQ(Header(deflated, "Content-Encoding"), "deflate");
  EXPECT_EQ(*Decompress(Encoding::kDeflate, deflated.body, 10000), big);
  for (std::string_view accept : {"identity", "br", "gzip;q=0.0", ",,;"}) {
    EXPECT_EQ(
        Header(Post("Echo", big, {{"Accept-Encoding", std::string(accept)}}), "Content-Encoding"),
        "(none)");
  }
  EXPECT_EQ(
      Header(Post("Echo", R"({"Text":"a"})", {{"Accept-Encoding", "gzip"}}), "Content-Encoding"),
      "(none)");
}

TEST_F(ServiceTest, AHugeRequestAndThenASmallOne) {
  const std::string huge = R"({"Text":")" + std::string(8u << 20, 'a') + "\"}";
  EXPECT_EQ(Post("Echo", huge).body.size(), huge.size());
  EXPECT_EQ(Post("Echo", R"({"Text":"a"})").body, R"({"Text":"a"})");
}

}  // namespace
}  // namespace stator::api
