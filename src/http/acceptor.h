// Takes connections from listening sockets and deals them out to the loops.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "http/loop.h"

namespace stator::http {

// Binds and listens on every host, all on one port; `*port` 0 takes any that is free on all and is
// set to it. A host ::1 is left out with a warning where the machine has no IPv6, if another host
// could be bound.
Result<std::vector<UniqueFd>> ListenOn(const std::vector<std::string>& hosts, uint16_t* port);

// A socket that listens, and what its connections speak.
struct Listening {
  UniqueFd fd;
  Door door;
};

// Lives on the first of the loops. One acceptor rather than a socket per loop (SO_REUSEPORT): with
// few clients the kernel's hash would leave loops idle, and a second server on the port would go
// unnoticed.
class Acceptor {
 public:
  Acceptor(std::vector<Listening> sockets, std::vector<Loop*> loops);
  ~Acceptor();

  // Start and Stop must be called on the first loop's thread, or before it runs.
  Status Start();
  // Closes the listening sockets.
  void Stop();

 private:
  class Listener;

  void Accept(int listening, Door door);
  void Deal(UniqueFd fd, const ClientAddress& address, Door door);
  // Refuses one connection while the process has no free file descriptor: accepts it with the spare
  // descriptor and calls RefuseAtOnce. Returns false if that failed, too.
  bool RefuseWithSpare(int listening, Door door);
  // Sends 503 (through a door with TLS, a TLS alert) without waiting for the request, and closes
  // the connection.
  void RefuseAtOnce(UniqueFd fd, Door door);

  std::vector<Listening> sockets_;
  std::vector<Loop*> loops_;
  std::vector<std::unique_ptr<Listener>> listeners_;
  UniqueFd spare_;
  size_t next_loop_ = 0;
};

}  // namespace stator::http
