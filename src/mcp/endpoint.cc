#include "mcp/endpoint.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "api/attribute_json.h"
#include "api_client/signed_headers.h"
#include "base/printable.h"
#include "mcp/json.h"

namespace stator::mcp {
namespace {

constexpr std::string_view kTargetPrefix = "DynamoDB_20120810.";
constexpr int64_t kConnectMicros = 5'000'000;
// A page of 1 MB in JSON, and reports of tables with thousands of partitions.
constexpr size_t kMostReply = 16 << 20;
constexpr size_t kMostShown = 2000;  // bytes of a refusal
constexpr size_t kMostStatement = 8192;
constexpr size_t kLeastName = 3, kMostName = 255;

std::string_view NameOf(Read operation) {
  switch (operation) {
    case Read::kListTables: return "ListTables";
    case Read::kDescribeTable: return "DescribeTable";
    case Read::kGetItem: return "GetItem";
    case Read::kQuery: return "Query";
    case Read::kScan: return "Scan";
  }
  return "";
}

std::string_view NameOf(Change operation) {
  switch (operation) {
    case Change::kPutItem: return "PutItem";
    case Change::kUpdateItem: return "UpdateItem";
    case Change::kDeleteItem: return "DeleteItem";
    case Change::kCreateTable: return "CreateTable";
  }
  return "";
}

std::string Shown(std::string_view text) { return PrintableLines(Beginning(text, kMostShown)); }

// "ResourceNotFoundException: Requested resource not found", or what there is.
std::string RefusalText(const egress::Reply& reply) {
  const Result<Document> body = Document::Parse(reply.body);
  if (!body.ok()) return fmt::format("HTTP {}: {}", reply.status, Shown(reply.body));
  std::string_view type = TextMember(body->root(), "__type").value_or("");
  if (const size_t hash = type.find('#'); hash != std::string_view::npos)
    type.remove_prefix(hash + 1);
  std::optional<std::string_view> message = TextMember(body->root(), "message");
  if (!message) message = TextMember(body->root(), "Message");
  if (type.empty() && !message) return fmt::format("HTTP {}: {}", reply.status, Shown(reply.body));
  if (type.empty()) return Shown(*message);
  return fmt::format("{}: {}", Shown(type), Shown(message.value_or("")));
}

}  // namespace

Result<Select> ParseSelect(std::string text, std::string parameters) {
  if (!expr::IsSelect(text)) {
    return ValidationError(
        "Only SELECT is run here, whatever this server may write: use put_item, update_item or "
        "delete_item to change items");
  }
  if (text.size() > kMostStatement)
    return ValidationError(fmt::format("The statement is longer than {} bytes", kMostStatement));
  std::vector<std::string> bound;
  if (!parameters.empty()) {
    ASSIGN_OR_RETURN(const Document document, Document::Parse(parameters));
    simdjson::dom::array values;
    if (document.root().get(values) != simdjson::SUCCESS)
      return ValidationError("parameters must be an array of attribute values");
    for (const Json value : values) {
      std::optional<Error> wrong;
      std::string encoded;
      Status read = api::ReadValue(value, &encoded, &wrong);
      if (!read.ok() || wrong) {
        return ValidationError(fmt::format(
            "A parameter is no attribute value like {{\"S\":\"text\"}} or {{\"N\":\"1\"}}: {}",
            Shown(TextOf(value))));
      }
      bound.push_back(std::move(encoded));
    }
  }
  Select select;
  ASSIGN_OR_RETURN(select.statement_, expr::ParseStatement(text, bound));
  if (select.statement_.kind != expr::StatementKind::kSelect)
    return ValidationError("Only SELECT is run here");
  select.text_ = std::move(text);
  select.parameters_ = bound.empty() ? std::string() : std::move(parameters);
  return select;
}

Endpoint::Endpoint(const EndpointSettings& settings, const Clock& clock)
    : settings_(settings), clock_(clock), deadline_(clock.TicksMicros() + settings.call_micros) {}

Result<std::string> Endpoint::Ask(Read operation, std::string_view body) {
  return Operate(NameOf(operation), body);
}

Result<std::string> Endpoint::Run(const Select& select, int64_t limit, bool consistent,
                                  std::string_view next_token) {
  ObjectText body;
  body.AddText("Statement", select.text()).AddWhole("Limit", limit);
  body.AddBool("ConsistentRead", consistent).AddText("ReturnConsumedCapacity", "TOTAL");
  if (!select.parameters().empty()) body.Add("Parameters", select.parameters());
  if (!next_token.empty()) body.AddText("NextToken", next_token);
  return Operate("ExecuteStatement", body.Take());
}

Result<std::string> Endpoint::Look(std::string_view path) { return Manage("GET", path, ""); }

Result<std::string> Endpoint::Do(Change operation, std::string_view body) {
  TRY(CheckWrites());
  return Operate(NameOf(operation), body);
}

Result<std::string> Endpoint::Set(std::string_view method, std::string_view path,
                                  std::string_view body) {
  TRY(CheckWrites());
  return Manage(method, path, body);
}

Status Endpoint::CheckWrites() const {
  if (settings_.allow_writes) return OkStatus();
  return Error(ErrorCode::kAccessDenied,
               "This server is read-only. Its user can start it with --allow-writes");
}

Result<std::string> Endpoint::Operate(std::string_view operation, std::string_view body) {
  ASSIGN_OR_RETURN(egress::Reply reply,
                   Send(settings_.api, "POST", "/", body, "dynamodb",
                        {{"Content-Type", "application/x-amz-json-1.0"},
                         {"X-Amz-Target", fmt::format("{}{}", kTargetPrefix, operation)}}));
  if (reply.status == 200) return std::move(reply.body);
  return ValidationError(RefusalText(reply));
}

Result<std::string> Endpoint::Manage(std::string_view method, std::string_view path,
                                     std::string_view body) {
  ASSIGN_OR_RETURN(
      egress::Reply reply,
      Send(settings_.management, method, fmt::format("/_stator/{}", path), body, "stator",
           {{"Content-Type", "application/json"}, {"X-Stator-Management", "true"}}));
  if (reply.status == 200) return std::move(reply.body);
  const bool answered = Document::Parse(reply.body).ok();
  if (!answered || (reply.status == 404 && reply.body.find("\"__type\"") != std::string::npos)) {
    return ValidationError(fmt::format(
        "{} answers HTTP {} to Stator's management calls. Are they on a port of their own? Then "
        "--management-endpoint names it",
        settings_.management.origin(), reply.status));
  }
  return ValidationError(RefusalText(reply));
}

Result<egress::Reply> Endpoint::Send(const egress::Url& to, std::string_view method,
                                     const std::string& target, std::string_view body,
                                     std::string_view service, const egress::Headers& headers) {
  const int64_t left = deadline_ - clock_.TicksMicros();
  if (left <= 0)
    return Error(ErrorCode::kUnavailable, "The call took longer than a tool may: ask for less");
  const egress::Headers sent =
      api_client::SignedHeaders({settings_.key, settings_.region, service, clock_.NowMicros()}, to,
                                method, target, body, headers);
  egress::Limits limits;
  limits.connect_micros = std::min(kConnectMicros, left);
  limits.total_micros = left;
  limits.body_bytes = kMostReply;
  egress::Client client(to, limits, settings_.trust, clock_);
  Result<egress::Reply> reply = client.Call(method, target, sent, body);
  if (reply.ok()) return reply;
  return Error(ErrorCode::kUnavailable,
               fmt::format("{} gave no answer: {}", to.origin(), Shown(reply.error().message())));
}

Result<std::string> TablePath(std::string_view table, std::string_view rest) {
  const bool good = table.size() >= kLeastName && table.size() <= kMostName &&
                    std::all_of(table.begin(), table.end(), [](char c) {
                      return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                             (c >= '0' && c <= '9') || c == '_' || c == '-' || c == '.';
                    });
  if (!good) return ValidationError(fmt::format("\"{}\" is no name of a table", Shown(table)));
  return fmt::format("tables/{}/{}", table, rest);
}

std::string QueryPart(std::string_view name, std::string_view value) {
  std::string out(name);
  out += '=';
  access::AppendUriEncoded(value, false, &out);
  return out;
}

}  // namespace stator::mcp
