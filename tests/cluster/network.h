// A network between this process and others on 127.0.0.1 that can hold back or lose its traffic:
// connections lead through a proxy in this process. The including file must define `connect` as
// RedirectedConnect.
#pragma once

#include <arpa/inet.h>
#include <dlfcn.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace stator {

inline int RealConnect(int fd, const sockaddr* address, socklen_t length) {
  static const auto real =
      reinterpret_cast<int (*)(int, const sockaddr*, socklen_t)>(::dlsym(RTLD_NEXT, "connect"));
  return real(fd, address, length);
}

inline sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Connections that this process makes to 127.0.0.1 while a Network lives go through it.
class Network {
 public:
  enum class Mode {
    kWhole,
    kNoAnswers,  // requests pass, answers wait
    kHeld,       // everything waits
    kCut,        // connections are closed, with what waits in them, and new ones refused
  };

  Network() : wake_(::eventfd(0, EFD_NONBLOCK)), thread_([this] { Run(); }) { current = this; }
  ~Network() {
    current = nullptr;
    stop_ = true;
    Wake();
    thread_.join();
    for (const auto& [port, listener] : listeners_) ::close(listener.fd);
    ::close(wake_);
  }

  // Sets the mode. Returns once it is in force.
  void Set(Mode mode) {
    mode_ = mode;
    Wake();
    while (seen_ != mode) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int connections() const { return connections_; }

  // Returns the port to connect to instead of `port`; 0: refuse.
  int Redirect(int port) {
    if (mode_ == Mode::kCut) return 0;
    std::lock_guard lock(mutex_);
    auto [found, first] = listeners_.try_emplace(port);
    if (first) {
      Listener& made = found->second;
      made.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      sockaddr_in address = Loopback(0);
      socklen_t length = sizeof address;
      Must(::bind(made.fd, reinterpret_cast<sockaddr*>(&address), sizeof address) == 0);
      Must(::listen(made.fd, 64) == 0);
      Must(::getsockname(made.fd, reinterpret_cast<sockaddr*>(&address), &length) == 0);
      made.port = ntohs(address.sin_port);
      Wake();
    }
    return found->second.port;
  }

  static inline std::atomic<Network*> current = nullptr;

 private:
  struct Listener {
    int fd = -1;
    int port = 0;
  };
  struct Side {
    int fd = -1;
    std::string unsent;
  };
  struct Pipe {
    Side client, cluster;
  };

  // A failure of the test's own plumbing has no caller to report to.
  static void Must(bool good) {
    if (good) return;
    std::perror("a network for tests");
    std::abort();
  }

  void Wake() {
    const uint64_t one = 1;
    Must(::write(wake_, &one, sizeof one) == static_cast<ssize_t>(sizeof one));
  }

  void Run() {
    std::list<Pipe> pipes;
    while (!stop_) {
      const Mode mode = mode_;
      if (mode == Mode::kCut) {
        for (const Pipe& pipe : pipes) Close(pipe);
        pipes.clear();
      }
      seen_ = mode;
      std::vector<pollfd> polled = {{wake_, POLLIN, 0}};
      std::map<int, int> targets;  // of listeners
      {
        std::lock_guard lock(mutex_);
        for (const auto& [port, listener] : listeners_) {
          targets[listener.fd] = port;
          polled.push_back({listener.fd, POLLIN, 0});
        }
      }
      const bool requests = mode == Mode::kWhole || mode == Mode::kNoAnswers,
                 answers = mode == Mode::kWhole;
      const auto events = [](bool read, const Side& side, bool write) {
        return static_cast<short>((read ? POLLIN : 0) |
                                  (write && !side.unsent.empty() ? POLLOUT : 0));
      };
      for (const Pipe& pipe : pipes) {
        polled.push_back({pipe.client.fd, events(requests, pipe.client, answers), 0});
        polled.push_back({pipe.cluster.fd, events(answers, pipe.cluster, requests), 0});
      }
      // A waiting connection is not closed before it is looked at again.
      for (pollfd& one : polled) {
        if (one.events == 0) one.fd = -1;
      }
      ::poll(polled.data(), polled.size(), 1000);
      uint64_t ignored;
      (void)!::read(wake_, &ignored, sizeof ignored);
      size_t at = 1 + targets.size();
      for (auto pipe = pipes.begin(); pipe != pipes.end(); at += 2) {
        const bool good =
            (polled[at].revents == 0 || Move(polled[at].revents, pipe->client, pipe->cluster)) &&
            (polled[at + 1].revents == 0 ||
             Move(polled[at + 1].revents, pipe->cluster, pipe->client));
        if (!good) Close(*pipe);
        pipe = good ? std::next(pipe) : pipes.erase(pipe);
      }
      for (size_t i = 1; i <= targets.size(); ++i) {
        if (polled[i].revents != 0) Accept(polled[i].fd, targets[polled[i].fd], &pipes);
      }
    }
    for (const Pipe& pipe : pipes) Close(pipe);
  }

  void Accept(int listener, int target, std::list<Pipe>* pipes) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client < 0) return;
    const int cluster = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = Loopback(target);
    if (RealConnect(cluster, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0) {
      ::close(client);
      ::close(cluster);
      return;
    }
    const int one = 1, linger[2] = {1, 0};
    for (const int fd : {client, cluster}) {
      ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
      ::setsockopt(fd, SOL_SOCKET, SO_LINGER, linger, sizeof linger);
    }
    pipes->push_back({{client, {}}, {cluster, {}}});
    ++connections_;
  }

  // Sends the bytes that wait for `side`, and reads its bytes for `other`. Returns false once the
  // connection is over.
  static bool Move(short events, Side& side, Side& other) {
    if (events & POLLOUT && !Send(side)) return false;
    if ((events & ~POLLOUT) == 0) return true;
    char buffer[64 << 10];
    const ssize_t count = ::recv(side.fd, buffer, sizeof buffer, MSG_DONTWAIT);
    if (count < 0) return errno == EAGAIN;
    other.unsent.append(buffer, static_cast<size_t>(count));
    return count > 0 && Send(other);
  }
  static bool Send(Side& side) {
    const ssize_t count =
        ::send(side.fd, side.unsent.data(), side.unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
    if (count < 0) return errno == EAGAIN;
    side.unsent.erase(0, static_cast<size_t>(count));
    return true;
  }
  static void Close(const Pipe& pipe) {
    ::close(pipe.client.fd);
    ::close(pipe.cluster.fd);
  }

  const int wake_;
  std::atomic<bool> stop_ = false;
  std::atomic<Mode> mode_ = Mode::kWhole, seen_ = Mode::kWhole;
  std::atomic<int> connections_ = 0;
  std::mutex mutex_;
  std::map<int, Listener> listeners_;  // by the port that they stand for
  std::thread thread_;
};

// Replaces `connect` while there is a Network.
inline int RedirectedConnect(int fd, const sockaddr* address, socklen_t length) {
  Network* network = Network::current;
  if (network != nullptr && length == sizeof(sockaddr_in) && address->sa_family == AF_INET) {
    sockaddr_in changed;
    std::memcpy(&changed, address, sizeof changed);
    if (changed.sin_addr.s_addr == htonl(INADDR_LOOPBACK)) {
      const int port = network->Redirect(ntohs(changed.sin_port));
      if (port == 0) {
        errno = ECONNREFUSED;
        return -1;
      }
      changed.sin_port = htons(static_cast<uint16_t>(port));
      return RealConnect(fd, reinterpret_cast<const sockaddr*>(&changed), sizeof changed);
    }
  }
  return RealConnect(fd, address, length);
}

}  // namespace stator
