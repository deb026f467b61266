#include "server/plain_client.h"

#include <fmt/format.h>
#include <netdb.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <memory>

namespace stator::server {
namespace {

using Clock = std::chrono::steady_clock;

constexpr size_t kMostBytes = 1 << 20;

Error Unreachable(std::string_view why) { return Error(ErrorCode::kUnavailable, std::string(why)); }

class Socket {
 public:
  explicit Socket(int fd) : fd_(fd) {}
  ~Socket() { close(fd_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  int fd() const { return fd_; }

 private:
  const int fd_;
};

// Waits until the socket is ready for `events`.
Status WaitFor(int fd, short events, Clock::time_point deadline) {
  for (;;) {
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(deadline - Clock::now());
    pollfd waiting{fd, events, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::max<int64_t>(0, left.count())));
    if (ready > 0) return OkStatus();
    if (ready == 0) return Unreachable("no answer in time");
    if (errno != EINTR) return Unreachable(std::strerror(errno));
  }
}

Status Connect(int fd, const addrinfo& address, Clock::time_point deadline) {
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return OkStatus();
  if (errno != EINPROGRESS) return Unreachable(std::strerror(errno));
  TRY(WaitFor(fd, POLLOUT, deadline));
  int error = 0;
  socklen_t size = sizeof(error);
  getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
  if (error != 0) return Unreachable(std::strerror(error));
  return OkStatus();
}

// A socket, or TLS on a socket. Send and Receive return as send() and recv() do.
class Channel {
 public:
  explicit Channel(int fd) : fd_(fd) {}
  virtual ~Channel() = default;
  virtual ssize_t Send(std::string_view bytes) {
    return ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  virtual ssize_t Receive(char* to, size_t size) { return ::recv(fd_, to, size, 0); }
  // The event that a call which said EAGAIN waits for.
  virtual short awaited(short otherwise) const { return otherwise; }
  int fd() const { return fd_; }

 private:
  const int fd_;
};

class TlsChannel final : public Channel {
 public:
  explicit TlsChannel(int fd) : Channel(fd), context_(SSL_CTX_new(TLS_client_method())) {
    // OpenSSL's write() would raise it when the server has gone.
    signal(SIGPIPE, SIG_IGN);
    ssl_ = SSL_new(context_);
    SSL_set_fd(ssl_, fd);
    SSL_set_connect_state(ssl_);
    SSL_set_options(ssl_, SSL_OP_IGNORE_UNEXPECTED_EOF);
  }
  ~TlsChannel() override {
    SSL_free(ssl_);
    SSL_CTX_free(context_);
  }
  ssize_t Send(std::string_view bytes) override {
    return Outcome(SSL_write(ssl_, bytes.data(), static_cast<int>(bytes.size())));
  }
  ssize_t Receive(char* to, size_t size) override {
    return Outcome(SSL_read(ssl_, to, static_cast<int>(size)));
  }
  short awaited(short) const override { return awaited_; }

 private:
  ssize_t Outcome(int result) {
    if (result > 0) return result;
    errno = EAGAIN;
    switch (SSL_get_error(ssl_, result)) {
      case SSL_ERROR_ZERO_RETURN: return 0;
      case SSL_ERROR_WANT_READ: awaited_ = POLLIN; break;
      case SSL_ERROR_WANT_WRITE: awaited_ = POLLOUT; break;
      default: ERR_clear_error(); errno = EPROTO;
    }
    return -1;
  }

  SSL_CTX* const context_;
  SSL* ssl_ = nullptr;
  short awaited_ = POLLOUT;
};

Status SendAll(Channel& channel, std::string_view bytes, Clock::time_point deadline) {
  while (!bytes.empty()) {
    const ssize_t sent = channel.Send(bytes);
    if (sent < 0 && (errno == EINTR || errno == EAGAIN)) {
      TRY(WaitFor(channel.fd(), channel.awaited(POLLOUT), deadline));
      continue;
    }
    if (sent < 0) return Unreachable(std::strerror(errno));
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return OkStatus();
}

}  // namespace

Result<PlainReply> AskPlain(const std::string& host, uint16_t port, std::string_view request,
                            int timeout_seconds, bool tls) {
  const auto deadline = Clock::now() + std::chrono::seconds(timeout_seconds);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (failed != 0) return Unreachable(gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> address(found, &freeaddrinfo);
  const int fd = socket(found->ai_family, found->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                        found->ai_protocol);
  if (fd < 0) return Unreachable(std::strerror(errno));
  const Socket socket(fd);
  TRY(Connect(fd, *found, deadline));
  const std::unique_ptr<Channel> channel =
      tls ? std::make_unique<TlsChannel>(fd) : std::make_unique<Channel>(fd);
  TRY(SendAll(*channel, request, deadline));
  std::string reply;
  for (;;) {
    char bytes[4096];
    const ssize_t got = channel->Receive(bytes, sizeof(bytes));
    if (got < 0 && (errno == EINTR || errno == EAGAIN)) {
      TRY(WaitFor(fd, channel->awaited(POLLIN), deadline));
      continue;
    }
    if (got < 0) return Unreachable(std::strerror(errno));
    if (got == 0) break;
    reply.append(bytes, static_cast<size_t>(got));
    if (reply.size() > kMostBytes) return Unreachable("the answer is not Stator's");
  }
  PlainReply answer;
  constexpr std::string_view kVersion = "HTTP/1.1 ";
  if (reply.starts_with(kVersion))
    answer.status = std::atoi(reply.substr(kVersion.size(), 3).c_str());
  const size_t end = reply.find("\r\n\r\n");
  if (end != std::string::npos) answer.body = reply.substr(end + 4);
  return answer;
}

}  // namespace stator::server
