// Exchanges that a test answers when it likes. Test-only.
#pragma once

#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "http/server.h"

namespace stator::http {

// Keeps exchanges until the test takes them, on the loop.
struct Held {
  std::mutex mutex;
  std::vector<std::unique_ptr<Exchange>> exchanges;
  std::atomic<int> count{0};

  Handler MakeHandler() {
    return [this](std::unique_ptr<Exchange> exchange) {
      std::lock_guard lock(mutex);
      exchanges.push_back(std::move(exchange));
      ++count;
    };
  }
  std::unique_ptr<Exchange> Take() {
    std::lock_guard lock(mutex);
    std::unique_ptr<Exchange> first = std::move(exchanges.front());
    exchanges.erase(exchanges.begin());
    return first;
  }
  // Returns when the loop has taken the reply.
  void AnswerFirst(std::string body) {
    std::unique_ptr<Exchange> exchange = Take();
    Executor& loop = exchange->loop();
    std::promise<void> sent;
    loop.Post([exchange = std::move(exchange), body = std::move(body), &sent]() mutable {
      Reply reply;
      reply.body = body + std::string(exchange->request().body);
      exchange->Send(std::move(reply));
      exchange.reset();
      sent.set_value();
    });
    sent.get_future().wait();
  }
  void DropFirst() {
    std::unique_ptr<Exchange> exchange = Take();
    Executor& loop = exchange->loop();
    loop.Post([exchange = std::move(exchange)]() mutable { exchange.reset(); });
  }
};

}  // namespace stator::http
