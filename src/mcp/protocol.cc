#include "mcp/protocol.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace stator::mcp {
namespace {

constexpr int kParseError = -32700, kInvalidRequest = -32600, kUnknownMethod = -32601,
              kInvalidParams = -32602, kHeaderMismatch = -32020, kUnsupportedRevision = -32022;
constexpr size_t kMostId = 256;
constexpr size_t kMostShown = 200;
// A list of tools changes with the program only.
constexpr int64_t kListLivesMillis = 3'600'000;

constexpr std::string_view kRevisionKey = "io.modelcontextprotocol/protocolVersion";
constexpr std::string_view kCapabilitiesKey = "io.modelcontextprotocol/clientCapabilities";
constexpr std::string_view kServerKey = "io.modelcontextprotocol/serverInfo";
constexpr std::string_view kWithHandshake[] = {"2025-06-18", kLatestWithHandshake};

// The reason why a message is refused, beneath the tools.
struct RpcError : ErrorPayload {
  RpcError(int code, std::string data) : code(code), data(std::move(data)) {}
  int code;
  std::string data;  // JSON text, or empty
};

Error Refuse(int code, std::string message, std::string data = "") {
  return Error(ErrorCode::kValidation, std::move(message),
               std::make_shared<RpcError>(code, std::move(data)));
}

std::string Shown(std::string_view text) { return std::string(Beginning(text, kMostShown)); }

std::string ErrorText(std::string_view id, const Error& error) {
  const auto* const rpc = dynamic_cast<const RpcError*>(error.payload().get());
  ObjectText inner;
  inner.AddWhole("code", rpc == nullptr ? kInvalidRequest : rpc->code);
  inner.AddText("message", error.message());
  if (rpc != nullptr && !rpc->data.empty()) inner.Add("data", rpc->data);
  return ObjectText().AddText("jsonrpc", "2.0").Add("id", id).Add("error", inner.Take()).Take();
}

int CodeOf(const Error& error) {
  const auto* const rpc = dynamic_cast<const RpcError*>(error.payload().get());
  return rpc == nullptr ? kInvalidRequest : rpc->code;
}

bool SpeaksWithHandshake(std::string_view revision) {
  return std::find(std::begin(kWithHandshake), std::end(kWithHandshake), revision) !=
         std::end(kWithHandshake);
}

std::string Revisions(bool with_handshake) {
  ArrayText out;
  out.Add(Quoted(kModernRevision));
  if (with_handshake)
    for (const std::string_view each : kWithHandshake) out.Add(Quoted(each));
  return out.Take();
}

Error Unsupported(std::string_view revision) {
  return Refuse(
      kUnsupportedRevision, "This revision of the protocol is not spoken here",
      ObjectText().Add("supported", Revisions(true)).AddText("requested", Shown(revision)).Take());
}

std::string AnnotationsOf(const Tool& tool) {
  ObjectText out;
  out.AddText("title", tool.title).AddBool("readOnlyHint", !tool.writes());
  if (tool.writes()) {
    out.AddBool("destructiveHint", tool.kind != Tool::Kind::kAdds);
    out.AddBool("idempotentHint", tool.kind == Tool::Kind::kChangesTo);
  }
  // They reach one server, which is known.
  out.AddBool("openWorldHint", false);
  return out.Take();
}

// The result of a call, cut to what an answer may hold.
std::string ToolResult(const ToolAnswer& answer) {
  std::string json = answer.json;
  std::string text = answer.text.empty() ? answer.json : answer.text;
  // Tools on items keep to the bound by themselves: this is for reports, with some room for plans.
  constexpr size_t kMost = kMostAnswerBytes + kMostAnswerBytes / 2;
  if (text.size() > kMost) {
    text = fmt::format("{}\n[cut: {} of {} bytes]", Beginning(text, kMostAnswerBytes),
                       kMostAnswerBytes, text.size());
  }
  if (json.size() > kMost) {
    json = ObjectText()
               .AddText("note", fmt::format("The answer has {} bytes, more than the {} that are "
                                            "given: its beginning is in the text. Ask for less",
                                            answer.json.size(), kMostAnswerBytes))
               .AddBool("cut", true)
               .Take();
  }
  const std::string block = ObjectText().AddText("type", "text").AddText("text", text).Take();
  ObjectText out;
  out.Add("content", ArrayText().Add(block).Take());
  out.Add("structuredContent", json);
  out.AddBool("isError", answer.failed);
  return out.Take();
}

std::string Failure(const Error& error) {
  ToolAnswer answer;
  answer.json = ObjectText().AddText("error", error.message()).Take();
  answer.text = error.message();
  answer.failed = true;
  return ToolResult(answer);
}

// Adds members to the end of an object's text.
void Append(std::string* object, std::string_view members) {
  const bool is_empty = *object == "{}";
  object->pop_back();
  if (!is_empty) *object += ',';
  *object += members;
  *object += '}';
}

}  // namespace

struct Protocol::Request {
  std::string id;  // JSON text
  std::string_view method;
  std::optional<Json> params;
  std::optional<std::string_view> revision;  // of _meta: the way without a handshake
  std::optional<Json> meta;
};

Answer Protocol::RefuseTooLong() {
  return {ErrorText("null", Refuse(kInvalidRequest, fmt::format("A message has {} bytes at most",
                                                                kMostMessageBytes))),
          400};
}

bool Protocol::Plays(const Request& request) {
  if (request.method != "tools/call" || !request.params) return false;
  const std::optional<std::string_view> name = TextMember(*request.params, "name");
  const std::vector<Tool>& tools = AllTools();
  return std::any_of(tools.begin(), tools.end(),
                     [&name](const Tool& tool) { return tool.plays && tool.name == name; });
}

Answer Protocol::Handle(std::string_view message, const HttpHeaders* http, bool may_play) const {
  if (message.size() > kMostMessageBytes) return RefuseTooLong();
  const Result<Document> document = Document::Parse(message);
  if (!document.ok()) {
    return {ErrorText("null",
                      Refuse(kParseError, "The message is no JSON: " + document.error().message())),
            400};
  }
  const Json root = document->root();
  const auto refuse = [](std::string text) {
    return Answer{ErrorText("null", Refuse(kInvalidRequest, std::move(text))), 400};
  };
  if (root.is_array()) return refuse("Batches are not taken: send one message at a time");
  if (!root.is_object()) return refuse("A message is an object");
  if (TextMember(root, "jsonrpc") != "2.0") return refuse("The member jsonrpc must be \"2.0\"");

  Request request;
  const std::optional<Json> id = Member(root, "id");
  if (id && (id->is_string() || id->is_int64() || id->is_uint64())) request.id = TextOf(*id);
  const std::optional<std::string_view> method = TextMember(root, "method");
  if (!method) {
    // The answer to a request that was never sent: nothing to say to it.
    if (Member(root, "result") || Member(root, "error")) return {"", 202};
    return refuse("The member method is missing");
  }
  if (id && (request.id.empty() || request.id.size() > kMostId))
    return refuse("An id is a string or a whole number, of 256 bytes at most");
  // No notification needs an act: calls are short, and there is no session.
  if (!id) return {"", 202};

  request.method = *method;
  request.params = Member(root, "params");
  if (request.params) request.meta = Member(*request.params, "_meta");
  if (request.meta) request.revision = TextMember(*request.meta, kRevisionKey);
  if (!may_play && Plays(request)) return {"", 200, true};
  const bool modern = request.revision.has_value();
  Result<std::string> result = Dispatch(request, http);
  if (!result.ok()) {
    const int code = CodeOf(result.error());
    Answer answer{ErrorText(request.id, result.error()), 200};
    // With a handshake, errors of requests are ordinary answers.
    if (modern || code == kHeaderMismatch || code == kUnsupportedRevision)
      answer.http_status = code == kUnknownMethod ? 404 : 400;
    return answer;
  }
  if (modern) {
    Append(&*result, fmt::format("\"resultType\":\"complete\",\"_meta\":{{{}:{}}}",
                                 Quoted(kServerKey), ServerInfo()));
  }
  return {
      ObjectText().AddText("jsonrpc", "2.0").Add("id", request.id).Add("result", *result).Take(),
      200};
}

Status Protocol::CheckModern(const Request& request, const HttpHeaders* http) const {
  if (*request.revision != kModernRevision) return Unsupported(*request.revision);
  const std::optional<Json> capabilities = Member(*request.meta, kCapabilitiesKey);
  if (!capabilities || !capabilities->is_object()) {
    return Refuse(kInvalidParams, fmt::format("params._meta must have {}", kCapabilitiesKey));
  }
  if (http == nullptr) return OkStatus();
  if (http->revision != *request.revision) {
    return Refuse(kHeaderMismatch,
                  "The header MCP-Protocol-Version is not the revision in params._meta");
  }
  if (http->method != request.method)
    return Refuse(kHeaderMismatch, "The header Mcp-Method is not the method");
  if (request.method == "tools/call" &&
      http->name != TextMember(*request.params, "name").value_or(""))
    return Refuse(kHeaderMismatch, "The header Mcp-Name is not the tool's name");
  return OkStatus();
}

Result<std::string> Protocol::Dispatch(const Request& request, const HttpHeaders* http) const {
  if (request.params && !request.params->is_object())
    return Refuse(kInvalidParams, "params must be an object");
  const bool modern = request.revision.has_value();
  if (modern) {
    TRY(CheckModern(request, http));
  } else if (http != nullptr && http->revision == kModernRevision) {
    return Refuse(kInvalidParams, fmt::format("params._meta must have {}", kRevisionKey));
  } else if (http != nullptr && !http->revision.empty() && request.method != "initialize" &&
             !SpeaksWithHandshake(http->revision)) {
    return Unsupported(http->revision);
  }
  if (request.method == "tools/list") {
    if (request.params && Member(*request.params, "cursor"))
      return Refuse(kInvalidParams, "There is one page of tools: no cursor is valid");
    return ListTools(request);
  }
  if (request.method == "tools/call") return CallTool(request);
  if (request.method == "server/discover") {
    if (!modern)
      return Refuse(kInvalidParams, fmt::format("params._meta must have {}", kRevisionKey));
    return Discover();
  }
  if (!modern && request.method == "initialize") return Initialize(request);
  if (!modern && request.method == "ping") return std::string("{}");
  return Refuse(kUnknownMethod, fmt::format("There is no method {}", Shown(request.method)));
}

Result<std::string> Protocol::Initialize(const Request& request) const {
  const std::optional<std::string_view> wanted =
      request.params ? TextMember(*request.params, "protocolVersion") : std::nullopt;
  if (!wanted) return Refuse(kInvalidParams, "params must have protocolVersion");
  ObjectText out;
  out.AddText("protocolVersion", SpeaksWithHandshake(*wanted) ? *wanted : kLatestWithHandshake);
  out.Add("capabilities", R"({"tools":{}})").Add("serverInfo", ServerInfo());
  out.AddText("instructions", Instructions());
  return out.Take();
}

std::string Protocol::Discover() const {
  ObjectText out;
  out.Add("supportedVersions", Revisions(false)).Add("capabilities", R"({"tools":{}})");
  out.AddText("instructions", Instructions());
  out.AddWhole("ttlMs", kListLivesMillis).AddText("cacheScope", "private");
  return out.Take();
}

std::string Protocol::ListTools(const Request& request) const {
  ArrayText tools;
  for (const Tool& tool : AllTools()) {
    if (tool.writes() && !settings_.allow_writes) continue;
    ObjectText out;
    out.AddText("name", tool.name).AddText("title", tool.title);
    out.AddText("description", tool.description).Add("inputSchema", tool.schema);
    out.Add("annotations", AnnotationsOf(tool));
    tools.Add(out.Take());
  }
  ObjectText out;
  out.Add("tools", tools.Take());
  if (request.revision) out.AddWhole("ttlMs", kListLivesMillis).AddText("cacheScope", "private");
  return out.Take();
}

Result<std::string> Protocol::CallTool(const Request& request) const {
  const std::optional<std::string_view> name =
      request.params ? TextMember(*request.params, "name") : std::nullopt;
  if (!name) return Refuse(kInvalidParams, "params must have the name of a tool");
  const std::vector<Tool>& tools = AllTools();
  const auto tool = std::find_if(tools.begin(), tools.end(),
                                 [&name](const Tool& each) { return each.name == *name; });
  if (tool == tools.end())
    return Refuse(kInvalidParams, fmt::format("There is no tool {}", Shown(*name)));
  const std::optional<Json> given = Member(*request.params, "arguments");
  if (given && !given->is_object())
    return Refuse(kInvalidParams, "The member arguments must be an object");
  if (tool->writes() && !settings_.allow_writes) {
    return Failure(Error(ErrorCode::kAccessDenied,
                         fmt::format("{} changes data and this server is read-only. Its user can "
                                     "start it with --allow-writes",
                                     tool->name)));
  }
  const Result<Arguments> arguments = Arguments::Check(given, tool->schema);
  if (!arguments.ok()) return Failure(arguments.error());
  Endpoint endpoint(settings_, clock_);
  const Result<ToolAnswer> answer = tool->run(*arguments, endpoint);
  if (answer.ok()) return ToolResult(*answer);
  if (answer.error().code() != ErrorCode::kSerialization) return Failure(answer.error());
  // Arguments are JSON already, so this is what came back.
  return Failure(ValidationError("The answer of the server at " + settings_.api.origin() +
                                 " is no JSON: " + answer.error().message()));
}

std::string Protocol::ServerInfo() const {
  return ObjectText()
      .AddText("name", "stator")
      .AddText("title", "Stator")
      .AddText("version", version_)
      .Take();
}

std::string Protocol::Instructions() const {
  return fmt::format(
      "Tools on a DynamoDB-compatible server, Stator, at {}. Items and keys are in DynamoDB's JSON "
      "({{\"S\":\"text\"}}, {{\"N\":\"1\"}}). Call describe_table before you query a table. Prefer "
      "query, "
      "or partiql with a key in its WHERE, to scans. why_throttled explains refused requests; "
      "lessons and simulate try a design without touching data. {}",
      settings_.api.origin(),
      settings_.allow_writes
          ? "Tools that write are offered: ask before you change what you did not make."
          : "This server is read-only: no tool changes anything.");
}

}  // namespace stator::mcp
