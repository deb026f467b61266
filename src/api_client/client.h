// Calls of DynamoDB's operations, with retries.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "api_client/endpoint.h"
#include "base/clock.h"
#include "base/error.h"
#include "base/random.h"
#include "base/result.h"
#include "egress/client.h"

namespace stator::api_client {

// The payload of an error that the server answered: its code is kValidation.
struct RefusalPayload : ErrorPayload {
  RefusalPayload(int status, std::string type, std::string message)
      : status(status), type(std::move(type)), message(std::move(message)) {}
  const int status;
  const std::string type;  // such as "ResourceNotFoundException"; empty if it is no such answer
  const std::string message;
};
// Returns the type of a server's refusal; empty for other errors.
std::string_view RefusalType(const Error& error);

// Waits. Returns false if the caller is to give up instead.
using Pause = std::function<bool(int64_t micros)>;

// When a call is repeated, and after how long.
class Backoff {
 public:
  static constexpr int64_t kFirstMicros = 50'000;
  static constexpr int64_t kMostMicros = 20'000'000;

  // The references must outlive the object. Gives up `patience_micros` after the last success.
  Backoff(const Clock& clock, Random& random, int64_t patience_micros)
      : clock_(clock),
        random_(random),
        patience_micros_(patience_micros),
        since_(clock.TicksMicros()) {}
  // Returns how long to wait before the next attempt, a random time below a bound that doubles;
  // nothing once the patience is over.
  std::optional<int64_t> Next();
  void Succeeded();

 private:
  const Clock& clock_;
  Random& random_;
  const int64_t patience_micros_;
  int64_t since_;
  int64_t bound_ = kFirstMicros;
};

struct Retries {
  const Clock* clock = nullptr;  // both must outlive the client
  Random* random = nullptr;
  Pause pause;
  int64_t patience_micros = 120'000'000;
};

// Keeps one connection. For one thread.
class Client {
 public:
  Client(Endpoint endpoint, Retries retries);

  // Returns the body of the answer to `operation`, such as "DynamoDB_20120810.Scan". Repeats the
  // call after a lost connection, a timeout, a status of 500 and more, and throttling, until the
  // patience of the retries is over. A repeated call may have taken effect before.
  // kValidation with a RefusalPayload: the server refused. kUnavailable: the patience is over, the
  // connection is not trusted, or the pause was ended. Blocks.
  Result<std::string> Call(std::string_view operation, std::string_view body);
  // For callers that repeat a part of a request themselves: waits as long as Call does before a
  // retry. kUnavailable with `why` if the time for retries is over.
  Status PauseBeforeRetry(const std::string& why);
  // Ends a series of PauseBeforeRetry.
  void Succeeded() { parts_.Succeeded(); }

  const Endpoint& endpoint() const { return endpoint_; }
  // Returns the number of retries so far.
  int64_t retries() const { return repeated_; }

 private:
  // Waits as `backoff` says; `why` once its patience is over.
  Status PauseFor(Backoff* backoff, Error why);
  Result<egress::Reply> Send(std::string_view operation, std::string_view body);

  const Endpoint endpoint_;
  const Retries retries_;
  Backoff backoff_;  // of calls
  Backoff parts_;    // of PauseBeforeRetry
  egress::Client client_;
  int64_t repeated_ = 0;
};

}  // namespace stator::api_client
