// Loaded into a server by LD_PRELOAD: leads the server's connections through a Network. A client
// that connects to the socket at STATOR_NETWORK_SOCKET and sends the name of a mode (whole,
// no-answers, held, cut) and a newline sets the mode, and reads "ok" once it is in force. So
// tests/sim cuts one server off from its cluster without root.
#include <pthread.h>
#include <signal.h>
#include <sys/un.h>

#include <optional>

#include "network.h"

extern "C" int connect(int fd, const sockaddr* address, socklen_t length) {
  return stator::RedirectedConnect(fd, address, length);
}

namespace stator {
namespace {

std::optional<Network::Mode> ModeOf(const std::string& name) {
  if (name == "whole") return Network::Mode::kWhole;
  if (name == "no-answers") return Network::Mode::kNoAnswers;
  if (name == "held") return Network::Mode::kHeld;
  if (name == "cut") return Network::Mode::kCut;
  return std::nullopt;
}

void Obey(Network& network, int listener) {
  for (;;) {
    const int client = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
    if (client < 0) continue;
    std::string line;
    for (char one; ::read(client, &one, 1) == 1 && one != '\n';) line += one;
    const std::optional<Network::Mode> mode = ModeOf(line);
    if (mode) network.Set(*mode);
    const std::string_view answer = mode ? "ok\n" : "no such mode\n";
    (void)!::send(client, answer.data(), answer.size(), MSG_NOSIGNAL);
    ::close(client);
  }
}

__attribute__((constructor)) void Start() {
  const char* path = std::getenv("STATOR_NETWORK_SOCKET");
  if (path == nullptr) return;
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  const int listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (std::strlen(path) >= sizeof address.sun_path) std::abort();
  std::strcpy(address.sun_path, path);
  ::unlink(path);
  if (::bind(listener, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      ::listen(listener, 4) != 0) {
    std::perror("STATOR_NETWORK_SOCKET");
    std::abort();
  }
  // The threads take no signals: signals belong to the server.
  sigset_t all, before;
  sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  auto* network = new Network;  // lives as long as the process
  std::thread([network, listener] { Obey(*network, listener); }).detach();
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace
}  // namespace stator
