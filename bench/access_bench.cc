// The cost of access control for a request.
//
//   BM_Verify/BYTES      a signature, with a cached signing key: all but the first of a key and day
//   BM_RefuseUnknownKey  a signature of a key that does not exist
//   BM_Sign              making a signature
//   BM_AuthorizePlain    a decision by policies without conditions on the request
//   BM_AuthorizeItem     a decision with LeadingKeys, Attributes and Select, context included
#include <benchmark/benchmark.h>

#include <string>
#include <vector>

#include "access/authorize.h"
#include "access/verifier.h"

namespace stator::access {
namespace {

constexpr int64_t kNow = 1'767'225'600'000'000;  // 2026-01-01T00:00:00Z

class OneKey final : public KeySource {
 public:
  OneKey() {
    auto credential = std::make_shared<AccessCredential>();
    credential->secret = "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY";
    credential_ = std::move(credential);
  }
  KeyLookup Find(std::string_view key_id, std::string_view) const override {
    if (key_id != "AKIABENCH00000000001") return {};
    return {KeyState::kActive, TokenState::kFits, credential_};
  }

 private:
  std::shared_ptr<const AccessCredential> credential_;
};

// A GetItem as the SDK for JavaScript sends it, with a body of `body_bytes` bytes.
struct SignedGetItem {
  SignedGetItem(std::string_view key_id, size_t body_bytes) {
    body = R"({"TableName":"Music","Key":{"pk":{"S":"artist-1234567890"}}})";
    if (body.size() < body_bytes) body.append(body_bytes - body.size(), ' ');
    headers = {{"content-type", "application/x-amz-json-1.0"},
               {"x-amz-target", "DynamoDB_20120810.GetItem"},
               {"content-length", std::to_string(body.size())},
               {"x-amz-user-agent", "aws-sdk-js/3.1168.0"},
               {"user-agent", "aws-sdk-js/3.1168.0 ua/2.1 os/linux lang/js md/nodejs#20.20.2"},
               {"host", "127.0.0.1:8000"},
               {"amz-sdk-invocation-id", "66adb688-c0f2-4ae0-a2ba-cb8d7b582556"},
               {"amz-sdk-request", "attempt=1; max=3"},
               {"Connection", "keep-alive"}};
    SigningOptions options;
    options.region = "eu-central-1";
    options.service = "dynamodb";
    options.now_micros = kNow;
    options.add_content_sha256 = true;
    SignRequest({std::string(key_id), "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", ""}, options,
                "POST", "/", body, &headers);
    for (const OwnedHeader& header : headers) lines.push_back({header.name, header.value});
  }
  HttpRequestView view() const { return {"POST", "/", lines, body}; }

  std::string body;
  std::vector<OwnedHeader> headers;
  std::vector<HeaderLine> lines;
};

void BM_Verify(benchmark::State& state) {
  const ManualClock clock(kNow);
  const OneKey keys;
  Verifier verifier(clock, keys, "dummy");
  const SignedGetItem request("AKIABENCH00000000001", static_cast<size_t>(state.range(0)));
  if (!verifier.Verify(request.view(), {"dynamodb", {}}).ok()) {
    state.SkipWithError("the signature does not verify");
    return;
  }
  for (auto _ : state) {
    benchmark::DoNotOptimize(verifier.Verify(request.view(), {"dynamodb", {}}));
  }
}
BENCHMARK(BM_Verify)->Arg(0)->Arg(1024)->Arg(16 * 1024);

void BM_RefuseUnknownKey(benchmark::State& state) {
  const ManualClock clock(kNow);
  const OneKey keys;
  Verifier verifier(clock, keys, "dummy");
  const SignedGetItem request("AKIABENCH00000000002", 0);
  for (auto _ : state) {
    benchmark::DoNotOptimize(verifier.Verify(request.view(), {"dynamodb", {}}));
  }
}
BENCHMARK(BM_RefuseUnknownKey);

void BM_Sign(benchmark::State& state) {
  for (auto _ : state) {
    benchmark::DoNotOptimize(SignedGetItem("AKIABENCH00000000001", 0));
  }
}
BENCHMARK(BM_Sign);

// ---- policies ----

constexpr char kPlainPolicy[] = R"({"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:PutItem", "dynamodb:Query"],
   "Resource": ["arn:aws:dynamodb:*:111122223333:table/Music",
                "arn:aws:dynamodb:*:111122223333:table/Music/index/*"]},
  {"Effect": "Deny", "Action": "dynamodb:DeleteTable", "Resource": "*"}]})";

// The documented form of access to one's own items and some of their attributes.
constexpr char kItemPolicy[] = R"({"Version": "2012-10-17", "Statement": [
  {"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:BatchGetItem", "dynamodb:Query"],
   "Resource": ["arn:aws:dynamodb:*:111122223333:table/Music"],
   "Condition": {
     "ForAllValues:StringEquals": {
       "dynamodb:LeadingKeys": ["${aws:username}"],
       "dynamodb:Attributes": ["pk", "sk", "title", "artist", "year", "album", "genre", "rating"]},
     "StringEqualsIfExists": {"dynamodb:Select": "SPECIFIC_ATTRIBUTES"}}}]})";

constexpr std::string_view kAlice = "arn:aws:iam::111122223333:user/alice";
constexpr std::string_view kMusic = "arn:aws:dynamodb:eu-central-1:111122223333:table/Music";

void Authorize(benchmark::State& state, const char* text) {
  const Result<std::shared_ptr<const Policy>> policy =
      Policy::Parse(text, PolicyKind::kIdentity, "bench");
  if (!policy.ok()) {
    state.SkipWithError(policy.error().message().c_str());
    return;
  }
  PolicySet policies;
  const std::shared_ptr<const Policy> list[] = {*policy};
  policies.identity = list;
  const ActionId action = *FindAction("dynamodb:GetItem");
  const Principal principal{Principal::Kind::kUser, "111122223333", kAlice, "", "AIDAALICE"};
  const std::string_view leading[] = {"alice"};
  const std::string_view attributes[] = {"pk", "title", "artist", "year"};
  const bool reads_items = (*policy)->ReadsKey(ContextKey::kLeadingKeys);
  for (auto _ : state) {
    const ResourceName resource(kMusic);
    RequestContext context;
    SetPrincipal(principal, "AIDAALICE", &context);
    if (reads_items) {
      context.SetList(ContextKey::kLeadingKeys, leading);
      context.SetList(ContextKey::kAttributes, attributes);
      context.Set(ContextKey::kSelect, "SPECIFIC_ATTRIBUTES");
    }
    const Decision decision =
        access::Authorize({principal, action, resource, "111122223333", context}, policies);
    if (!decision.allowed) state.SkipWithError("denied");
  }
}
void BM_AuthorizePlain(benchmark::State& state) { Authorize(state, kPlainPolicy); }
BENCHMARK(BM_AuthorizePlain);
void BM_AuthorizeItem(benchmark::State& state) { Authorize(state, kItemPolicy); }
BENCHMARK(BM_AuthorizeItem);

}  // namespace
}  // namespace stator::access
