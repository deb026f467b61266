#include "server/triggers_door.h"

#include <utility>

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
  if (IsOfAnotherPage(exchange->request(), hosts_))
    return exchange->Send(Refusal(ErrorCode::kAccessDenied, kOfAnotherPage));
  threads_.Answer(
      std::move(exchange),
      [this](const access::HttpRequestView& http, const guard::Peer& peer) {
        return ReplyOf(service_.Run(http, &peer));
      },
      Refusal(ErrorCode::kUnavailable,
              "The server is overloaded: too many calls of event source mappings wait"));
}

}  // namespace stator::server
