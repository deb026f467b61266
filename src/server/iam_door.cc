#include "server/iam_door.h"

#include <utility>
#include <vector>

#include "base/pump.h"
#include "server/guarded_request.h"

namespace stator::server {
namespace {

http::Reply ReplyOf(iam::Reply made) {
  http::Reply reply;
  reply.status = made.status;
  reply.headers.emplace_back("Content-Type", "text/xml");
  reply.body = std::move(made.body);
  return reply;
}

}  // namespace

bool IamDoor::Owns(const http::Request& request) {
  return iam::Service::Owns(request.method, request.target, request.header("Content-Type"));
}

void IamDoor::Handle(std::unique_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  const std::string_view origin = request.header("Origin"), host = request.header("Host");
  if (!origin.empty() && (!hosts_.Allows(host) || !IsSameOrigin(origin, host))) {
    return exchange->Send(ReplyOf(service_.RenderError(
        Error(ErrorCode::kAccessDenied, "This call is not for web pages of other servers."),
        false)));
  }
  const std::vector<access::HeaderLine> lines = LinesOf(request);
  // Verified here, so that strangers cannot keep the threads busy.
  const ExchangePeer client(*exchange);
  Result<iam::Prepared> prepared =
      service_.Prepare({request.method, request.target, lines, request.body}, &client);
  if (!prepared.ok()) return exchange->Send(ReplyOf(service_.RenderError(prepared.error(), false)));
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  auto call = std::make_shared<iam::Prepared>(*std::move(prepared));
  Executor& loop = (*shared)->loop();
  UniqueFunction<void()> task = [this, shared, call, &loop]() mutable {
    const http::Request& asked = (*shared)->request();
    const std::vector<access::HeaderLine> headers = LinesOf(asked);
    const ExchangePeer peer(**shared);
    iam::Reply made =
        service_.Run(std::move(*call), {asked.method, asked.target, headers, asked.body}, &peer);
    PostAndStandIn(loop, [shared = std::move(shared), reply = ReplyOf(std::move(made))]() mutable {
      (*shared)->Send(std::move(reply));
    });
  };
  if (threads_.TryPost(task)) return;
  (*shared)->Send(ReplyOf(service_.RenderError(
      Error(ErrorCode::kUnavailable, "The server is overloaded: too many calls of IAM wait"),
      false)));
}

}  // namespace stator::server
