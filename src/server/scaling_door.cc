#include "server/scaling_door.h"

#include <memory>
#include <utility>

#include "base/memory_account.h"

namespace stator::server {
namespace {

http::Reply ReplyOf(scaling::Reply made) {
  http::Reply reply;
  reply.status = made.status;
  reply.headers.emplace_back("Content-Type", "application/x-amz-json-1.1");
  reply.body = std::move(made.body);
  return reply;
}

http::Reply Refusal(const Error& error) { return ReplyOf(scaling::Service::RenderError(error)); }

}  // namespace

void ScalingDoor::Refuse(std::unique_ptr<http::Exchange> exchange, const Error& error) {
  exchange->Send(Refusal(error));
}

void ScalingDoor::Handle(std::unique_ptr<http::Exchange> exchange) {
  if (IsOfAnotherPage(exchange->request(), hosts_))
    return exchange->Send(Refusal(Error(ErrorCode::kAccessDenied, kOfAnotherPage)));
  threads_.Answer(
      std::move(exchange),
      [this](const access::HttpRequestView& http, const guard::Peer& peer) {
        return ReplyOf(service_.Run(HeaderOf(http, "X-Amz-Target"), http, &peer));
      },
      Refusal(Error(ErrorCode::kUnavailable,
                    "The server is overloaded: too many calls of auto scaling wait",
                    std::make_shared<OverloadPayload>())));
}

}  // namespace stator::server
