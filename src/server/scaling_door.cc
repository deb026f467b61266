#include "server/scaling_door.h"

#include <utility>

namespace stator::server {
namespace {

http::Reply ReplyOf(scaling::Reply made) {
  http::Reply reply;
  reply.status = made.status;
  reply.headers.emplace_back("Content-Type", "application/x-amz-json-1.1");
  reply.body = std::move(made.body);
  return reply;
}

http::Reply Refusal(ErrorCode code, const char* text) {
  return ReplyOf(scaling::Service::RenderError(Error(code, text)));
}

}  // namespace

void ScalingDoor::Handle(std::unique_ptr<http::Exchange> exchange) {
  if (IsOfAnotherPage(exchange->request(), hosts_))
    return exchange->Send(Refusal(ErrorCode::kAccessDenied, kOfAnotherPage));
  threads_.Answer(
      std::move(exchange),
      [this](const access::HttpRequestView& http, const guard::Peer& peer) {
        return ReplyOf(service_.Run(HeaderOf(http, "X-Amz-Target"), http, &peer));
      },
      Refusal(ErrorCode::kUnavailable,
              "The server is overloaded: too many calls of auto scaling wait"));
}

}  // namespace stator::server
