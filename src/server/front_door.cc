#include "server/front_door.h"

#include <optional>
#include <utility>

#include "api/error_render.h"
#include "base/pump.h"

namespace stator::server {
namespace {

// Definitions change rarely; each thread waits for one of them.
constexpr int kThreads = 8;
constexpr size_t kMaxQueued = 1024;

api::Incoming IncomingOf(const http::Request& request) {
  api::Incoming incoming;
  incoming.method = request.method;
  incoming.target = request.target;
  for (const http::Header& header : request.headers)
    incoming.headers.Add(header.name, header.value);
  incoming.body = request.body;
  return incoming;
}

http::Reply ReplyOf(api::Outgoing outgoing) {
  http::Reply reply;
  reply.status = outgoing.status;
  reply.headers = std::move(outgoing.headers);
  reply.body = std::move(outgoing.body);
  return reply;
}

}  // namespace

FrontDoor::FrontDoor(api::Service& service, Management& management, bool waiting)
    : service_(service), management_(management) {
  if (waiting) waiting_ = std::make_unique<WorkerPool>(kThreads, kMaxQueued);
}

http::Handler FrontDoor::HandlerOf(Executor& loop) {
  return
      [this, &loop](std::unique_ptr<http::Exchange> exchange) { Serve(std::move(exchange), loop); };
}

void FrontDoor::Stop() {
  if (waiting_ != nullptr) waiting_->Stop();
}

void FrontDoor::Serve(std::unique_ptr<http::Exchange> exchange, Executor& loop) {
  if (Management::Owns(exchange->request().target)) {
    management_.Handle(std::move(exchange));
    return;
  }
  const api::Incoming incoming = IncomingOf(exchange->request());
  if (waiting_ != nullptr && service_.MayWait(incoming.headers.target)) {
    ServeWaiting(std::move(exchange), loop);
    return;
  }
  service_.Handle(incoming, loop,
                  [this, &loop, exchange = std::move(exchange)](api::Outgoing outgoing) mutable {
                    if (outgoing.again) return ServeWaiting(std::move(exchange), loop);
                    exchange->Send(ReplyOf(std::move(outgoing)));
                  });
}

void FrontDoor::ServeWaiting(std::unique_ptr<http::Exchange> exchange, Executor& loop) {
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  UniqueFunction<void()> task = [this, shared, &loop]() mutable {
    Pump pump;
    std::optional<api::Outgoing> answer;
    api::Incoming incoming = IncomingOf((*shared)->request());
    incoming.may_wait = true;
    service_.Handle(incoming, pump,
                    [&answer](api::Outgoing outgoing) { answer = std::move(outgoing); });
    pump.RunUntil([&answer] { return answer.has_value(); });
    // Nothing of the exchange stays on this thread: it must end in its loop's turn.
    PostAndStandIn(loop,
                   [shared = std::move(shared), reply = ReplyOf(*std::move(answer))]() mutable {
                     (*shared)->Send(std::move(reply));
                   });
  };
  if (waiting_->TryPost(task)) return;
  api::RenderedError error = api::RenderError(Error(
      ErrorCode::kUnavailable, "The server is overloaded: too many requests wait for the cluster"));
  http::Reply reply;
  reply.status = error.status;
  reply.headers.emplace_back("Content-Type", "application/x-amz-json-1.0");
  reply.body = std::move(error.body);
  (*shared)->Send(std::move(reply));
}

}  // namespace stator::server
