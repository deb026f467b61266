// Monitors and networks that fail while the tablet is written to. librados connects from this process, so `connect` is replaced here
// by one that can lead through a proxy, which can be told to hold back or to lose what passes.
#include <arpa/inet.h>
#include <dlfcn.h>
#include <gmock/gmock.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <mutex>

#include "cluster_under_test.h"
#include "increments.h"

namespace stator {
namespace {

using kv_rados::RadosOptions;

int RealConnect(int fd, const sockaddr* address, socklen_t length) {
  static const auto real = reinterpret_cast<int (*)(int, const sockaddr*, socklen_t)>(::dlsym(RTLD_NEXT, "connect"));
  return real(fd, address, length);
}

sockaddr_in Loopback(int port) {
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  return address;
}

// Connections of this process to 127.0.0.1 that are made while it lives go through it.
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

  // Returns once it is so.
  void Set(Mode mode) {
    mode_ = mode;
    Wake();
    while (seen_ != mode) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  int connections() const { return connections_; }

  // Where to go instead of `port`; 0: nowhere.
  int Redirect(int port) {
    if (mode_ == Mode::kCut) return 0;
    std::lock_guard lock(mutex_);
    auto [found, first] = listeners_.try_emplace(port);
    if (first) {
      Listener& made = found->second;
      made.fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      sockaddr_in address = Loopback(0);
      socklen_t length = sizeof address;
      EXPECT_EQ(::bind(made.fd, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
      EXPECT_EQ(::listen(made.fd, 64), 0);
      EXPECT_EQ(::getsockname(made.fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
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

  void Wake() {
    const uint64_t one = 1;
    EXPECT_EQ(::write(wake_, &one, sizeof one), static_cast<ssize_t>(sizeof one));
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
      const bool requests = mode == Mode::kWhole || mode == Mode::kNoAnswers, answers = mode == Mode::kWhole;
      const auto events = [](bool read, const Side& side, bool write) {
        return static_cast<short>((read ? POLLIN : 0) | (write && !side.unsent.empty() ? POLLOUT : 0));
      };
      for (const Pipe& pipe : pipes) {
        polled.push_back({pipe.client.fd, events(requests, pipe.client, answers), 0});
        polled.push_back({pipe.cluster.fd, events(answers, pipe.cluster, requests), 0});
      }
      // Those that wait are closed by nobody until they are looked at again.
      for (pollfd& one : polled) {
        if (one.events == 0) one.fd = -1;
      }
      ::poll(polled.data(), polled.size(), 1000);
      uint64_t ignored;
      (void)!::read(wake_, &ignored, sizeof ignored);
      size_t at = 1 + targets.size();
      for (auto pipe = pipes.begin(); pipe != pipes.end(); at += 2) {
        const bool good = (polled[at].revents == 0 || Move(polled[at].revents, pipe->client, pipe->cluster)) &&
                          (polled[at + 1].revents == 0 || Move(polled[at + 1].revents, pipe->cluster, pipe->client));
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

  // Sends what waits for `side`, and what it says to `other`. False once the connection is over.
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
    const ssize_t count = ::send(side.fd, side.unsent.data(), side.unsent.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
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

}  // namespace
}  // namespace stator

extern "C" int connect(int fd, const sockaddr* address, socklen_t length) {
  stator::Network* network = stator::Network::current;
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
      return stator::RealConnect(fd, reinterpret_cast<const sockaddr*>(&changed), sizeof changed);
    }
  }
  return stator::RealConnect(fd, address, length);
}

namespace stator {
namespace {

void Sleep(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

// One process is cut off, in every way and several times; another on the same tablet is not.
TEST(RadosNetwork, ACutNetworkAppliesNothingTwice) {
  const RadosOptions options = Impatient();
  const auto direct = Open(options);
  ASSERT_TRUE(direct && kv::ApplyAndWait(*direct, AddOne("count", 0)).ok());
  Network network;
  const auto behind = Open(options);
  ASSERT_TRUE(behind && kv::ApplyAndWait(*behind, AddOne("count", 0)).ok());
  ASSERT_GT(network.connections(), 0);

  std::atomic<bool> stop = false;
  std::atomic<int64_t> unknown = 0, of_direct = 0, of_behind = 0;
  std::thread near([&] { of_direct = Increment({direct.get()}, 1, [&] { return Sleep(20), !stop; }, &unknown); });
  std::thread far([&] { of_behind = Increment({behind.get()}, 2, [&] { return !stop; }, &unknown); });
  using enum Network::Mode;
  for (const auto& [first, then] : {std::pair(kNoAnswers, kWhole), std::pair(kNoAnswers, kCut), std::pair(kHeld, kWhole),
                                    std::pair(kHeld, kCut), std::pair(kNoAnswers, kCut), std::pair(kCut, kWhole)}) {
    Sleep(200);
    network.Set(first);
    Sleep(1300);  // an operation takes a second to be given up
    const int64_t number = NumberOf(*direct);
    Sleep(150);
    EXPECT_GT(NumberOf(*direct), number) << "the other process goes on";
    network.Set(then);
    Sleep(300);
    network.Set(kWhole);
  }
  // Within ten seconds of the repair.
  const uint64_t groups = static_cast<uint64_t>(behind->Statistics()["kv_commit_groups"]);
  const auto go_on = For(10'000);
  while (go_on() && behind->Statistics()["kv_commit_groups"] < static_cast<double>(groups + 5)) Sleep(20);
  EXPECT_GE(behind->Statistics()["kv_commit_groups"], static_cast<double>(groups + 5));
  stop = true;
  near.join();
  far.join();
  EXPECT_GT(of_behind, 10);
  EXPECT_EQ(unknown, 0) << "all can be found out";
  EXPECT_EQ(NumberOf(*direct), of_direct + of_behind);
  EXPECT_EQ(CountOf(*behind, "count"), of_direct + of_behind);
  EXPECT_GT(behind->Statistics()["kv_rados_sent_again"], 0);
  EXPECT_GT(behind->Statistics()["kv_rados_found_in_ledger"], 0);
}

// Answers that stay away for longer than the deadline: what was acknowledged is there, and nothing twice.
TEST(RadosNetwork, CutOffPastTheDeadlineOutcomesAreUnknown) {
  RadosOptions options = Impatient();
  options.deadline_seconds = 2;
  Network network;
  const auto engine = Open(options);
  ASSERT_TRUE(engine && kv::ApplyAndWait(*engine, AddOne("count", 0)).ok());
  // One write that is surely sent, as nothing has to be read for it.
  ASSERT_TRUE(kv::ApplyAndWait(*engine, AddOne("another", 0)).ok());
  network.Set(Network::Mode::kNoAnswers);
  EXPECT_EQ(CodeOf(kv::ApplyAndWait(*engine, AddOne("another"))), ErrorCode::kOutcomeUnknown);
  EXPECT_FALSE(engine->Health().ok());
  network.Set(Network::Mode::kWhole);
  while (!kv::ApplyAndWait(*engine, AddOne("another", 10)).ok()) {
  }
  EXPECT_TRUE(engine->Health().ok());
  EXPECT_TRUE(CountOf(*engine, "another") % 10 <= 1) << "once or not at all";

  // Writers that may be anywhere; perhaps all are about to read, and none writes before the end.
  std::atomic<bool> stop = false;
  std::atomic<int64_t> unknown = 0, acknowledged = 0;
  std::thread writers([&] { acknowledged = Increment({engine.get()}, 3, [&] { return !stop; }, &unknown); });
  Sleep(300);
  network.Set(Network::Mode::kNoAnswers);
  const ErrorCode code = CodeOf(kv::ApplyAndWait(*engine, AddOne("another")));
  EXPECT_TRUE(code == ErrorCode::kOutcomeUnknown || code == ErrorCode::kUnavailable);
  EXPECT_FALSE(engine->Health().ok());
  network.Set(Network::Mode::kCut);
  Sleep(300);
  network.Set(Network::Mode::kWhole);
  const auto until = For(10'000);
  while (!engine->Health().ok() && until()) Sleep(20);
  EXPECT_TRUE(engine->Health().ok()) << "ten seconds after the repair";
  Sleep(300);
  stop = true;
  writers.join();
  EXPECT_GT(acknowledged, 10);
  const int64_t number = NumberOf(*engine);
  EXPECT_GE(number, acknowledged);
  EXPECT_LE(number, acknowledged + unknown);
  EXPECT_EQ(CountOf(*engine, "count"), number) << "both are of one batch";
}

// A process that nobody hears of for so long that the OSDs forget its watch, as when it is frozen, hears messages again when it is back.
TEST(RadosNetwork, AForgottenWatchIsSetUpAgain) {
  RadosOptions options = Impatient();
  options.watch_timeout_seconds = 2;
  const auto direct = Open(options);
  ASSERT_TRUE(direct);
  direct->bulletin()->Listen([](std::string_view, UniqueFunction<void()> acknowledge) { acknowledge(); });  // connects to its OSD
  Network network;
  const auto behind = Open(options);
  ASSERT_TRUE(behind);
  std::atomic<int> heard = 0;
  behind->bulletin()->Listen([&](std::string_view, UniqueFunction<void()> acknowledge) {
    ++heard;
    acknowledge();
  });
  ASSERT_TRUE(direct->bulletin()->Announce("before").ok());
  EXPECT_EQ(heard, 1);
  network.Set(Network::Mode::kHeld);
  while (!direct->bulletin()->Announce("when it is forgotten").ok()) {
  }
  EXPECT_EQ(heard, 1);
  network.Set(Network::Mode::kWhole);
  while (behind->Statistics()["kv_rados_watches_lost"] == 0) Sleep(10);
  const int before = heard;
  while (heard == before) EXPECT_TRUE(direct->bulletin()->Announce("after").ok());
  EXPECT_TRUE(behind->bulletin()->Announce("it speaks, too").ok());
}

// Without a monitor everything goes on.
TEST(RadosNetwork, NobodyMissesTheMonitorForSomeSeconds) {
  const RadosOptions options = Impatient();
  const auto first = Open(options), second = Open(options);
  ASSERT_TRUE(first && second);
  ASSERT_TRUE(kv::ApplyAndWait(*first, AddOne("count", 0)).ok() && kv::ApplyAndWait(*second, AddOne("count", 0)).ok());
  std::atomic<bool> stop = false;
  std::atomic<int64_t> unknown = 0, acknowledged = 0;
  std::thread writers([&] { acknowledged = Increment({first.get(), second.get()}, 2, [&] { return !stop; }, &unknown); });
  const auto groups = [&] { return first->Statistics()["kv_commit_groups"] + second->Statistics()["kv_commit_groups"]; };
  ClusterUnderTest::Command("kill-mon");
  double before = groups();
  for (int second_without = 0; second_without < 4; ++second_without) {
    Sleep(1000);
    EXPECT_GT(groups(), before) << "writes go on without it";
    EXPECT_GE(NumberOf(*first), 0) << "reads too";
    before = groups();
  }
  EXPECT_TRUE(first->Health().ok());

  ClusterUnderTest::Command("start-mon");
  before = groups();
  const auto until = For(10'000);
  while (groups() < before + 5 && until()) Sleep(20);
  EXPECT_GE(groups(), before + 5) << "nor when it is back";
  stop = true;
  writers.join();
  ClusterUnderTest::Command("wait-clean");
  EXPECT_EQ(unknown, 0);
  EXPECT_EQ(NumberOf(*first), acknowledged);
  EXPECT_EQ(CountOf(*second, "count"), acknowledged);
}

}  // namespace
}  // namespace stator
