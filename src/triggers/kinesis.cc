#include "triggers/kinesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <thread>
#include <utility>

#include "api_client/credentials.h"
#include "api_client/signed_headers.h"
#include "base/base64.h"
#include "base/json_writer.h"
#include "base/printable.h"
#include "simdjson.h"

namespace stator::triggers {
namespace {

constexpr size_t kMostName = 128;
constexpr size_t kMostShown = 300;
constexpr size_t kRecordFrame = 64;  // of a record in the body of PutRecords
// Records that were refused one by one are sent again in the same call, as long as others are
// taken.
constexpr int kTries = 6;
constexpr int64_t kFirstPauseMicros = 50'000;
constexpr auto kNap = std::chrono::milliseconds(5);

bool IsNameByte(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

std::string Shown(std::string_view text) { return Printable(text.substr(0, kMostShown)); }

std::string_view TextIn(simdjson::dom::element json, std::string_view name) {
  std::string_view text;
  if (json[name].get(text) != simdjson::SUCCESS) return {};
  return text;
}

std::string StreamBody(std::string_view name) {
  JsonWriter json;
  json.Open('{').Field("StreamName", name).Close('}');
  return json.Take();
}

std::string PutBody(std::string_view name, const Batch& batch, const std::vector<size_t>& sent,
                    size_t bytes) {
  std::string body;
  body.reserve(bytes);
  body += R"({"Records":[)";
  for (const size_t i : sent) {
    const std::string_view change = batch.changes[i]->json;
    const std::string_view record = change.substr(kPartitionKeyBytes);
    if (body.back() == '}') body += ',';
    body += R"({"Data":")";
    const size_t at = body.size();
    body.resize(at + Base64Length(record.size()));
    EncodeBase64(record, body.data() + at);
    body += R"(","PartitionKey":")";
    body += change.substr(0, kPartitionKeyBytes);
    body += "\"}";
  }
  body += R"(],"StreamName":")";
  body += name;
  body += "\"}";
  return body;
}

// The fate of each record, by an answer to PutRecords.
struct Answer {
  std::vector<bool> taken;
  size_t refused = 0;
  std::string problem;  // of the first that was refused
};

// Nothing: it is no answer to `count` records.
std::optional<Answer> ParseAnswer(const std::string& body, size_t count) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(body);
  simdjson::dom::element json;
  simdjson::dom::array records;
  if (parser.parse(padded).get(json) != simdjson::SUCCESS ||
      json["Records"].get(records) != simdjson::SUCCESS || records.size() != count)
    return std::nullopt;
  Answer answer;
  for (const simdjson::dom::element record : records) {
    const bool taken =
        !TextIn(record, "SequenceNumber").empty() && TextIn(record, "ErrorCode").empty();
    answer.taken.push_back(taken);
    if (taken) continue;
    if (++answer.refused > 1) continue;
    const std::string_view code = TextIn(record, "ErrorCode");
    answer.problem = code.empty()
                         ? "neither SequenceNumber nor ErrorCode"
                         : Shown(fmt::format("{} {}", code, TextIn(record, "ErrorMessage")));
  }
  return answer;
}

}  // namespace

std::optional<KinesisArn> KinesisArn::Parse(std::string_view text) {
  std::vector<std::string_view> parts;
  for (int i = 0; i < 5; ++i) {
    const size_t colon = text.find(':');
    if (colon == std::string_view::npos) return std::nullopt;
    parts.push_back(text.substr(0, colon));
    text.remove_prefix(colon + 1);
  }
  constexpr std::string_view kStream = "stream/";
  if (parts[0] != "arn" || parts[2] != "kinesis" || parts[3].empty() || !text.starts_with(kStream))
    return std::nullopt;
  text.remove_prefix(kStream.size());
  const bool named = !text.empty() && text.size() <= kMostName &&
                     std::all_of(text.begin(), text.end(), IsNameByte) &&
                     std::all_of(parts[3].begin(), parts[3].end(), IsNameByte);
  if (!named) return std::nullopt;
  return KinesisArn{std::string(parts[3]), std::string(text)};
}

Result<access::SigningKey> FindKinesisKey(std::string_view endpoint) {
  ASSIGN_OR_RETURN(api_client::Credentials found,
                   api_client::FindCredentials(api_client::ProcessEnvironment()));
  if (found.is_made_up) {
    return ValidationError(
        fmt::format("{} needs an access key: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or "
                    "AWS_SHARED_CREDENTIALS_FILE",
                    endpoint));
  }
  return std::move(found.key);
}

std::string KinesisErrorOf(const egress::Reply& reply) {
  simdjson::dom::parser parser;
  const simdjson::padded_string padded(reply.body);
  simdjson::dom::element json;
  if (parser.parse(padded).get(json) != simdjson::SUCCESS) return {};
  const std::string_view type = TextIn(json, "__type");
  return std::string(
      type.substr(type.rfind('#') == std::string_view::npos ? 0 : type.rfind('#') + 1));
}

Result<std::unique_ptr<KinesisClient>> KinesisClient::Make(const FunctionSettings& endpoint,
                                                           const Clock& clock, Trusts* trusts) {
  ASSIGN_OR_RETURN(egress::Url url, egress::ParseUrl(endpoint.url));
  std::shared_ptr<const egress::TlsTrust> trust;
  if (url.tls) {
    ASSIGN_OR_RETURN(trust, trusts->Of(endpoint.authorities_file));
  }
  return std::unique_ptr<KinesisClient>(
      new KinesisClient(endpoint, std::move(url), std::move(trust), clock));
}

KinesisClient::KinesisClient(const FunctionSettings& endpoint, egress::Url url,
                             std::shared_ptr<const egress::TlsTrust> trust, const Clock& clock)
    : url_(url),
      clock_(clock),
      http_(std::move(url), egress::Limits{.total_micros = endpoint.timeout_micros},
            std::move(trust), clock) {}

Result<egress::Reply> KinesisClient::Call(std::string_view action, std::string_view region,
                                          std::string_view body) {
  if (!key_) {
    ASSIGN_OR_RETURN(key_, FindKinesisKey(url_.origin()));
  }
  const egress::Headers own = {{"Content-Type", "application/x-amz-json-1.1"},
                               {"X-Amz-Target", fmt::format("Kinesis_20131202.{}", action)}};
  const api_client::Signature signature{
      .key = *key_, .region = region, .service = "kinesis", .now_micros = clock_.NowMicros()};
  const egress::Headers headers =
      api_client::SignedHeaders(signature, url_, "POST", url_.target, body, own);
  Result<egress::Reply> reply = http_.Call("POST", url_.target, headers, body);
  // Keys with a session end.
  if (reply.ok() && reply->status >= 400) key_.reset();
  return reply;
}

Status KinesisClient::Check(std::string_view arn) {
  const std::optional<KinesisArn> parsed = KinesisArn::Parse(arn);
  if (!parsed) return Error(ErrorCode::kAccessDenied, "no ARN of a stream");
  std::string problem;
  for (const std::string_view action : {"DescribeStreamSummary", "DescribeStream"}) {
    const Result<egress::Reply> reply = Call(action, parsed->region, StreamBody(parsed->name));
    if (!reply.ok()) return Error(ErrorCode::kUnavailable, reply.error().message());
    const std::string error = KinesisErrorOf(*reply);
    if (reply->status == 200) {
      simdjson::dom::parser parser;
      const simdjson::padded_string padded(reply->body);
      simdjson::dom::element json;
      if (parser.parse(padded).get(json) == simdjson::SUCCESS && json.is_object())
        return OkStatus();
      return Error(ErrorCode::kUnavailable, "the answer is no JSON: " + Shown(reply->body));
    }
    problem = fmt::format("{} {}", reply->status, error.empty() ? Shown(reply->body) : error);
    // Some servers have the older action only.
    if (error == "UnknownOperationException" || error == "InvalidAction") continue;
    const bool refused = !error.empty() && reply->status < 500 && reply->status != 429 &&
                         error != "LimitExceededException" && error != "ThrottlingException";
    return Error(refused ? ErrorCode::kAccessDenied : ErrorCode::kUnavailable, problem);
  }
  return Error(ErrorCode::kUnavailable, problem);
}

void KinesisStream::Cancel() {
  cancelled_ = true;
  client_->Cancel();
}

void TakenChanges::Begin(const Batch& batch) {
  std::erase_if(taken_, [&](const stream::Position& position) {
    return position < batch.changes.front()->position;
  });
}

size_t TakenChanges::FirstMissing(const Batch& batch) const {
  size_t first = 0;
  while (first < batch.changes.size() && taken_.contains(batch.changes[first]->position)) ++first;
  return first;
}

std::vector<size_t> TakenChanges::Missing(const Batch& batch) const {
  std::vector<size_t> missing;
  for (size_t i = 0; i < batch.changes.size(); ++i) {
    if (!taken_.contains(batch.changes[i]->position)) missing.push_back(i);
  }
  return missing;
}

void TakenChanges::Note(const Batch& batch, const std::vector<size_t>& sent,
                        const std::vector<bool>& taken) {
  std::set<std::string_view> behind;  // keys of items whose records must be sent again
  size_t next = 0;
  for (size_t i = 0; i < batch.changes.size(); ++i) {
    const Change& change = *batch.changes[i];
    const std::string_view key = std::string_view(change.json).substr(0, kPartitionKeyBytes);
    const bool was_sent = next < sent.size() && sent[next] == i;
    if (was_sent && !taken[next]) behind.insert(key);
    if (was_sent) ++next;
    if (behind.contains(key)) {
      taken_.erase(change.position);
    } else if (was_sent) {
      taken_.insert(change.position);
    }
  }
}

Outcome KinesisStream::Put(const KinesisArn& arn, const Batch& batch, bool* progress) {
  *progress = false;
  const std::vector<size_t> sent = taken_.Missing(batch);
  size_t bytes = kMostShown;
  for (const size_t i : sent) bytes += Base64Length(batch.changes[i]->json.size()) + kRecordFrame;
  if (sent.empty()) return {};
  const auto not_taken = [&](std::string text, int status) {
    return Outcome{Outcome::Kind::kNotRun, taken_.FirstMissing(batch), std::move(text), status};
  };
  std::optional<Account::Share> share;
  if (batch.calls != nullptr) {
    share.emplace(*batch.calls);
    while (!share->Take(bytes, Account::Need::kMust)) {
      if (cancelled_) return not_taken("stopped", 0);
      std::this_thread::sleep_for(kNap);
    }
  }
  const Result<egress::Reply> reply =
      client_->Call("PutRecords", arn.region, PutBody(arn.name, batch, sent, bytes));
  if (!reply.ok()) return not_taken(reply.error().message(), 0);
  if (reply->status != 200) {
    return not_taken(fmt::format("PutRecords: {} {}", reply->status, Shown(reply->body)),
                     reply->status);
  }
  const std::optional<Answer> answer = ParseAnswer(reply->body, sent.size());
  if (!answer) {
    return not_taken(
        fmt::format("PutRecords: the answer does not tell what became of {} records: {}",
                    sent.size(), Shown(reply->body)),
        reply->status);
  }
  taken_.Note(batch, sent, answer->taken);
  *progress = answer->refused < sent.size();
  if (answer->refused == 0) return {};
  Outcome outcome = not_taken(fmt::format("PutRecords: {} of {} records were refused: {}",
                                          answer->refused, sent.size(), answer->problem),
                              reply->status);
  outcome.refused = answer->refused;
  return outcome;
}

Outcome KinesisStream::Deliver(const Batch& batch) {
  const std::optional<KinesisArn> arn = KinesisArn::Parse(batch.function);
  if (!arn) return {Outcome::Kind::kNotRun, 0, "no ARN of a stream"};
  taken_.Begin(batch);
  size_t refused = 0;
  int64_t pause = kFirstPauseMicros;
  for (int tries = 1;; ++tries, pause *= 2) {
    bool progress = false;
    Outcome outcome = Put(*arn, batch, &progress);
    refused += outcome.refused;
    outcome.refused = refused;
    if (outcome.kind == Outcome::Kind::kDone || !progress || tries == kTries || cancelled_)
      return outcome;
    const int64_t until = clock_.TicksMicros() + pause;
    while (!cancelled_ && clock_.TicksMicros() < until) std::this_thread::sleep_for(kNap);
  }
}

}  // namespace stator::triggers
