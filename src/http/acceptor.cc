#include "http/acceptor.h"

#include <errno.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#include "base/log.h"

namespace stator::http {
namespace {

constexpr int kBacklog = 4096;
constexpr int kAcceptsPerRound = 64;
constexpr int kPortTries = 50;
// Pieces of what a refused client has sent that are read before its connection is closed.
constexpr int kSunkPieces = 16;
// A record of TLS with the fatal alert internal_error: a refused client learns that the server
// refused it, which no HTTP could tell before a handshake.
constexpr std::string_view kRefusalInTls("\x15\x03\x01\x00\x02\x02\x50", 7);

struct FreeAddresses {
  void operator()(addrinfo* addresses) const { freeaddrinfo(addresses); }
};

Error SocketError(const std::string& host, uint16_t port, int error) {
  return InternalError(fmt::format("cannot listen on {} port {}: {}", host, port, strerror(error)));
}

uint16_t BoundPort(int fd) {
  sockaddr_storage address{};
  socklen_t length = sizeof(address);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length) != 0) return 0;
  return ntohs(address.ss_family == AF_INET6 ? reinterpret_cast<sockaddr_in6&>(address).sin6_port
                                             : reinterpret_cast<sockaddr_in&>(address).sin_port);
}

// *error is the errno behind a failure.
Result<UniqueFd> ListenOnOne(const std::string& host, uint16_t port, int* error) {
  *error = 0;
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.empty() ? nullptr : host.c_str(),
                                 std::to_string(port).c_str(), &hints, &found);
  if (failed != 0)
    return InternalError(fmt::format("cannot listen on {}: {}", host, gai_strerror(failed)));
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  UniqueFd fd(::socket(found->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  if (!fd.valid() || setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) != 0 ||
      // Accepted sockets inherit it.
      setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on)) != 0 ||
      (found->ai_family == AF_INET6 &&
       setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof(on)) != 0) ||
      ::bind(fd.get(), found->ai_addr, found->ai_addrlen) != 0 ||
      ::listen(fd.get(), kBacklog) != 0) {
    *error = errno;
    return SocketError(host, port, errno);
  }
  return fd;
}

ClientAddress AddressOf(const sockaddr_storage& from) {
  ClientAddress address{};
  if (from.ss_family == AF_INET6) {
    const in6_addr& v6 = reinterpret_cast<const sockaddr_in6&>(from).sin6_addr;
    const size_t bytes = IN6_IS_ADDR_V4MAPPED(&v6) ? sizeof(v6) : sizeof(v6) / 2;
    memcpy(address.data(), &v6, bytes);
  } else if (from.ss_family == AF_INET) {
    address[10] = address[11] = 0xff;
    memcpy(address.data() + 12, &reinterpret_cast<const sockaddr_in&>(from).sin_addr, 4);
  }
  return address;
}

bool HasNoIpv6(const std::string& host, int error) {
  return host == "::1" &&
         (error == EAFNOSUPPORT || error == EADDRNOTAVAIL || error == EPROTONOSUPPORT);
}

}  // namespace

Result<std::vector<UniqueFd>> ListenOn(const std::vector<std::string>& hosts, uint16_t* port) {
  const uint16_t wanted = *port;
  for (int tries = 1;; ++tries) {
    *port = wanted;
    std::vector<UniqueFd> sockets;
    std::vector<std::string> left_out;
    bool port_taken = false;
    for (const std::string& host : hosts) {
      int error = 0;
      Result<UniqueFd> fd = ListenOnOne(host, *port, &error);
      if (fd.ok()) {
        if (*port == 0) *port = BoundPort(fd->get());
        sockets.push_back(std::move(fd).value());
      } else if (HasNoIpv6(host, error)) {
        left_out.push_back(fd.error().message());
      } else if (error == EADDRINUSE && wanted == 0 && tries < kPortTries) {
        port_taken = true;  // free on the first host only; try another
        break;
      } else {
        return std::move(fd).error();
      }
    }
    if (port_taken) continue;
    if (sockets.empty())
      return InternalError(left_out.empty() ? "no host to listen on" : left_out.front());
    for (const std::string& reason : left_out) LogWarn("no IPv6", {{"reason", reason}});
    return sockets;
  }
}

class Acceptor::Listener final : public EventSink {
 public:
  Listener(Acceptor& acceptor, int fd, Door door) : acceptor_(acceptor), fd_(fd), door_(door) {}
  void OnEvents(uint32_t) override { acceptor_.Accept(fd_, door_); }

 private:
  Acceptor& acceptor_;
  const int fd_;
  const Door door_;
};

Acceptor::Acceptor(std::vector<Listening> sockets, std::vector<Loop*> loops)
    : sockets_(std::move(sockets)),
      loops_(std::move(loops)),
      spare_(::open("/dev/null", O_RDONLY | O_CLOEXEC)) {}

Acceptor::~Acceptor() = default;

Status Acceptor::Start() {
  for (const Listening& socket : sockets_) {
    listeners_.push_back(std::make_unique<Listener>(*this, socket.fd.get(), socket.door));
    // Level-triggered: what one round leaves over is reported again.
    TRY(loops_.front()->Watch(socket.fd.get(), EPOLLIN, listeners_.back().get()));
  }
  return OkStatus();
}

void Acceptor::Stop() {
  sockets_.clear();
  spare_.Reset();
}

void Acceptor::Accept(int listening, Door door) {
  // An event of this round may be older than Stop.
  if (sockets_.empty()) return;
  for (int i = 0; i < kAcceptsPerRound; ++i) {
    sockaddr_storage from{};
    socklen_t length = sizeof(from);
    const int fd = ::accept4(listening, reinterpret_cast<sockaddr*>(&from), &length,
                             SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      Deal(UniqueFd(fd), AddressOf(from), door);
    } else if (errno == EMFILE || errno == ENFILE) {
      if (!RefuseWithSpare(listening, door)) return;
    } else if (errno != EINTR && errno != ECONNABORTED) {
      return;
    }
  }
}

bool Acceptor::RefuseWithSpare(int listening, Door door) {
  spare_.Reset();
  UniqueFd fd(::accept4(listening, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  const bool accepted = fd.valid();
  if (accepted) RefuseAtOnce(std::move(fd), door);
  spare_.Reset(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  return accepted;
}

void Acceptor::RefuseAtOnce(UniqueFd fd, Door door) {
  Shared& shared = loops_.front()->shared();
  shared.refused_connections.fetch_add(1, std::memory_order_relaxed);
  Reply reply;
  reply.status = 503;
  reply.headers.emplace_back("Content-Type", "application/x-amz-json-1.0");
  const std::string& body = shared.refusals.overloaded;
  std::string text;
  AppendReplyHead(reply, body.size(), loops_.front()->common_headers(), true, &text);
  text += body;
  if (door.secure) text = kRefusalInTls;
  ::send(fd.get(), text.data(), text.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  ::shutdown(fd.get(), SHUT_WR);
  // Read what the client has sent already: otherwise the close would be a reset that overtakes the
  // reply. Do not wait for a client that goes on sending.
  char sink[4096];
  for (int i = 0; i<kSunkPieces&& ::recv(fd.get(), sink, sizeof(sink), MSG_DONTWAIT)> 0; ++i) {
  }
}

void Acceptor::Deal(UniqueFd fd, const ClientAddress& address, Door door) {
  Shared& shared = loops_.front()->shared();
  const auto full = [&shared] {
    return shared.connections.load(std::memory_order_relaxed) >= shared.options.max_connections;
  };
  bool extra = full();
  if (extra) {
    // Idle connections make room, and half headers; those of other loops do so for the next one
    // that comes.
    for (size_t i = 1; i < loops_.size(); ++i)
      loops_[i]->Post([loop = loops_[i]] { loop->CloseOldestWaiting(); });
    loops_.front()->CloseOldestWaiting();
    extra = full();
  }
  if (extra && shared.extra_connections.load(std::memory_order_relaxed) >= kExtraConnections &&
      !loops_.front()->CloseOldestExtra())
    return RefuseAtOnce(std::move(fd), door);
  (extra ? shared.extra_connections : shared.connections).fetch_add(1, std::memory_order_relaxed);
  Loop* loop = extra ? loops_.front() : loops_[next_loop_++ % loops_.size()];
  if (loop == loops_.front()) {
    loop->Adopt(std::move(fd), address, door, extra);
    return;
  }
  loop->Post([loop, fd = std::move(fd), address, door]() mutable {
    loop->Adopt(std::move(fd), address, door, false);
  });
}

}  // namespace stator::http
