#include "api/service.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <thread>

#include "api/attribute_json.h"
#include "base/compress.h"
#include "base/log.h"
#include "base/mutex.h"
#include "model/value.h"
#include "ops/payload.h"

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
  void Post(UniqueFunction<void()> task) override {
    MutexLock lock(mutex_);
    tasks_.push_back(std::move(task));
    wake_.notify_all();
  }
  // Runs tasks until `ended`, which a task or this thread sets.
  void RunUntil(const bool& ended) {
    while (!ended) {
      UniqueFunction<void()> task;
      {
        MutexLock lock(mutex_);
        while (tasks_.empty()) wake_.wait(mutex_);
        task = std::move(tasks_.front());
        tasks_.pop_front();
      }
      task();
    }
  }

 private:
  Mutex mutex_;
  std::condition_variable_any wake_;
  std::deque<UniqueFunction<void()>> tasks_ GUARDED_BY(mutex_);
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

// Fails with an item that is full of the text's first character.
constexpr size_t kShownItemBytes = 390'000;
void FailWithItem(ops::Context&, EchoRequest request, ops::Callback<EchoResponse> done) {
  std::string entries, item;
  model::AppendName(&entries, "a");
  model::AppendString(&entries, std::string(kShownItemBytes, request.text.at(0)));
  model::AppendItem(&item, 1, entries);
  done(Error(ErrorCode::kConditionalCheckFailed, "m",
             std::make_shared<ops::ItemPayload>(std::move(item))));
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
  ~ServiceTest() override { workers_.Stop(); }

  std::unique_ptr<Service> MakeService(ServiceOptions options) {
    Registry registry;
    registry.Register("Echo", Access::kWrite, Echo);
    registry.Register("EchoLater", Access::kRead, EchoLater);
    registry.Register("FailWithText", Access::kRead, FailWithText);
    registry.Register("FailWithItem", Access::kWrite, FailWithItem);
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
    request.memory = memory_;
    const size_t size = body.size();
    body.append(kBodyPadding, '\xff');
    request.body = std::string_view(body).substr(0, size);
    Outgoing reply;
    reply.status = 0;
    bool ended = false;
    // Runs when the callback is destroyed, called or not.
    std::shared_ptr<void> end(nullptr, [&ended](void*) { ended = true; });
    const std::thread::id loop = std::this_thread::get_id();
    service_->Handle(request, loop_, [&reply, loop, end = std::move(end)](Outgoing outgoing) {
      EXPECT_EQ(std::this_thread::get_id(), loop);
      reply = std::move(outgoing);
    });
    body.assign(body.size(), 'x');  // whatever is needed later must have been taken over
    loop_.RunUntil(ended);
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
  MemoryLease* memory_ = nullptr;
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
  EXPECT_EQ(Handle("HEAD", "/", {}, "").status, 200) << "the connection leaves the body out";
  EXPECT_EQ(Handle("GET", "/x", {}, "").status, 404);
  EXPECT_EQ(Handle("PUT", "/", ApiHeaders("Echo"), R"({"Text":"a"})").status, 404);
  EXPECT_EQ(Handle("POST", "/x", ApiHeaders("Echo"), R"({"Text":"a"})").status, 404);
  EXPECT_EQ(Handle("POST", "", ApiHeaders("Echo"), R"({"Text":"a"})").status, 404);
  EXPECT_EQ(Handle("OPTIONS", "/", {}, "").status, 404);
}

TEST_F(ServiceTest, Cors) {
  const HeaderList preflight = {{"Origin", "http://localhost:3000"},
                                {"Access-Control-Request-Headers", "x-amz-target"},
                                {"Access-Control-Request-Method", "POST"}};
  const Outgoing reply = Handle("OPTIONS", "/", preflight, "");
  EXPECT_EQ(reply.status, 200);
  EXPECT_EQ(reply.body, "");
  EXPECT_EQ(Header(reply, "Access-Control-Allow-Origin"), "http://localhost:3000");
  EXPECT_EQ(Header(reply, "Access-Control-Allow-Headers"), "x-amz-target");
  EXPECT_EQ(Header(reply, "Access-Control-Allow-Methods"), "POST");
  EXPECT_EQ(Header(reply, "Access-Control-Max-Age"), "172800");
  const Outgoing local = Post("Echo", R"({"Text":"a"})", {{"Origin", "http://localhost:3000"}});
  EXPECT_EQ(local.status, 200);
  EXPECT_EQ(Header(local, "Access-Control-Allow-Origin"), "http://localhost:3000");
  EXPECT_EQ(Header(local, "Vary"), "Origin");

  ServiceOptions any;
  any.origins = OriginRules({"*"});
  service_ = MakeService(any);
  EXPECT_EQ(Header(Post("Echo", R"({"Text":"a"})", {{"Origin", "http://a.example"}}),
                   "Access-Control-Allow-Origin"),
            "*");

  ServiceOptions some;
  some.origins = OriginRules({"http://b"});
  service_ = MakeService(some);
  EXPECT_EQ(Handle("OPTIONS", "/", preflight, "").status, 403);
  const Outgoing allowed = Post("Echo", R"({"Text":"a"})", {{"Origin", "http://b"}});
  EXPECT_EQ(Header(allowed, "Access-Control-Allow-Origin"), "http://b");
  EXPECT_EQ(Header(allowed, "Vary"), "Origin");
}

TEST_F(ServiceTest, APageOfAnotherOriginRunsNothing) {
  const size_t before = observer_.seen.size();
  SetLogLevel(LogLevel::kOff);
  for (std::string_view origin : {"http://evil.example", "https://localhost.evil.example", "null",
                                  "http://127.evil.example", "chrome-extension://abc"}) {
    const Outgoing reply = Post("Echo", R"({"Text":"a"})", {{"Origin", std::string(origin)}});
    EXPECT_EQ(reply.status, 403) << origin;
    EXPECT_NE(reply.body.find("AccessDeniedException"), std::string::npos) << reply.body;
    EXPECT_EQ(Header(reply, "Access-Control-Allow-Origin"), "(none)");
    EXPECT_EQ(Handle("OPTIONS", "/", {{"Origin", std::string(origin)}}, "").status, 403);
  }
  EXPECT_EQ(observer_.seen.size(), before);

  ServiceOptions none;
  none.origins = OriginRules({});
  service_ = MakeService(none);
  EXPECT_EQ(Post("Echo", R"({"Text":"a"})", {{"Origin", "http://localhost:1"}}).status, 403);
  EXPECT_EQ(Post("Echo", R"({"Text":"a"})").status, 200) << "no browser";
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(ServiceTest, APageOfThisServerCallsUnderAKnownName) {
  ServiceOptions options;
  options.origins = OriginRules({});
  options.hosts = HostRules({"db.example.com"});
  service_ = MakeService(options);
  const auto status = [this](std::string origin, std::string host) {
    return Post("Echo", R"({"Text":"a"})", {{"Origin", origin}, {"Host", host}}).status;
  };
  SetLogLevel(LogLevel::kOff);
  EXPECT_EQ(status("http://localhost:8000", "localhost:8000"), 200);
  EXPECT_EQ(status("https://db.example.com", "db.example.com"), 200);
  EXPECT_EQ(status("http://dynamodb:8000", "dynamodb:8000"), 200);
  EXPECT_EQ(status("http://localhost:8001", "localhost:8000"), 403) << "another port";
  EXPECT_EQ(status("http://evil.example:8000", "evil.example:8000"), 403) << "DNS rebinding";
  EXPECT_EQ(status("http://evil.example:8000", ""), 403);
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(ServiceTest, CompressedRequests) {
  const std::string body = R"({"Text":"packed"})";
  const std::string half1 = Gzip(body.substr(0, 5)), half2 = Gzip(body.substr(5));
  EXPECT_EQ(Post("Echo", Gzip(body), {{"Content-Encoding", "gzip"}}).body, body);
  EXPECT_EQ(Post("Echo", half1 + half2, {{"Content-Encoding", "GZIP"}}).body, body);
  EXPECT_EQ(Post("Echo", Deflate(body), {{"Content-Encoding", "deflate"}}).body, body);
  EXPECT_EQ(Post("Echo", body, {{"Content-Encoding", "identity"}}).body, body);

  ServiceOptions small;
  small.max_body_bytes = 1000;
  for (const auto& [bytes, encoding] :
       std::vector<std::pair<std::string, std::string>>{{body, "gzip"},
                                                        {body, "br"},
                                                        {Gzip(body).substr(0, 20), "gzip"},
                                                        {Gzip(body) + "x", "gzip"}}) {
    const Outgoing reply = Post("Echo", bytes, {{"Content-Encoding", encoding}});
    EXPECT_EQ(reply.status, 400) << "an SDK repeats a request that fails with 500";
    EXPECT_NE(reply.body.find("SerializationException"), std::string::npos);
  }
  service_ = MakeService(small);
  const std::string big = R"({"Text":")" + std::string(2000, 'a') + "\"}";
  EXPECT_EQ(Post("Echo", Gzip(big), {{"Content-Encoding", "gzip"}}).status, 413);
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

TEST_F(ServiceTest, AServerFaultIsLoggedOnceASecond) {
  testing::internal::CaptureStderr();
  for (int i = 0; i < 50; ++i) EXPECT_EQ(Post("FailWithText", R"({"Text":"corrupt"})").status, 500);
  const std::string text = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 1) << text;
  EXPECT_NE(text.find("request_failed operation=FailWithText"), std::string::npos) << text;
}

// A call comes back to the loop's thread with everything that belongs to it.
TEST_F(ServiceTest, LargeRepliesComeBackFromAWorker) {
  std::string text;
  for (int i = 0; i < 100'000; ++i) text += std::to_string(i);
  const std::string big = R"({"Text":")" + text + "\"}";
  for (std::string_view accept : {"gzip", "deflate", "identity"}) {
    const Outgoing reply = Post("Echo", big, {{"Accept-Encoding", std::string(accept)}});
    ASSERT_EQ(reply.status, 200);
    const bool packed = accept != "identity";
    EXPECT_EQ(packed ? *Decompress(accept == "gzip" ? Encoding::kGzip : Encoding::kDeflate,
                                   reply.body, 1 << 20)
                     : reply.body,
              big);
    EXPECT_EQ(Header(reply, "x-amz-crc32"), std::to_string(Crc32(reply.body)));
    EXPECT_EQ(observer_.seen.back().operation, "Echo");
    EXPECT_EQ(observer_.seen.back().status, 200);
  }
  // Without a free worker the loop does it.
  workers_.Stop();
  EXPECT_EQ(Post("Echo", big, {{"Accept-Encoding", "gzip"}}).status, 200);
}

TEST_F(ServiceTest, LargeRequestsCountAsInflatedAndDecoded) {
  const std::string body = R"({"Text":")" + std::string(1 << 20, 'a') + "\"}";
  MemoryAccount account(16 << 20);
  MemoryHolder holder(account, {});
  MemoryLease lease(holder);
  memory_ = &lease;
  EXPECT_EQ(Post("Echo", Gzip(body), {{"Content-Encoding", "gzip"}}).status, 200);
  EXPECT_EQ(lease.bytes(), static_cast<int64_t>(body.size())) << "the decoded form alone is left";
  EXPECT_EQ(Post("Echo", R"({"Text":"a"})").status, 200);
  EXPECT_EQ(lease.bytes(), static_cast<int64_t>(body.size())) << "small requests are not counted";
  lease.Release();

  MemoryHolder other(account, {});
  other.Add(14 << 20);
  const Outgoing refused = Post("Echo", Gzip(body), {{"Content-Encoding", "gzip"}});
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("com.amazon.coral.service#ServiceUnavailableException"),
            std::string::npos)
      << refused.body;
  EXPECT_NE(refused.body.find("--max-inflight-mb"), std::string::npos) << refused.body;
  EXPECT_EQ(Post("Echo", R"({"Text":"a"})").status, 200);
  lease.Release();
  EXPECT_EQ(account.held(), 14 << 20);
}

TEST_F(ServiceTest, TheLeaseOfARequestMayGoWithItsReply) {
  MemoryAccount account(16 << 20);
  MemoryHolder holder(account, {});
  std::string body = R"({"Text":")" + std::string(1 << 20, 'a') + "\"}";
  const size_t size = body.size();
  body.append(kBodyPadding, ' ');
  for (const std::string operation : {"Echo", "FailWithText"}) {
    auto lease = std::make_unique<MemoryLease>(holder);
    const HeaderList headers = ApiHeaders(operation);
    Incoming request;
    request.method = "POST";
    request.target = "/";
    for (const auto& [name, value] : headers) request.headers.Add(name, value);
    request.body = std::string_view(body).substr(0, size);
    request.memory = lease.get();
    int status = 0;
    bool ended = false;
    service_->Handle(request, loop_,
                     [&status, &ended, lease = std::move(lease)](Outgoing outgoing) mutable {
                       status = outgoing.status;
                       lease.reset();
                       ended = true;
                     });
    loop_.RunUntil(ended);
    EXPECT_EQ(status, operation == "Echo" ? 200 : 400);
    EXPECT_EQ(holder.bytes(), 0) << operation;
    EXPECT_EQ(account.held(), 0) << operation;
  }
}

TEST_F(ServiceTest, AReadIsNotRenderedWhileTheAccountIsFull) {
  MemoryAccount account(1 << 20);
  MemoryHolder holder(account, {});
  MemoryLease lease(holder);
  memory_ = &lease;
  account.Count(1 << 20);
  EXPECT_EQ(Post("EchoLater", R"({"Text":"a"})").status, 503);
  EXPECT_EQ(Post("Echo", R"({"Text":"a"})").status, 200) << "a write has been done";
  account.Count(-(1 << 20));
  EXPECT_EQ(Post("EchoLater", R"({"Text":"a"})").status, 200);
}

// An item of control characters has six times as many bytes in the error that shows it.
TEST_F(ServiceTest, AnItemThatAnErrorShowsCountsAsItsJson) {
  MemoryAccount account(16 << 20);
  MemoryHolder holder(account, {});
  MemoryLease lease(holder);
  memory_ = &lease;
  const std::string request = R"({"Text":"\u0001"})";
  EXPECT_EQ(Post("FailWithItem", R"({"Text":"a"})").status, 400);
  EXPECT_GE(lease.bytes(), static_cast<int64_t>(kShownItemBytes));
  lease.Release();
  const Outgoing shown = Post("FailWithItem", request);
  EXPECT_EQ(shown.status, 400);
  EXPECT_GT(shown.body.size(), 6 * kShownItemBytes);
  EXPECT_GE(lease.bytes(), static_cast<int64_t>(6 * kShownItemBytes));
  lease.Release();

  MemoryHolder other(account, {});
  other.Add(15 << 20);
  const Outgoing refused = Post("FailWithItem", request);
  EXPECT_EQ(refused.status, 503);
  EXPECT_NE(refused.body.find("--max-inflight-mb"), std::string::npos) << refused.body;
  EXPECT_EQ(lease.bytes(), 0);
}

TEST_F(ServiceTest, ManySmallValuesCountAsTheDocumentTheyBecome) {
  std::string body = R"({"Text":"a","x":[0)";
  for (int i = 0; i < 500'000; ++i) body += ",0";
  body += "]}";
  MemoryAccount account(64 << 20);
  MemoryHolder holder(account, {});
  MemoryLease lease(holder);
  memory_ = &lease;
  EXPECT_EQ(Post("Echo", body).status, 200);
  lease.Release();
  MemoryHolder other(account, {});
  other.Add(45 << 20);  // 11 MB are left for large requests: the text fits, its document does not
  EXPECT_EQ(Post("Echo", body).status, 503);
}

TEST_F(ServiceTest, AHugeRequestAndThenASmallOne) {
  const std::string huge = R"({"Text":")" + std::string(8u << 20, 'a') + "\"}";
  EXPECT_EQ(Post("Echo", huge).body.size(), huge.size());
  EXPECT_EQ(Post("Echo", R"({"Text":"a"})").body, R"({"Text":"a"})");
}

}  // namespace
}  // namespace stator::api
