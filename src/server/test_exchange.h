// An exchange without a connection: it keeps its reply. For tests.
#pragma once

#include <optional>
#include <utility>

#include "base/executor.h"
#include "http/server.h"

namespace stator::server {

class TestExchange : public http::Exchange {
 public:
  // Neither is owned.
  TestExchange(Executor& loop, http::Request request, std::optional<http::Reply>* reply)
      : loop_(loop), request_(std::move(request)), reply_(reply) {}
  const http::Request& request() const override { return request_; }
  Executor& loop() override { return loop_; }
  void Send(http::Reply reply) override { reply_->emplace(std::move(reply)); }
  MemoryLease& memory() override { return lease_; }
  int listener() const override { return came_to; }
  bool HasLeft() const override { return has_left; }

  int came_to = 0;
  bool has_left = false;

 private:
  Executor& loop_;
  const http::Request request_;
  std::optional<http::Reply>* const reply_;
  MemoryAccount account_{1 << 30};
  MemoryHolder holder_{account_, {}};
  MemoryLease lease_{holder_};
};

}  // namespace stator::server
