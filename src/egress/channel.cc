#include "egress/channel.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>

#include "base/printable.h"

namespace stator::egress {
namespace {

Error Fail(Failure failure, std::string why) {
  return Error(ErrorCode::kUnavailable, std::move(why), std::make_shared<FailurePayload>(failure));
}

// A BIO on a socket that does not raise SIGPIPE, as OpenSSL's own does.
struct QuietSocket {
  static int Fd(BIO* bio) {
    return static_cast<int>(reinterpret_cast<intptr_t>(BIO_get_data(bio)));
  }
  static int Write(BIO* bio, const char* bytes, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t sent = send(Fd(bio), bytes, static_cast<size_t>(size), MSG_NOSIGNAL);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_write(bio);
    return static_cast<int>(sent);
  }
  static int Read(BIO* bio, char* to, int size) {
    BIO_clear_retry_flags(bio);
    const ssize_t got = recv(Fd(bio), to, static_cast<size_t>(size), 0);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) BIO_set_retry_read(bio);
    return static_cast<int>(got);
  }
  static long Control(BIO*, int command, long, void*) { return command == BIO_CTRL_FLUSH ? 1 : 0; }
  static int Create(BIO* bio) {
    BIO_set_init(bio, 1);
    return 1;
  }
  static const BIO_METHOD* Method() {
    static const BIO_METHOD* const method = [] {
      BIO_METHOD* made = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "stator egress");
      if (made == nullptr) return made;
      BIO_meth_set_write(made, Write);
      BIO_meth_set_read(made, Read);
      BIO_meth_set_ctrl(made, Control);
      BIO_meth_set_create(made, Create);
      return made;
    }();
    return method;
  }
};

std::string TakeTlsError() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  if (code == 0) return "the connection broke";
  const char* const reason = ERR_reason_error_string(code);
  return reason == nullptr ? "TLS failed" : reason;
}

bool IsAddress(const std::string& host) {
  return host.find(':') != std::string::npos ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

}  // namespace

void Breaker::Break() {
  MutexLock lock(mutex_);
  broken_ = true;
  if (fd_ >= 0) shutdown(fd_, SHUT_RDWR);
}

void Breaker::Hold(int fd) {
  MutexLock lock(mutex_);
  fd_ = fd;
  if (broken_) shutdown(fd, SHUT_RDWR);
}

void Breaker::Release() {
  MutexLock lock(mutex_);
  fd_ = -1;
}

Channel::Channel(int fd, const Clock& clock, Breaker& breaker)
    : fd_(fd), clock_(clock), breaker_(breaker) {
  breaker_.Hold(fd);
}

Channel::~Channel() {
  SSL_free(ssl_);
  breaker_.Release();
  close(fd_);
}

Result<std::unique_ptr<Channel>> Channel::Open(const Url& url, const TlsTrust* trust,
                                               const Clock& clock, int64_t deadline,
                                               Breaker& breaker) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed =
      getaddrinfo(url.host.c_str(), std::to_string(url.port).c_str(), &hints, &found);
  if (failed != 0) return Fail(Failure::kConnect, url.host + ": " + gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> addresses(found, &freeaddrinfo);
  Status last = Fail(Failure::kConnect, "no address");
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    const int fd = socket(each->ai_family, each->ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                          each->ai_protocol);
    if (fd < 0) {
      last = Fail(Failure::kConnect, std::strerror(errno));
      continue;
    }
    std::unique_ptr<Channel> channel(new Channel(fd, clock, breaker));
    last = channel->Connect(each->ai_addr, each->ai_addrlen, deadline);
    if (!last.ok()) continue;
    if (url.tls) TRY(channel->Secure(url, trust, deadline));
    return channel;
  }
  return std::move(last).error();
}

Status Channel::Connect(const void* address, uint32_t size, int64_t deadline) {
  const int on = 1;
  setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  if (connect(fd_, static_cast<const sockaddr*>(address), size) == 0) return OkStatus();
  if (errno != EINPROGRESS) return Fail(Failure::kConnect, std::strerror(errno));
  if (const Status ready = WaitFor(POLLOUT, deadline); !ready.ok()) {
    return FailureOf(ready.error()) == Failure::kCancelled
               ? ready.error()
               : Fail(Failure::kConnect, "the server does not accept the connection in time");
  }
  int error = 0;
  socklen_t error_size = sizeof(error);
  getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &error_size);
  if (error != 0) return Fail(Failure::kConnect, std::strerror(error));
  return OkStatus();
}

Status Channel::Secure(const Url& url, const TlsTrust* trust, int64_t deadline) {
  ERR_clear_error();
  ssl_ = SSL_new(static_cast<SSL_CTX*>(trust->native()));
  BIO* const bio = QuietSocket::Method() == nullptr ? nullptr : BIO_new(QuietSocket::Method());
  if (ssl_ == nullptr || bio == nullptr) {
    BIO_free(bio);
    return Fail(Failure::kTls, TakeTlsError());
  }
  BIO_set_data(bio, reinterpret_cast<void*>(static_cast<intptr_t>(fd_)));
  SSL_set_bio(ssl_, bio, bio);
  X509_VERIFY_PARAM* const verify = SSL_get0_param(ssl_);
  if (IsAddress(url.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(verify, url.host.c_str());
  } else {
    X509_VERIFY_PARAM_set1_host(verify, url.host.c_str(), url.host.size());
    SSL_set_tlsext_host_name(ssl_, url.host.c_str());
  }
  while (true) {
    ERR_clear_error();
    const int result = SSL_connect(ssl_);
    if (result == 1) return OkStatus();
    const Status again = Continue(result, deadline);
    if (again.ok()) continue;
    if (FailureOf(again.error()) == Failure::kCancelled) return again.error();
    const long why = SSL_get_verify_result(ssl_);
    return Fail(Failure::kTls,
                why == X509_V_OK ? again.error().message() : X509_verify_cert_error_string(why));
  }
}

Status Channel::WaitFor(short events, int64_t deadline) {
  while (true) {
    if (breaker_.broken()) return Fail(Failure::kCancelled, "the call was cancelled");
    const int64_t left = deadline - clock_.TicksMicros();
    if (left <= 0) return Fail(Failure::kTimeout, "no answer in time");
    pollfd waiting{fd_, events, 0};
    const int ready =
        poll(&waiting, 1, static_cast<int>(std::clamp<int64_t>(left / 1000 + 1, 1, 1'000'000)));
    if (ready > 0) return OkStatus();
    if (ready < 0 && errno != EINTR) return Fail(Failure::kBroken, std::strerror(errno));
  }
}

Status Channel::Continue(int result, int64_t deadline) {
  switch (SSL_get_error(ssl_, result)) {
    case SSL_ERROR_WANT_READ: return WaitFor(POLLIN, deadline);
    case SSL_ERROR_WANT_WRITE: return WaitFor(POLLOUT, deadline);
    default:
      if (breaker_.broken()) return Fail(Failure::kCancelled, "the call was cancelled");
      return Fail(Failure::kBroken, TakeTlsError());
  }
}

Status Channel::Send(std::string_view bytes, int64_t deadline) {
  while (!bytes.empty()) {
    ssize_t sent = 0;
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int size = static_cast<int>(std::min<size_t>(bytes.size(), 1 << 20));
      sent = SSL_write(ssl_, bytes.data(), size);
      if (sent <= 0) {
        TRY(Continue(static_cast<int>(sent), deadline));
        continue;
      }
    } else {
      sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent < 0 && (errno == EINTR || errno == EAGAIN)) {
        TRY(WaitFor(POLLOUT, deadline));
        continue;
      }
      if (sent < 0) return Fail(Failure::kBroken, std::strerror(errno));
    }
    bytes.remove_prefix(static_cast<size_t>(sent));
  }
  return OkStatus();
}

Result<size_t> Channel::Receive(char* to, size_t size, int64_t deadline) {
  while (true) {
    if (ssl_ != nullptr) {
      ERR_clear_error();
      const int got = SSL_read(ssl_, to, static_cast<int>(size));
      if (got > 0) return static_cast<size_t>(got);
      if (SSL_get_error(ssl_, got) == SSL_ERROR_ZERO_RETURN) return size_t{0};
      TRY(Continue(got, deadline));
      continue;
    }
    const ssize_t got = recv(fd_, to, size, 0);
    if (got == 0 && breaker_.broken()) return Fail(Failure::kCancelled, "the call was cancelled");
    if (got >= 0) return static_cast<size_t>(got);
    if (errno != EINTR && errno != EAGAIN) return Fail(Failure::kBroken, std::strerror(errno));
    TRY(WaitFor(POLLIN, deadline));
  }
}

bool Channel::IsIdle() const {
  pollfd waiting{fd_, POLLIN, 0};
  return poll(&waiting, 1, 0) == 0;
}

}  // namespace stator::egress
