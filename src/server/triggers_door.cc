#include "server/triggers_door.h"

#include <utility>
#include <vector>

#include "base/pump.h"
#include "server/guarded_request.h"

namespace stator::server {
namespace {

http::Reply ReplyOf(triggers::Reply made) {
  http::Reply reply;
  reply.status = made.status;
  reply.headers.emplace_back("Content-Type", "application/json");
  if (!made.error_type.empty())
    reply.headers.emplace_back("x-amzn-ErrorType", std::move(made.error_type));
  reply.body = std::move(made.body);
  return reply;
}

http::Reply Refusal(ErrorCode code, const char* text) {
  return ReplyOf(triggers::Service::RenderError(Error(code, text)));
}

}  // namespace

void TriggersDoor::Handle(std::unique_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  const std::string_view origin = request.header("Origin"), host = request.header("Host");
  if (!origin.empty() && (!hosts_.Allows(host) || !IsSameOrigin(origin, host))) {
    return exchange->Send(
        Refusal(ErrorCode::kAccessDenied, "This call is not for web pages of other servers."));
  }
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  Executor& loop = (*shared)->loop();
  UniqueFunction<void()> task = [this, shared, &loop]() mutable {
    const http::Request& asked = (*shared)->request();
    const std::vector<access::HeaderLine> headers = LinesOf(asked);
    const ExchangePeer peer(**shared);
    triggers::Reply made = service_.Run({asked.method, asked.target, headers, asked.body}, &peer);
    PostAndStandIn(loop, [shared = std::move(shared), reply = ReplyOf(std::move(made))]() mutable {
      (*shared)->Send(std::move(reply));
    });
  };
  if (threads_.TryPost(task)) return;
  (*shared)->Send(
      Refusal(ErrorCode::kUnavailable,
              "The server is overloaded: too many calls of event source mappings wait"));
}

}  // namespace stator::server
