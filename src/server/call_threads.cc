#include "server/call_threads.h"

#include <utility>
#include <vector>

#include "base/pump.h"
#include "server/guarded_request.h"

namespace stator::server {

bool IsOfAnotherPage(const http::Request& request, const HostRules& hosts) {
  const std::string_view origin = request.header("Origin"), host = request.header("Host");
  return !origin.empty() && (!hosts.Allows(host) || !IsSameOrigin(origin, host));
}

void CallThreads::Answer(std::unique_ptr<http::Exchange> exchange, Run run,
                         http::Reply overloaded) {
  auto shared = std::make_shared<std::unique_ptr<http::Exchange>>(std::move(exchange));
  Executor& loop = (*shared)->loop();
  UniqueFunction<void()> task = [run = std::move(run), shared, &loop]() mutable {
    const http::Request& asked = (*shared)->request();
    const std::vector<access::HeaderLine> headers = LinesOf(asked);
    const ExchangePeer peer(**shared);
    http::Reply made = run({asked.method, asked.target, headers, asked.body}, peer);
    PostAndStandIn(loop, [shared = std::move(shared), reply = std::move(made)]() mutable {
      (*shared)->Send(std::move(reply));
    });
  };
  if (threads_.TryPost(task)) return;
  (*shared)->Send(std::move(overloaded));
}

}  // namespace stator::server
