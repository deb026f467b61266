// A connection to a server: a socket, or TLS on a socket. Every step has a deadline, and another
// thread can end it. Internal to the room.
#pragma once

#include <openssl/ssl.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "egress/client.h"
#include "egress/url.h"

namespace stator::egress {

// Ends what waits on a socket of another thread. Thread-safe.
class Breaker {
 public:
  // Ends the current socket, and later ones as soon as they are there.
  void Break();
  bool broken() const { return broken_.load(std::memory_order_relaxed); }
  void Hold(int fd);
  // Before the socket is closed.
  void Release();

 private:
  Mutex mutex_;
  int fd_ GUARDED_BY(mutex_) = -1;
  std::atomic<bool> broken_{false};
};

// For one thread.
class Channel {
 public:
  // Connects to the addresses of the host in turn. Waits for the name's addresses as long as the
  // system's resolver does. `trust` may be null without TLS. `deadline` is in ticks of `clock`.
  // Errors have a FailurePayload.
  static Result<std::unique_ptr<Channel>> Open(const Url& url, const TlsTrust* trust,
                                               const Clock& clock, int64_t deadline,
                                               Breaker& breaker);
  ~Channel();

  Status Send(std::string_view bytes, int64_t deadline);
  // Returns the number of bytes read, 0 at the end.
  Result<size_t> Receive(char* to, size_t size, int64_t deadline);
  // Returns false if the server has closed the connection, or sent what was not asked for.
  bool IsIdle() const;

 private:
  Channel(int fd, const Clock& clock, Breaker& breaker);
  Status Connect(const void* address, uint32_t size, int64_t deadline);
  Status Secure(const Url& url, const TlsTrust* trust, int64_t deadline);
  Status WaitFor(short events, int64_t deadline);
  // Waits for what a call of OpenSSL that returned `result` asked for; an error if it failed.
  Status Continue(int result, int64_t deadline);

  const int fd_;
  const Clock& clock_;
  Breaker& breaker_;
  SSL* ssl_ = nullptr;
};

}  // namespace stator::egress
