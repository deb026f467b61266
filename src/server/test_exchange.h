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

 private:
  Executor& loop_;
  const http::Request request_;
  std::optional<http::Reply>* const reply_;
};

}  // namespace stator::server
