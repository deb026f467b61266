#include "server/triggers_door.h"

#include <memory>
#include <utility>

#include "base/memory_account.h"

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

http::Reply Refusal(const Error& error) { return ReplyOf(triggers::Service::RenderError(error)); }

}  // namespace

void TriggersDoor::Refuse(std::unique_ptr<http::Exchange> exchange, const Error& error) {
  exchange->Send(Refusal(error));
}

void TriggersDoor::Handle(std::unique_ptr<http::Exchange> exchange) {
  if (IsOfAnotherPage(exchange->request(), hosts_))
    return exchange->Send(Refusal(Error(ErrorCode::kAccessDenied, kOfAnotherPage)));
  threads_.Answer(
      std::move(exchange),
      [this](const access::HttpRequestView& http, const guard::Peer& peer) {
        return ReplyOf(service_.Run(http, &peer));
      },
      Refusal(Error(ErrorCode::kUnavailable,
                    "The server is overloaded: too many calls of event source mappings wait",
                    std::make_shared<OverloadPayload>())));
}

}  // namespace stator::server
