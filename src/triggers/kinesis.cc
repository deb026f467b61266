#include "triggers/kinesis.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
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

void AppendRecord(std::string_view key, std::string_view data, std::string* body) {
  if (body->back() == '}') *body += ',';
  *body += R"({"Data":")";
  const size_t at = body->size();
  body->resize(at + Base64Length(data.size()));
  EncodeBase64(data, body->data() + at);
  *body += R"(","PartitionKey":")";
  *body += key;
  *body += "\"}";
}

void EndPut(std::string_view name, std::string* body) {
  *body += R"(],"StreamName":")";
  *body += name;
  *body += "\"}";
}

constexpr std::string_view kPutHead = R"({"Records":[)";

std::string PutBody(std::string_view name, const Batch& batch, const std::vector<size_t>& sent,
                    size_t bytes) {
  std::string body;
  body.reserve(bytes);
  body += kPutHead;
  for (const size_t i : sent)
    AppendRecord(batch.changes[i]->key(), batch.changes[i]->json(), &body);
  EndPut(name, &body);
  return body;
}

// Whether an answer says that records are wrong, so that the same ones will be refused again.
bool IsOfRecords(const egress::Reply& reply) {
  if (reply.status == 413) return true;
  if (reply.status != 400) return false;
  const std::string error = KinesisErrorOf(reply);
  return error == "InvalidArgumentException" || error == "ValidationException" ||
         error == "SerializationException";
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

size_t KinesisStream::most_change_bytes() const {
  return stream_.empty() ? kMostKinesisRecordBytes : SIZE_MAX;
}

void KinesisStream::Render(const RawChange& raw, ByteBuffer* scratch, Change* change) const {
  // Records of one item have one key, so that they are in one shard.
  const std::string key = PartitionKeyOf(raw.record.keys);
  change->text = stream_.empty() ? KinesisRecord(raw, key, scratch) : RecordJson(raw, key, scratch);
  change->key_bytes = key.size();
}

Outcome KinesisStream::Put(const KinesisArn& arn, const Batch& batch, size_t end, bool* progress) {
  *progress = false;
  const std::vector<size_t> sent = taken_.Missing(batch, end, kMostPutRecords, !stream_.empty());
  size_t bytes = kMostShown;
  for (const size_t i : sent) bytes += Base64Length(batch.changes[i]->text.size()) + kRecordFrame;
  if (sent.empty()) return {};
  const auto not_taken = [&](std::string text, int status) {
    return Outcome{.kind = Outcome::Kind::kNotRun,
                   .first_failed = taken_.FirstMissing(batch),
                   .text = std::move(text),
                   .status = status};
  };
  std::optional<Account::Share> share;
  if (!TakeInTurn(batch, bytes, cancelled_, &share)) return not_taken("stopped", 0);
  const Result<egress::Reply> reply =
      client_->Call("PutRecords", arn.region, PutBody(arn.name, batch, sent, bytes));
  if (!reply.ok()) return not_taken(reply.error().message(), 0);
  if (reply->status != 200) {
    Outcome outcome = not_taken(fmt::format("PutRecords: {} {}", reply->status, Shown(reply->body)),
                                reply->status);
    if (!stream_.empty() && IsOfRecords(*reply)) outcome.kind = Outcome::Kind::kFailed;
    return outcome;
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
  using Kind = Outcome::Kind;
  const std::optional<KinesisArn> arn =
      KinesisArn::Parse(stream_.empty() ? batch.function : std::string_view(stream_));
  if (!arn) return {.kind = Kind::kNotRun, .text = "no ARN of a stream"};
  size_t end = 0;  // the first that is too large
  while (end < batch.changes.size() && batch.changes[end]->text.size() <= kMostKinesisRecordBytes)
    ++end;
  taken_.Begin(batch);
  size_t refused = 0;
  int64_t pause = kFirstPauseMicros;
  const int64_t ends = clock_.TicksMicros() + timeout_micros_;
  for (int tries = 1;;) {
    bool progress = false;
    Outcome outcome = Put(*arn, batch, end, &progress);
    refused += outcome.refused;
    const size_t first = taken_.FirstMissing(batch);
    if (outcome.kind == Kind::kDone && first == end && end < batch.changes.size()) {
      outcome = {.kind = Kind::kFailed, .first_failed = first, .hopeless = true};
      outcome.text = fmt::format("a record would have {} bytes; the most is {}",
                                 batch.changes[end]->text.size(), kMostKinesisRecordBytes);
    }
    outcome.refused = refused;
    if (outcome.kind == Kind::kDone && first < end) {
      // Later changes of items are still to come.
      if (!cancelled_ && clock_.TicksMicros() < ends) continue;
      outcome.kind = Kind::kNotRun;
      outcome.first_failed = first;
      outcome.text = "the time was over before all changes were sent";
      return outcome;
    }
    if (outcome.kind != Kind::kNotRun || !progress || tries == kTries || cancelled_) return outcome;
    ++tries;
    const int64_t until = clock_.TicksMicros() + pause;
    while (!cancelled_ && clock_.TicksMicros() < until) std::this_thread::sleep_for(kNap);
    pause *= 2;
  }
}

Outcome KinesisStream::Report(const Batch& batch, const std::string& head) {
  using Kind = Outcome::Kind;
  const std::optional<KinesisArn> arn = KinesisArn::Parse(stream_);
  if (!arn) return {};  // destinations of tables have none on failure
  // Documents of a shard of the table are in one shard.
  const std::string key = PartitionKeyOf(fmt::format("{}/{}", batch.uuid, batch.shard_id));
  const std::string begin = EventBody::ReportHead(head);
  const EventBody event(begin, batch, EventBody::kReportTail);
  const bool whole = event.size() + key.size() <= kMostKinesisRecordBytes;
  std::optional<Account::Share> share;
  const size_t bytes = whole ? event.size() : head.size() + 1;
  if (!TakeInTurn(batch, bytes + Base64Length(bytes) + kRecordFrame + kMostShown, cancelled_,
                  &share))
    return {.kind = Kind::kNotRun, .text = "stopped"};
  const std::string document = whole ? event.Text() : head + "}";
  std::string body(kPutHead);
  AppendRecord(key, document, &body);
  EndPut(arn->name, &body);
  const Result<egress::Reply> reply = client_->Call("PutRecords", arn->region, body);
  if (!reply.ok()) return {.kind = Kind::kNotRun, .text = reply.error().message()};
  const std::optional<Answer> answer =
      reply->status == 200 ? ParseAnswer(reply->body, 1) : std::nullopt;
  if (answer && answer->refused == 0) return {};
  return {.kind = Kind::kNotRun,
          .text = fmt::format("PutRecords: {} {}", reply->status,
                              answer ? answer->problem : Shown(reply->body)),
          .status = reply->status};
}

}  // namespace stator::triggers
