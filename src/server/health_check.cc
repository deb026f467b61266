#include "server/health_check.h"

#include <fmt/format.h>

#include <cstdio>

#include "server/plain_client.h"

namespace stator::server {

int Execute(const HealthCheck& check) {
  const std::string request =
      fmt::format("GET /health/ready HTTP/1.1\r\nHost: {}:{}\r\nConnection: close\r\n\r\n",
                  check.host, check.port);
  const Result<PlainReply> reply =
      AskPlain(check.host, check.port, request, check.timeout_seconds, check.tls);
  if (!reply.ok()) {
    fmt::print(stderr, "{}:{}: {}\n", check.host, check.port, reply.error().message());
    return 1;
  }
  const bool ready = reply->status == 200;
  fmt::print(ready ? stdout : stderr, "{}", reply->body.empty() ? "not ready\n" : reply->body);
  return ready ? 0 : 1;
}

}  // namespace stator::server
