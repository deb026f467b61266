#include "api_client/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "api_client/signed_headers.h"
#include "base/printable.h"
#include "base/whole_characters.h"
#include "simdjson.h"

namespace stator::api_client {
namespace {

// The maximum size of a reply: enough for a page of 1 MB of items in JSON with every character
// escaped.
constexpr size_t kMostReply = 16 << 20;
constexpr size_t kMostShown = 2000;  // bytes of a refusal

constexpr std::array<std::string_view, 6> kPassing = {
    "ProvisionedThroughputExceededException",
    "ThrottlingException",
    "RequestLimitExceeded",
    "InternalServerError",
    "ServiceUnavailable",
    "LimitExceededException",  // GetRecords and DescribeStream, called too often
};

std::string Shown(std::string_view text) { return PrintableLines(Beginning(text, kMostShown)); }

std::shared_ptr<const RefusalPayload> RefusalOf(const egress::Reply& reply) {
  simdjson::dom::parser parser;
  simdjson::dom::element body;
  std::string_view type, message;
  if (parser.parse(reply.body.data(), reply.body.size()).get(body) == simdjson::SUCCESS) {
    if (body["__type"].get(type) != simdjson::SUCCESS) type = {};
    if (body["message"].get(message) != simdjson::SUCCESS &&
        body["Message"].get(message) != simdjson::SUCCESS)
      message = {};
  }
  if (const size_t hash = type.find('#'); hash != std::string_view::npos)
    type.remove_prefix(hash + 1);
  if (type.empty() && message.empty()) message = reply.body;
  return std::make_shared<RefusalPayload>(reply.status, std::string(type), Shown(message));
}

bool MayPass(const RefusalPayload& refusal) {
  return refusal.status >= 500 || refusal.status == 429 ||
         std::find(kPassing.begin(), kPassing.end(), refusal.type) != kPassing.end();
}

bool MayPass(egress::Failure failure) {
  return failure == egress::Failure::kConnect || failure == egress::Failure::kTimeout ||
         failure == egress::Failure::kBroken;
}

Error ErrorOf(std::string_view operation, std::shared_ptr<const RefusalPayload> refusal) {
  const std::string name =
      refusal->type.empty() ? fmt::format("HTTP {}", refusal->status) : refusal->type;
  std::string text = fmt::format("{}: {}: {}", operation.substr(operation.find('.') + 1),
                                 Shown(name), refusal->message);
  return Error(ErrorCode::kValidation, std::move(text), std::move(refusal));
}

egress::Limits LimitsOfCalls() {
  egress::Limits limits;
  limits.body_bytes = kMostReply;
  return limits;
}

}  // namespace

std::string_view RefusalType(const Error& error) {
  const auto* refusal = dynamic_cast<const RefusalPayload*>(error.payload().get());
  return refusal == nullptr ? std::string_view() : std::string_view(refusal->type);
}

std::optional<int64_t> Backoff::Next() {
  if (clock_.TicksMicros() - since_ >= patience_micros_) return std::nullopt;
  const auto wait = static_cast<int64_t>(random_.Below(static_cast<uint64_t>(bound_) + 1));
  bound_ = std::min(bound_ * 2, kMostMicros);
  return wait;
}

void Backoff::Succeeded() {
  since_ = clock_.TicksMicros();
  bound_ = kFirstMicros;
}

Client::Client(Endpoint endpoint, Retries retries)
    : endpoint_(std::move(endpoint)),
      retries_(std::move(retries)),
      backoff_(*retries_.clock, *retries_.random, retries_.patience_micros),
      parts_(*retries_.clock, *retries_.random, retries_.patience_micros),
      client_(endpoint_.url, LimitsOfCalls(), endpoint_.trust, *retries_.clock) {}

Status Client::PauseBeforeRetry(const std::string& why) {
  return PauseFor(&parts_, Error(ErrorCode::kUnavailable, why));
}

Status Client::PauseFor(Backoff* backoff, Error why) {
  const std::optional<int64_t> wait = backoff->Next();
  if (!wait) return why;
  ++repeated_;
  if (retries_.pause(*wait)) return OkStatus();
  return Error(ErrorCode::kUnavailable, "interrupted");
}

Result<egress::Reply> Client::Send(std::string_view operation, std::string_view body) {
  const egress::Headers headers = SignedHeaders(
      {endpoint_.key, endpoint_.region, "dynamodb", retries_.clock->NowMicros()}, endpoint_.url,
      "POST", "/", body,
      {{"Content-Type", "application/x-amz-json-1.0"}, {"X-Amz-Target", std::string(operation)}});
  return client_.Call("POST", "/", headers, body);
}

Result<std::string> Client::Call(std::string_view operation, std::string_view body) {
  // The time for retries begins with the call, not with the last use of the connection.
  backoff_.Succeeded();
  for (;;) {
    Result<egress::Reply> reply = Send(operation, body);
    std::optional<Error> failed;
    if (reply.ok() && reply->status == 200) {
      backoff_.Succeeded();
      return std::move(reply->body);
    }
    if (reply.ok()) {
      std::shared_ptr<const RefusalPayload> refusal = RefusalOf(*reply);
      const bool may_pass = MayPass(*refusal);
      failed = ErrorOf(operation, std::move(refusal));
      if (!may_pass) return *std::move(failed);
    } else {
      failed = Error(ErrorCode::kUnavailable,
                     fmt::format("{} gave no answer: {}", endpoint_.url.origin(),
                                 Shown(reply.error().message())),
                     reply.error().payload());
      if (!MayPass(egress::FailureOf(reply.error()))) return *std::move(failed);
    }
    TRY(PauseFor(&backoff_, Error(ErrorCode::kUnavailable, failed->message(), failed->payload())));
  }
}

}  // namespace stator::api_client
