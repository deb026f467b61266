#include "triggers/service.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>
#include <optional>

#include "api/auth.h"
#include "api/error_render.h"
#include "audit/audited_call.h"
#include "base/json_writer.h"
#include "base/percent_code.h"
#include "guard/check.h"
#include "ops/checks.h"
#include "ops/streams.h"
#include "simdjson.h"
#include "table/store.h"
#include "triggers/request.h"

namespace stator::triggers {
namespace {

constexpr std::string_view kPath = "/2015-03-31/event-source-mappings";
constexpr int64_t kMostPerPage = 100;  // [D]

std::string_view QueryOf(std::string_view target) {
  const size_t question = target.find('?');
  return question == std::string_view::npos ? std::string_view() : target.substr(question + 1);
}

std::optional<std::string> Parameter(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::string_view part = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(query.size(), part.size() + 1));
    const size_t cut = std::min(part.find('='), part.size());
    if (part.substr(0, cut) == name)
      return PercentDecode(part.substr(std::min(cut + 1, part.size())), PlusSign::kSpace);
  }
  return std::nullopt;
}

const FaultPayload* FaultOf(const Error& error) {
  return dynamic_cast<const FaultPayload*>(error.payload().get());
}

std::string NameOf(const Error& error) {
  if (const FaultPayload* const fault = FaultOf(error)) return fault->type;
  if (error.code() == ErrorCode::kValidation) return "ValidationException";
  return std::string(api::RenderError(error).name);
}

// The mapping's own error, in words of this API.
Error Translated(const Error& error) {
  if (error.code() == ErrorCode::kResourceNotFound) return NotFound();
  if (error.code() == ErrorCode::kLimitExceeded) return InvalidValue(error.message());
  return error;
}

// Mapping::Check with the error of this API for filters and windows.
Status CheckRules(const Mapping& mapping) {
  if (const Status good = mapping.CheckFilters(); !good.ok())
    return InvalidValue(good.error().message());
  if (const Status good = mapping.CheckWindows(); !good.ok())
    return InvalidValue(good.error().message());
  return mapping.Check();
}

std::string NewUuid(Random& random) {
  const uint64_t a = random.Next();
  const uint64_t b = random.Next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:x}{:03x}-{:012x}", a >> 32, a >> 16 & 0xffff,
                     a & 0xfff, 8 + (b >> 62), b >> 48 & 0xfff, b & 0xffff'ffff'ffff);
}

bool IsUuid(std::string_view text) {
  return text.size() <= 64 && std::all_of(text.begin(), text.end(), [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || c == '-';
         });
}

}  // namespace

struct Service::Call {
  std::string_view uuid;
  simdjson::dom::object body;  // of POST and PUT
  std::string_view query;
  guard::Check* check;  // null: everything is allowed
  std::string_view action;
};

struct Service::Row {
  std::string_view method;
  bool has_uuid;
  std::string_view action;
  Result<Reply> (Service::*handler)(const Call& call);
};

const Service::Row* Service::FindRow(std::string_view method, bool has_uuid) {
  static constexpr Row kRows[] = {
      {"POST", false, "CreateEventSourceMapping", &Service::Create},
      {"GET", false, "ListEventSourceMappings", &Service::List},
      {"GET", true, "GetEventSourceMapping", &Service::Get},
      {"PUT", true, "UpdateEventSourceMapping", &Service::Update},
      {"DELETE", true, "DeleteEventSourceMapping", &Service::Delete},
  };
  const auto row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& each) {
    return each.method == method && each.has_uuid == has_uuid;
  });
  return row == std::end(kRows) ? nullptr : row;
}

bool Service::Owns(std::string_view target) {
  if (!target.starts_with(kPath)) return false;
  return target.size() == kPath.size() || target[kPath.size()] == '/' ||
         target[kPath.size()] == '?';
}

std::string Service::ArnOf(std::string_view uuid) const {
  return fmt::format("arn:aws:lambda:{}:{}:event-source-mapping:{}", environment_.settings.region,
                     environment_.settings.account, uuid);
}

std::string Service::FunctionArnOf(std::string_view function) const {
  return fmt::format("arn:aws:lambda:{}:{}:function:{}", environment_.settings.region,
                     environment_.settings.account, function);
}

std::string Service::StreamArnOf(const Mapping& mapping) const {
  stream::StreamDescriptor named;
  named.table_name = mapping.table;
  named.label = mapping.label;
  return ops::StreamArn(environment_, named);
}

Status Service::Require(const Call& call) const {
  if (call.check == nullptr) return OkStatus();
  return call.check->Require(guard::ActionNamed(fmt::format("lambda:{}", call.action)),
                             call.uuid.empty() ? "*" : ArnOf(call.uuid));
}

Result<Reply> Service::Perform(const Row& row, std::string_view uuid,
                               const access::HttpRequestView& http, const guard::Peer* peer,
                               audit::Record* record) {
  std::optional<guard::Check> check;
  if (gate_ != nullptr) {
    ASSIGN_OR_RETURN(access::VerifiedRequest verified, gate_->Verify(http, "lambda"));
    if (verified.credential != nullptr) {
      record->caller = verified.credential->caller;
      record->key_id = verified.key_id;
    }
    record->enforced = gate_->enforces();
    check.emplace(*gate_, std::move(verified), environment_, row.action, http, peer);
    if (!check->other_account().empty()) {
      return Error(ErrorCode::kAccessDenied,
                   "Event source mappings are for streams of the default account in this version "
                   "of Stator.");
    }
    check->TellOf(&record->judgements);
  } else {
    TRY(api::CheckShape(http, require_auth_));
  }
  if (http.body.size() > kMostBodyBytes)
    return ValidationError(fmt::format("The request has more than {} bytes", kMostBodyBytes));
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  Call call{uuid, {}, QueryOf(http.target), nullptr, row.action};
  const simdjson::padded_string padded(http.body.empty() ? std::string_view("{}") : http.body);
  if ((row.method == "POST" || row.method == "PUT") &&
      (parser.parse(padded).get(json) != simdjson::SUCCESS ||
       json.get(call.body) != simdjson::SUCCESS))
    return Error(ErrorCode::kSerialization, "The body is no JSON object");
  if (check && check->caller() != nullptr) call.check = &*check;
  // Takes over what other servers of the store have changed.
  TRY(environment_.store.Refresh());
  TRY(runner_.Refresh());
  return (this->*row.handler)(call);
}

Result<Reply> Service::Create(const Call& call) {
  Mapping mapping;
  ASSIGN_OR_RETURN(const Members members, ReadMembers(call.body, false, &mapping));
  if (!members.function) {
    return ValidationError(
        "1 validation error detected: Value null at 'functionName' failed to satisfy constraint: "
        "Member must not be null");
  }
  ASSIGN_OR_RETURN(mapping.function, FunctionNameIn(*members.function));
  TRY(Require(call));
  TRY(CheckRules(mapping));
  if (!members.stream_arn) return InvalidValue("Unrecognized event source.");
  if (!members.starting_position) {
    return InvalidValue(
        "1 validation error detected: Value null at 'startingPosition' failed to satisfy "
        "constraint: Member must not be null.");
  }
  if (*members.starting_position == "AT_TIMESTAMP")
    return InvalidValue("Unsupported starting position for arn type: " + *members.stream_arn);
  if (*members.starting_position != "LATEST" && *members.starting_position != "TRIM_HORIZON") {
    return ValidationError(
        fmt::format("1 validation error detected: Value '{}' at 'startingPosition' failed to "
                    "satisfy constraint: Member must satisfy enum value set: [LATEST, "
                    "AT_TIMESTAMP, TRIM_HORIZON]",
                    *members.starting_position));
  }
  mapping.latest = *members.starting_position == "LATEST";
  if (call.check != nullptr &&
      ops::AccountInArn(*members.stream_arn) != environment_.settings.account)
    return InvalidValue("Stream not found: " + *members.stream_arn);
  const Result<stream::StreamPtr> stream =
      ops::FindDefaultStream(environment_, *members.stream_arn);
  if (!stream.ok()) return InvalidValue("Stream not found: " + *members.stream_arn);
  // In the cloud a role of the function reads the stream; here the caller must be allowed to.
  if (call.check != nullptr) {
    TRY(call.check->Require(guard::ActionNamed("dynamodb:GetRecords"),
                            ops::StreamArn(environment_, **stream)));
  }
  mapping.table = (*stream)->table_name;
  mapping.label = (*stream)->label;
  const FunctionSettings* const function = FindFunction(runner_.functions(), mapping.function);
  if (function == nullptr) return InvalidValue("Function does not exist");
  TRY(CheckFits(mapping, *function));
  mapping.uuid = NewUuid(environment_.random);
  mapping.modified_micros = environment_.clock.NowMicros();
  const Status created = runner_.Create(mapping);
  if (!created.ok() && created.error().code() == ErrorCode::kResourceInUse) {
    return Fault("ResourceConflictException", 409,
                 fmt::format("The event source arn (\" {} \") and function (\" {} \") provided "
                             "mapping already exists. Please update or delete the existing mapping "
                             "with UUID {}",
                             *members.stream_arn, mapping.function, created.error().message()));
  }
  if (!created.ok()) return Translated(created.error());
  return Reply{202, "", Render(mapping, {"No records processed", 0}, "Creating")};
}

Result<Reply> Service::Get(const Call& call) {
  TRY(Require(call));
  for (const Runner::State& state : runner_.States()) {
    if (state.mapping.uuid == call.uuid)
      return Reply{
          200, "",
          Render(state.mapping, state.result, state.mapping.enabled ? "Enabled" : "Disabled")};
  }
  return NotFound();
}

Result<Reply> Service::List(const Call& call) {
  TRY(Require(call));
  const std::optional<std::string> stream = Parameter(call.query, "EventSourceArn");
  std::optional<std::string> function = Parameter(call.query, "FunctionName");
  if (function) {
    ASSIGN_OR_RETURN(function, FunctionNameIn(*function));
  }
  const std::string marker = Parameter(call.query, "Marker").value_or("");
  const std::string most_text = Parameter(call.query, "MaxItems").value_or("");
  int64_t most = kMostPerPage;
  if (!most_text.empty()) {
    const char* const end = most_text.data() + most_text.size();
    const auto [stop, error] = std::from_chars(most_text.data(), end, most);
    if (error != std::errc() || stop != end || most < 1 || most > 10'000)
      return ValidationError("MaxItems must be a number from 1 to 10000");
  }
  most = std::min(most, kMostPerPage);
  std::string body = "{\"EventSourceMappings\":[";
  std::string next;
  int64_t count = 0;
  for (const Runner::State& state : runner_.States()) {
    const Mapping& mapping = state.mapping;
    if (stream && StreamArnOf(mapping) != *stream) continue;
    if (function && mapping.function != *function) continue;
    if (!marker.empty() && mapping.uuid < marker) continue;
    if (count == most) {
      next = mapping.uuid;
      break;
    }
    if (count++ > 0) body += ',';
    body += Render(mapping, state.result, mapping.enabled ? "Enabled" : "Disabled");
  }
  body += ']';
  if (!next.empty()) body += fmt::format(",\"NextMarker\":\"{}\"", next);
  return Reply{200, "", body + "}"};
}

Result<Reply> Service::Update(const Call& call) {
  TRY(Require(call));
  if (!IsUuid(call.uuid)) return NotFound();
  bool was_enabled = false;
  Result<Mapping> updated = runner_.Update(call.uuid, [&](Mapping* mapping) -> Status {
    was_enabled = mapping->enabled;
    ASSIGN_OR_RETURN(const Members members, ReadMembers(call.body, true, mapping));
    if (members.function) {
      ASSIGN_OR_RETURN(const std::string name, FunctionNameIn(*members.function));
      if (name != mapping->function) {
        return InvalidValue(
            "FunctionName cannot be changed by this version of Stator: create another mapping.");
      }
    }
    TRY(CheckRules(*mapping));
    const FunctionSettings* const function = FindFunction(runner_.functions(), mapping->function);
    if (function != nullptr) TRY(CheckFits(*mapping, *function));
    mapping->modified_micros = environment_.clock.NowMicros();
    return OkStatus();
  });
  if (!updated.ok()) return Translated(updated.error());
  const std::string_view state = was_enabled == updated->enabled ? "Updating"
                                 : updated->enabled              ? "Enabling"
                                                                 : "Disabling";
  return Reply{202, "", Render(*updated, {"No records processed", 0}, state)};
}

Result<Reply> Service::Delete(const Call& call) {
  TRY(Require(call));
  if (!IsUuid(call.uuid)) return NotFound();
  const Result<Mapping> removed = runner_.Remove(call.uuid);
  if (!removed.ok()) return Translated(removed.error());
  return Reply{202, "", Render(*removed, {"No records processed", 0}, "Deleting")};
}

Status Service::CheckFits(const Mapping& mapping, const FunctionSettings& function) const {
  if (function.kind == FunctionSettings::Kind::kDirectory && mapping.parallel != 1) {
    return InvalidValue(
        "ParallelizationFactor must be 1 for a function that is a directory: its files are named "
        "after the order of the shard.");
  }
  if (mapping.tumbling_seconds > 0 && !AnswersWithState(function)) {
    return InvalidValue(
        fmt::format("TumblingWindowInSeconds is for a function with lambda or url: {} answers with "
                    "no state.",
                    function.kind == FunctionSettings::Kind::kKinesis ? "a stream"
                    : function.kind == FunctionSettings::Kind::kKafka ? "a topic"
                                                                      : "an archive"));
  }
  if (mapping.on_failure.empty()) return OkStatus();
  std::string name;
  if (runner_.FindDestination(mapping.on_failure, &name) == nullptr) {
    return InvalidValue(fmt::format(
        "The destination {} does not exist: no [[functions]] of stator.toml has the name {}",
        mapping.on_failure, name));
  }
  return OkStatus();
}

std::string Service::Render(const Mapping& mapping, const Tally::Result& result,
                            std::string_view state) const {
  JsonWriter json;
  json.Open('{').Field("UUID", mapping.uuid);
  json.Field("EventSourceMappingArn", ArnOf(mapping.uuid));
  json.Key("BatchSize").Whole(mapping.batch);
  json.Key("BisectBatchOnFunctionError").Bool(mapping.bisect);
  json.Key("DestinationConfig").Open('{').Key("OnFailure").Open('{');
  if (!mapping.on_failure.empty()) json.Field("Destination", mapping.on_failure);
  json.Close('}').Close('}').Field("EventSourceArn", StreamArnOf(mapping));
  if (!mapping.filters.empty()) {
    json.Key("FilterCriteria").Open('{').Key("Filters").Open('[');
    for (const std::string& filter : mapping.filters)
      json.Open('{').Field("Pattern", filter).Close('}');
    json.Close(']').Close('}');
  }
  json.Field("FunctionArn", FunctionArnOf(mapping.function));
  json.Key("FunctionResponseTypes").Open('[');
  if (mapping.reports_failures) json.Text("ReportBatchItemFailures");
  json.Close(']').Key("LastModified");
  std::string body = json.Take();
  body.pop_back();  // the line feed
  body += fmt::format("{}.{:03}", mapping.modified_micros / 1'000'000,
                      mapping.modified_micros / 1000 % 1000);
  JsonWriter rest;
  rest.Open('{').Field("LastProcessingResult", result.text);
  rest.Key("MaximumBatchingWindowInSeconds").Whole(mapping.window_seconds);
  rest.Key("MaximumRecordAgeInSeconds").Whole(mapping.age_seconds);
  rest.Key("MaximumRetryAttempts").Whole(mapping.retries);
  rest.Key("ParallelizationFactor").Whole(mapping.parallel);
  rest.Field("StartingPosition", mapping.latest ? "LATEST" : "TRIM_HORIZON");
  rest.Field("State", state).Field("StateTransitionReason", "User action");
  rest.Key("TumblingWindowInSeconds").Whole(mapping.tumbling_seconds).Close('}');
  std::string tail = rest.Take();
  tail.pop_back();
  tail.front() = ',';
  return body + tail;
}

Reply Service::Run(const access::HttpRequestView& http, const guard::Peer* peer) {
  std::string_view path = http.target.substr(0, http.target.find('?'));
  path.remove_prefix(std::min(path.size(), kPath.size()));
  if (path.starts_with("/")) path.remove_prefix(1);
  const std::string_view uuid = path;
  const Row* const row = FindRow(http.method, !uuid.empty());
  if (row == nullptr) {
    return RenderError(Fault("InvalidRequestException", 405,
                             fmt::format("{} is no method of this resource", http.method)));
  }
  audit::Record record;
  const auto render = [](Result<Reply> result) {
    return result.ok() ? *std::move(result) : RenderError(result.error());
  };
  if (audit_ == nullptr) return render(Perform(*row, uuid, http, peer, &record));
  record.source = audit::kLambda;
  record.name = row->action;
  record.read_only = row->method == "GET";
  if (IsUuid(uuid) && !uuid.empty()) record.resources.push_back(ArnOf(uuid));
  return render(audit::RunAudited(
      *audit_, http, peer, std::move(record),
      [&](audit::Record* of) { return Perform(*row, uuid, http, peer, of); }, NameOf));
}

Reply Service::RenderError(const Error& error) {
  const FaultPayload* const fault = FaultOf(error);
  Reply reply;
  reply.error_type = NameOf(error);
  reply.status = fault != nullptr ? fault->status : api::RenderError(error).status;
  if (fault == nullptr && error.code() == ErrorCode::kAccessDenied) reply.status = 403;
  const bool user = reply.status < 500;
  // Two of the service's errors have their text under another name.
  const bool upper = reply.error_type == "ResourceNotFoundException";
  JsonWriter out;
  out.Open('{').Field("Type", user ? "User" : "Service");
  out.Field(upper ? "Message" : "message", error.message()).Close('}');
  reply.body = out.Take();
  return reply;
}

}  // namespace stator::triggers
