// A client for tests: a blocking socket and just enough HTTP to read replies. Test-only.
#pragma once

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "http/server.h"

namespace stator::http {

struct ClientReply {
  int status = 0;  // 0: the connection ended first
  std::string head;
  std::string body;
};

class TestClient {
 public:
  explicit TestClient(uint16_t port, int receive_buffer = 0)
      : fd_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (receive_buffer > 0)
      setsockopt(fd_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof(receive_buffer));
    const int on = 1;
    setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
    const timeval guard{30, 0};  // a test that hangs fails instead
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &guard, sizeof(guard));
    setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &guard, sizeof(guard));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    connected_ = ::connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)) == 0;
  }
  TestClient(TestClient&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        connected_(other.connected_),
        buffer_(std::move(other.buffer_)) {}
  ~TestClient() { Close(); }

  bool connected() const { return connected_; }
  void Close() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }
  void HalfClose() { ::shutdown(fd_, SHUT_WR); }
  void Reset() {
    const linger hard{1, 0};
    setsockopt(fd_, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    Close();
  }

  // False if the server has gone.
  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) return false;
      bytes.remove_prefix(sent);
    }
    return true;
  }

  ClientReply Read(bool head_only = false) {
    ClientReply reply;
    size_t end;
    while ((end = buffer_.find("\r\n\r\n")) == std::string::npos) {
      if (!More()) return reply;
    }
    reply.head = buffer_.substr(0, end + 4);
    buffer_.erase(0, end + 4);
    reply.status = std::atoi(reply.head.c_str() + 9);
    const size_t at = reply.head.find("Content-Length: ");
    const size_t length = at == std::string::npos || head_only
                              ? 0
                              : std::strtoull(reply.head.c_str() + at + 16, nullptr, 10);
    while (buffer_.size() < length) {
      if (!More()) return {};
    }
    reply.body = buffer_.substr(0, length);
    buffer_.erase(0, length);
    return reply;
  }

  ClientReply Ask(std::string_view bytes) {
    Send(bytes);
    return Read();
  }

  // Waits until the server closes the connection; false if it sends something else first.
  bool ReadEnd() { return buffer_.empty() && !More() && !timed_out_; }

 private:
  bool More() {
    char bytes[64 * 1024];
    const ssize_t got = ::recv(fd_, bytes, sizeof(bytes), 0);
    timed_out_ = got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK);
    if (got <= 0) return false;
    buffer_.append(bytes, got);
    return true;
  }

  int fd_;
  bool connected_ = false;
  bool timed_out_ = false;
  std::string buffer_;
};

inline std::string Post(std::string_view body, std::string_view extra = "") {
  return "POST / HTTP/1.1\r\nHost: h\r\nContent-Length: " + std::to_string(body.size()) + "\r\n" +
         std::string(extra) + "\r\n" + std::string(body);
}

// Answers "METHOD target|body".
inline void Echo(std::unique_ptr<Exchange> exchange) {
  const Request& request = exchange->request();
  Reply reply;
  reply.body = std::string(request.method) + " " + std::string(request.target) + "|" +
               std::string(request.body);
  exchange->Send(std::move(reply));
}

inline std::unique_ptr<Server> Serve(ServerOptions options, const Clock& clock,
                                     FunctionRef<Handler(Executor&)> make_handler) {
  options.port = 0;
  Result<std::unique_ptr<Server>> server = Server::Listen(std::move(options), Refusals(), clock);
  if (!server.ok()) {
    ADD_FAILURE() << server.error().message();
    std::abort();
  }
  (*server)->Start(make_handler);
  return std::move(server).value();
}

inline std::unique_ptr<Server> ServeEcho(ServerOptions options, const Clock& clock) {
  return Serve(std::move(options), clock, [](Executor&) -> Handler { return Echo; });
}

// Yields until it holds; false after about half a minute.
template <typename F>
bool Eventually(F condition) {
  const SystemClock clock;
  const int64_t end = clock.TicksMicros() + 30'000'000;
  while (!condition()) {
    if (clock.TicksMicros() > end) return false;
    std::this_thread::yield();
  }
  return true;
}

}  // namespace stator::http
