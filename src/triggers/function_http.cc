#include "triggers/function_http.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <thread>

#include "access/crypto.h"
#include "base/base64.h"
#include "base/printable.h"
#include "simdjson.h"
#include "stream/position.h"
#include "triggers/event.h"

namespace stator::triggers {
namespace {

constexpr size_t kMostShown = 200;  // bytes of an answer that are shown to people
// Bytes that are kept of an answer that only its status judges.
constexpr size_t kKeptOfStatus = 4096;
// An answer up to this size is in no account: there are few calls at a time.
constexpr size_t kFreeBytes = 64 << 10;
// The string of an answer grows by doubling, beside its copy.
constexpr size_t kGrowth = 3;
// Bytes that parsing takes for each byte: simdjson has indexes, a tape, strings, a padded copy.
constexpr size_t kParsing = 16;
constexpr auto kTurnPause = std::chrono::milliseconds(5);

bool NeedsBody(const Batch& batch, bool invoke) {
  return invoke || batch.reports_failures || batch.window != nullptr;
}

// Returns the state in an answer that is JSON: "{}" where there is none. Nothing: it is no object.
std::optional<std::string> StateIn(const simdjson::padded_string& answer,
                                   simdjson::dom::element json) {
  simdjson::dom::element state;
  if (!json.is_object() || json["state"].get(state) != simdjson::SUCCESS || state.is_null())
    return "{}";
  if (!state.is_object()) return std::nullopt;
  // As it was written, so that no number changes.
  simdjson::ondemand::parser parser;
  simdjson::ondemand::document document;
  simdjson::ondemand::object members;
  simdjson::ondemand::object found;
  std::string_view text;
  if (parser.iterate(answer).get(document) != simdjson::SUCCESS ||
      document.get_object().get(members) != simdjson::SUCCESS ||
      members["state"].get(found) != simdjson::SUCCESS ||
      found.raw_json().get(text) != simdjson::SUCCESS)
    return std::nullopt;
  text = text.substr(0, text.rfind('}') + 1);
  return std::string(text);
}

class AnswerKeeper final : public egress::Keeper {
 public:
  AnswerKeeper(const Batch& batch, bool invoke, Account::Share* share)
      : most_(NeedsBody(batch, invoke) ? SIZE_MAX : kKeptOfStatus), share_(share) {}
  size_t most() const override { return most_; }
  bool MayKeep(size_t bytes) override {
    if (bytes <= kFreeBytes || share_ == nullptr) return true;
    const size_t held = share_->held();
    // In large steps: each may have to wait for its turn.
    return held >= kGrowth * bytes ||
           share_->Take(kGrowth * 2 * bytes - held, Account::Need::kMust);
  }

 private:
  const size_t most_;
  Account::Share* const share_;  // null: no bound
};

Outcome NotRun(std::string text, int status = 0) {
  return {Outcome::Kind::kNotRun, 0, std::move(text), status};
}
Outcome Failed(std::string text, int status, size_t first = 0) {
  return {Outcome::Kind::kFailed, first, std::move(text), status};
}

std::string Shown(std::string_view text) { return Printable(text.substr(0, kMostShown)); }

// Judges what a function returned to a batch of which parts may fail.
Outcome JudgeItems(simdjson::dom::element json, const Batch& batch, int status) {
  simdjson::dom::element list;
  simdjson::dom::object object;
  if (json.is_null()) return {};
  if (json.get(object) != simdjson::SUCCESS)
    return Failed("the function returned no object, so the whole batch counts as failed", status);
  if (object["batchItemFailures"].get(list) != simdjson::SUCCESS || list.is_null()) return {};
  simdjson::dom::array items;
  if (list.get(items) != simdjson::SUCCESS)
    return Failed("batchItemFailures is no list, so the whole batch counts as failed", status);
  size_t first = batch.changes.size();
  for (const simdjson::dom::element item : items) {
    std::string_view number;
    if (item["itemIdentifier"].get(number) != simdjson::SUCCESS || number.empty())
      return Failed("an itemIdentifier is missing or empty, so the whole batch counts as failed",
                    status);
    const std::optional<stream::Position> position = stream::ParseSequenceNumber(number);
    const auto found = std::lower_bound(
        batch.changes.begin(), batch.changes.end(), position.value_or(stream::Position()),
        [](const Change* each, const stream::Position& at) { return each->position < at; });
    if (!position || found == batch.changes.end() || (*found)->position != *position)
      return Failed(fmt::format("{} is no sequence number of the batch, so all of it counts as "
                                "failed",
                                Shown(number)),
                    status);
    first = std::min(first, static_cast<size_t>(found - batch.changes.begin()));
  }
  if (first == batch.changes.size()) return {};
  return Failed(fmt::format("the function reported that {} failed",
                            stream::SequenceNumberOf(batch.changes[first]->position)),
                status, first);
}

}  // namespace

Outcome Judge(const egress::Reply& reply, const Batch& batch, bool invoke) {
  const int status = reply.status;
  if (status == 429 || status == 408 || status >= 500)
    return NotRun(fmt::format("HTTP {}: {}", status, Shown(reply.body)), status);
  if (status >= 300 && status < 400) {
    return NotRun(fmt::format("HTTP {}: redirects are not followed; it leads to {}", status,
                              Shown(reply.header("Location"))),
                  status);
  }
  if (status < 200 || status >= 400) {
    const std::string text = fmt::format("HTTP {}: {}", status, Shown(reply.body));
    // With the Invoke API such a status means that the function did not run, except 413: the event
    // is too large, and the call counts as failed.
    return invoke && status != 413 ? NotRun(text, status) : Failed(text, status);
  }
  const std::string_view error = reply.header("X-Amz-Function-Error");
  if (!error.empty())
    return Failed(fmt::format("the function failed ({}): {}", Shown(error), Shown(reply.body)),
                  status);
  if (reply.body.empty() || !NeedsBody(batch, invoke)) {
    Outcome done;
    if (batch.window != nullptr) done.state = "{}";
    return done;
  }
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  const simdjson::padded_string padded(reply.body);
  if (parser.parse(padded).get(json) != simdjson::SUCCESS)
    return Failed("the answer is no JSON: " + Shown(reply.body), status);
  simdjson::dom::element ignored;
  // The runtime interface emulator answers 200 without the header when a function fails.
  if (invoke && json.is_object() && json["errorType"].get(ignored) == simdjson::SUCCESS &&
      json["errorMessage"].get(ignored) == simdjson::SUCCESS)
    return Failed("the function failed: " + Shown(reply.body), status);
  if (batch.window == nullptr)
    return batch.reports_failures ? JudgeItems(json, batch, status) : Outcome{};
  if (batch.changes.empty()) return {};  // the window ends: its state has done its work
  std::optional<std::string> state = StateIn(padded, json);
  if (!state) return Failed("the state is no object, so the whole batch counts as failed", status);
  Outcome outcome = batch.reports_failures ? JudgeItems(json, batch, status) : Outcome{};
  if (outcome.kind == Outcome::Kind::kDone || outcome.first_failed > 0)
    outcome.state = std::move(state);
  return outcome;
}

std::string WebhookSignature(std::string_view secret, std::string_view id, int64_t seconds,
                             const egress::Body& body) {
  const access::Digest digest = access::HmacSha256OfPieces(secret, [&](auto take) {
    take(fmt::format("{}.{}.", id, seconds));
    const Status visited = body.Visit([&take](std::string_view piece) {
      take(piece);
      return OkStatus();
    });
    (void)visited.ok();  // it ends with the visitor's errors only
  });
  std::string text(Base64Length(digest.size()), '\0');
  EncodeBase64(access::AsText(digest), text.data());
  return "v1," + text;
}

Result<std::unique_ptr<HttpFunction>> HttpFunction::Make(const FunctionSettings& function,
                                                         const Clock& clock, const Clock& dates,
                                                         Trusts* trusts) {
  ASSIGN_OR_RETURN(egress::Url url, egress::ParseUrl(function.url));
  std::shared_ptr<const egress::TlsTrust> trust;
  if (url.tls) {
    ASSIGN_OR_RETURN(trust, trusts->Of(function.authorities_file));
  }
  return std::unique_ptr<HttpFunction>(
      new HttpFunction(function, std::move(url), clock, dates, std::move(trust)));
}

HttpFunction::HttpFunction(const FunctionSettings& function, egress::Url url, const Clock& clock,
                           const Clock& dates, std::shared_ptr<const egress::TlsTrust> trust)
    : function_(function),
      url_(url),
      clock_(clock),
      dates_(dates),
      client_(std::move(url), egress::Limits{.total_micros = function.timeout_micros},
              std::move(trust), clock) {}

std::string HttpFunction::TargetOf(const Batch& batch) const {
  if (function_.kind != FunctionSettings::Kind::kInvoke || url_.target != "/") return url_.target;
  const size_t colon = batch.function.find(':');
  std::string target =
      fmt::format("/2015-03-31/functions/{}/invocations", batch.function.substr(0, colon));
  if (colon != std::string_view::npos)
    target += fmt::format("?Qualifier={}", batch.function.substr(colon + 1));
  return target;
}

void HttpFunction::Cancel() {
  cancelled_ = true;
  client_.Cancel();
}

Outcome HttpFunction::JudgeInTurn(const egress::Reply& reply, const Batch& batch,
                                  Account::Share* share) {
  const bool invoke = function_.kind == FunctionSettings::Kind::kInvoke;
  if (share != nullptr && reply.body.size() > kFreeBytes && NeedsBody(batch, invoke)) {
    const int64_t until = clock_.TicksMicros() + function_.timeout_micros;
    while (!share->Take(kParsing * reply.body.size(), Account::Need::kMust)) {
      if (cancelled_ || clock_.TicksMicros() >= until)
        return NotRun("there was no memory for the answer in time", reply.status);
      std::this_thread::sleep_for(kTurnPause);
    }
  }
  return Judge(reply, batch, invoke);
}

Outcome HttpFunction::Call(const Batch& batch, std::string_view kind, egress::Body* body) {
  const bool invoke = function_.kind == FunctionSettings::Kind::kInvoke;
  egress::Headers headers = {{"Content-Type", "application/json"}};
  if (invoke) {
    headers.emplace_back("X-Amz-Invocation-Type", "RequestResponse");
  } else {
    // A final call is named after the end of its window.
    const std::string first =
        batch.changes.empty() ? fmt::format("final-{}", batch.window->window.end_micros / 1'000'000)
                              : stream::SequenceNumberOf(batch.changes.front()->position);
    const std::string id = fmt::format("{}{}-{}-{}", kind, batch.uuid, batch.shard_id, first);
    const int64_t seconds = dates_.NowMicros() / 1'000'000;
    headers.emplace_back("webhook-id", id);
    headers.emplace_back("webhook-timestamp", std::to_string(seconds));
    if (!function_.secret.empty()) {
      headers.emplace_back("webhook-signature",
                           WebhookSignature(function_.secret, id, seconds, *body));
    }
  }
  std::optional<Account::Share> share;
  if (batch.calls != nullptr) share.emplace(*batch.calls);
  AnswerKeeper keeper(batch, invoke, share ? &*share : nullptr);
  const Result<egress::Reply> reply =
      client_.Call("POST", TargetOf(batch), headers, *body, &keeper);
  if (reply.ok()) return JudgeInTurn(*reply, batch, share ? &*share : nullptr);
  const std::string text = fmt::format("{}: {}", url_.origin(), reply.error().message());
  switch (egress::FailureOf(reply.error())) {
    case egress::Failure::kTimeout:  // the function may have run: a record that hangs it is one
    case egress::Failure::kTooLong: return Failed(text, 0);
    default: return NotRun(text);
  }
}

Outcome HttpFunction::Deliver(const Batch& batch) {
  const std::string tail = batch.window == nullptr ? std::string(EventBody::kTail)
                                                   : batch.window->TailOf(batch.shard_id);
  EventBody body(EventBody::kHead, batch, tail);
  return Call(batch, "", &body);
}

Outcome HttpFunction::Report(const Batch& batch, const std::string& head) {
  const std::string begin = EventBody::ReportHead(head);
  EventBody body(begin, batch, EventBody::kReportTail);
  return Call(batch, "failed-", &body);
}

}  // namespace stator::triggers
