#include "mcp/http_door.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "access/crypto.h"
#include "access/sigv4.h"
#include "base/ascii.h"
#include "mcp/json.h"

namespace stator::mcp {
namespace {

constexpr int kThreads = 4;
constexpr size_t kMostWaiting = 32;
// Simulations and lessons have one thread, so that they hold no other message. The last that waits
// for it waits 10 s.
constexpr size_t kMostPlays = 4;
constexpr int kMostConnections = 64;
// A parsed message takes for each of its bytes: 8 of the tape, 4 of an index, 5/3 of texts, and 1
// of a copy with padding. The few KB of a short one are not counted.
constexpr int64_t kParsedBytes = 15;
constexpr size_t kShortMessage = 4 << 10;
constexpr int64_t kDrainMicros = 5'000'000;
constexpr std::string_view kPath = "/mcp";
constexpr std::string_view kBearer = "bearer ";

// A reply with a JSON-RPC error that belongs to no request.
http::Reply Refuse(int status, std::string_view message) {
  constexpr int kInvalidRequest = -32600;
  http::Reply reply;
  reply.status = status;
  reply.headers.emplace_back("Content-Type", "application/json");
  reply.body =
      ObjectText()
          .AddText("jsonrpc", "2.0")
          .Add("id", "null")
          .Add("error",
               ObjectText().AddWhole("code", kInvalidRequest).AddText("message", message).Take())
          .Take();
  return reply;
}

http::Refusals RefusalTexts() {
  http::Refusals texts;
  for (std::string* each :
       {&texts.bad_request, &texts.too_large, &texts.overloaded, &texts.out_of_memory,
        &texts.internal, &texts.timeout, &texts.slow_body, &texts.not_tls})
    each->clear();
  texts.too_large = Protocol::RefuseTooLong().text;
  texts.overloaded = texts.out_of_memory =
      Refuse(503, "Too many clients or messages at once, try again").body;
  texts.bad_request = Refuse(400, "This is no HTTP request").body;
  texts.internal = Refuse(500, "Internal error").body;
  return texts;
}

bool IsJson(std::string_view type) {
  constexpr std::string_view kJson = "application/json";
  return EqualsIgnoringCase(type.substr(0, kJson.size()), kJson) &&
         (type.size() == kJson.size() || type[kJson.size()] == ';' || type[kJson.size()] == ' ');
}

}  // namespace

HttpDoor::HttpDoor(Options options, const Protocol& protocol)
    : options_(std::move(options)),
      protocol_(protocol),
      threads_(kThreads, kMostWaiting),
      plays_(1, kMostPlays) {}

Result<std::unique_ptr<HttpDoor>> HttpDoor::Listen(Options options, const Protocol& protocol,
                                                   const Clock& clock) {
  std::unique_ptr<HttpDoor> door(new HttpDoor(std::move(options), protocol));
  http::ServerOptions listen;
  listen.port = door->options_.port;
  listen.max_body_bytes = kMostMessageBytes;
  listen.max_inflight_bytes = door->options_.most_inflight_bytes;
  listen.max_connections = kMostConnections;
  ASSIGN_OR_RETURN(door->server_, http::Server::Listen(std::move(listen), RefusalTexts(), clock));
  return door;
}

HttpDoor::~HttpDoor() { Stop(); }

void HttpDoor::Start() {
  server_->Start([this](Executor&) {
    return [this](std::unique_ptr<http::Exchange> exchange) { Handle(std::move(exchange)); };
  });
}

void HttpDoor::Stop() {
  if (server_ != nullptr) server_->Drain(kDrainMicros);
  threads_.Stop();
  plays_.Stop();
}

std::unique_ptr<http::Reply> HttpDoor::Refusal(const http::Request& request) const {
  const auto refuse = [](int status, std::string_view message) {
    return std::make_unique<http::Reply>(Refuse(status, message));
  };
  // First of all, so that no page of another site learns anything.
  const std::string foreign = WhyForeignPage(
      hosts_, {request.header("Host"), request.header("Origin"), request.header("Sec-Fetch-Site")});
  if (!foreign.empty()) return refuse(403, foreign);
  if (request.target.substr(0, request.target.find('?')) != kPath)
    return refuse(404, "The path is /mcp");
  if (!options_.token.empty()) {
    const std::string_view given = request.header("Authorization");
    const bool bears = EqualsIgnoringCase(given.substr(0, kBearer.size()), kBearer);
    if (!bears || !access::EqualInConstantTime(given.substr(kBearer.size()), options_.token)) {
      auto reply = refuse(401, "The token of --token-file must be in Authorization: Bearer");
      reply->headers.emplace_back("WWW-Authenticate", "Bearer");
      return reply;
    }
  }
  if (request.method != "POST") {
    auto reply = refuse(405, "Messages come by POST; there is no stream to open and no session");
    reply->headers.emplace_back("Allow", "POST");
    return reply;
  }
  if (!IsJson(request.header("Content-Type")))
    return refuse(415, "The Content-Type must be application/json");
  return nullptr;
}

void HttpDoor::Handle(std::unique_ptr<http::Exchange> exchange) {
  if (const std::unique_ptr<http::Reply> refusal = Refusal(exchange->request())) {
    exchange->Send(std::move(*refusal));
    return;
  }
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  UniqueFunction<void()> task = [this, shared]() mutable { Work(std::move(shared), false); };
  if (threads_.TryPost(task)) return;
  (*shared)->Send(Refuse(503, "Too many messages at once, try again"));
}

void HttpDoor::Work(ExchangePtr exchange, bool may_play) {
  const http::Request& request = (*exchange)->request();
  const HttpHeaders headers{request.header("MCP-Protocol-Version"), request.header("Mcp-Method"),
                            request.header("Mcp-Name")};
  Executor& loop = (*exchange)->loop();
  // Nothing of the exchange stays on this thread: it must end in its loop's turn.
  const auto send = [&loop](ExchangePtr to, http::Reply reply) {
    loop.Post([to = std::move(to), reply = std::move(reply)]() mutable {
      (*to)->Send(std::move(reply));
    });
  };
  const int64_t parsed = request.body.size() <= kShortMessage
                             ? 0
                             : kParsedBytes * static_cast<int64_t>(request.body.size());
  MemoryLease& memory = (*exchange)->memory();
  if (parsed > 0 && !memory.TryGrow(parsed, true)) {
    return send(std::move(exchange),
                Refuse(503,
                       "The messages that are answered now take all the memory there is for "
                       "them, try again"));
  }
  if (may_play && options_.before_play) options_.before_play();
  Answer answer = protocol_.Handle(request.body, &headers, may_play);
  if (parsed > 0) memory.Shrink(parsed);
  if (answer.plays) {
    // The thread that goes on with it takes it out.
    const auto place = std::make_shared<ExchangePtr>(std::move(exchange));
    UniqueFunction<void()> play = [this, place] { Work(std::move(*place), true); };
    if (plays_.TryPost(play)) return;
    return send(std::move(*place),
                Refuse(503, "Too many simulations wait; try again in some seconds"));
  }
  http::Reply reply;
  reply.status = answer.http_status;
  if (!answer.text.empty()) reply.headers.emplace_back("Content-Type", "application/json");
  reply.body = std::move(answer.text);
  send(std::move(exchange), std::move(reply));
}

}  // namespace stator::mcp
