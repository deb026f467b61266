// CPU of the API per request, without sockets and without a table behind it.
#include <benchmark/benchmark.h>

#include "api/attribute_json.h"
#include "api/service.h"

namespace stator::api {
namespace {

std::string ItemJson(size_t payload_bytes) {
  std::string json =
      R"({"pk":{"S":"user#000001"},"sk":{"N":"1700000000"},"flag":{"BOOL":true},"tags":{"SS":["a","b"]},)"
      R"("n":{"M":{"x":{"N":"1.5"},"y":{"S":"why"}}},"payload":{"S":")";
  json.append(payload_bytes, 'p');
  return json + "\"}}";
}

std::string Encode(const std::string& json) {
  simdjson::dom::parser parser;
  std::string item;
  std::optional<Error> value_error;
  if (!ReadItem(parser.parse(json), &item, &value_error).ok() || value_error) std::abort();
  return item;
}

void BM_ReadItem(benchmark::State& state) {
  const simdjson::padded_string json(ItemJson(static_cast<size_t>(state.range(0))));
  simdjson::dom::parser parser;
  std::string item;
  for (auto _ : state) {
    item.clear();
    std::optional<Error> value_error;
    benchmark::DoNotOptimize(ReadItem(parser.parse(json), &item, &value_error).ok());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * json.size()));
}
BENCHMARK(BM_ReadItem)->Arg(100)->Arg(1024)->Arg(100000);

void BM_WriteItem(benchmark::State& state) {
  const std::string item = Encode(ItemJson(static_cast<size_t>(state.range(0))));
  std::string json;
  for (auto _ : state) {
    json.clear();
    AppendItemJson(&json, model::ItemView(item));
    benchmark::DoNotOptimize(json.data());
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * json.size()));
}
BENCHMARK(BM_WriteItem)->Arg(100)->Arg(1024)->Arg(100000);

std::string* stored_item = nullptr;

// A GetItem that finds its item at once.
void GetStored(ops::Context&, ops::GetItemRequest, ops::Callback<ops::GetItemResponse> done) {
  ops::GetItemResponse response;
  response.item = *stored_item;
  done(std::move(response));
}

class NoLoop final : public Executor {
 public:
  void Post(UniqueFunction<void()>) override { std::abort(); }
};

void BM_GetItem(benchmark::State& state) {
  std::string item = Encode(ItemJson(static_cast<size_t>(state.range(0))));
  stored_item = &item;
  alignas(64) static char store[64];  // no operation here opens a table
  SystemClock clock;
  SeededRandom random(1);
  WorkerPool workers(1, 1);
  ops::Environment environment{reinterpret_cast<table::Store&>(store), clock, random, workers, {}};
  Registry registry;
  registry.Register("GetItem", Access::kRead, GetStored);
  Service service(environment, std::move(registry), std::make_unique<ShapeAuthenticator>());
  NoLoop loop;
  std::string body =
      R"({"TableName":"users","Key":{"pk":{"S":"user#000001"},"sk":{"N":"1700000000"}}})";
  const size_t size = body.size();
  body.append(kBodyPadding, '\0');
  size_t replied = 0;
  for (auto _ : state) {
    Incoming request;
    request.method = "POST";
    request.target = "/";
    request.headers.Add("Host", "127.0.0.1:8000");
    request.headers.Add("Accept-Encoding", "identity");
    request.headers.Add("Content-Type", "application/x-amz-json-1.0");
    request.headers.Add("X-Amz-Target", "DynamoDB_20120810.GetItem");
    request.headers.Add("X-Amz-Date", "20261101T000000Z");
    request.headers.Add("User-Agent", "bench");
    request.headers.Add(
        "Authorization",
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20261101/us-east-1/dynamodb/aws4_request, "
        "SignedHeaders=content-type;host;x-amz-date;x-amz-target, "
        "Signature=0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef");
    request.headers.Add("Content-Length", "82");
    request.body = std::string_view(body).substr(0, size);
    service.Handle(request, loop, [&](Outgoing reply) {
      if (reply.status != 200) std::abort();
      replied += reply.body.size();
    });
  }
  benchmark::DoNotOptimize(replied);
}
BENCHMARK(BM_GetItem)->Arg(100)->Arg(1024)->Arg(100000);

}  // namespace
}  // namespace stator::api
