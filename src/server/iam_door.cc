#include "server/iam_door.h"

#include <utility>
#include <vector>

#include "base/pump.h"
#include "server/call_threads.h"
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

struct IamDoor::Pending {
  std::unique_ptr<http::Exchange> exchange;
  iam::Prepared call;
};

bool IamDoor::Owns(const http::Request& request) {
  return iam::Service::Owns(request.method, request.target, request.header("Content-Type"));
}

void IamDoor::Handle(std::unique_ptr<http::Exchange> exchange) {
  const http::Request& request = exchange->request();
  if (IsOfAnotherPage(request, hosts_)) {
    return exchange->Send(
        ReplyOf(service_.RenderError(Error(ErrorCode::kAccessDenied, kOfAnotherPage), false)));
  }
  const std::vector<access::HeaderLine> lines = LinesOf(request);
  // Verified here, so that strangers cannot keep the threads busy.
  const ExchangePeer client(*exchange);
  Result<iam::Prepared> prepared =
      service_.Prepare({request.method, request.target, lines, request.body}, &client);
  if (!prepared.ok()) return exchange->Send(ReplyOf(service_.RenderError(prepared.error(), false)));
  auto pending = std::make_shared<Pending>(Pending{std::move(exchange), *std::move(prepared)});
  Executor& loop = pending->exchange->loop();
  service_.FetchKeys(pending->call,
                     [this, pending, &loop] { RunOn(loop, [this, pending] { Post(pending); }); });
}

void IamDoor::Post(std::shared_ptr<Pending> pending) {
  Executor& loop = pending->exchange->loop();
  UniqueFunction<void()> task = [this, pending, &loop]() mutable {
    const http::Request& asked = pending->exchange->request();
    const std::vector<access::HeaderLine> headers = LinesOf(asked);
    const ExchangePeer peer(*pending->exchange);
    iam::Reply made = service_.Run(std::move(pending->call),
                                   {asked.method, asked.target, headers, asked.body}, &peer);
    PostAndStandIn(loop,
                   [pending = std::move(pending), reply = ReplyOf(std::move(made))]() mutable {
                     pending->exchange->Send(std::move(reply));
                   });
  };
  if ((pending->call.by_token ? token_threads_ : threads_).TryPost(task)) return;
  pending->exchange->Send(ReplyOf(service_.RenderError(
      Error(ErrorCode::kUnavailable, "The server is overloaded: too many calls of IAM wait"),
      false)));
}

}  // namespace stator::server
