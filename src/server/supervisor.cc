#include "server/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/log.h"

namespace stator::server {
namespace {

std::string_view Variable(const char* name) {
  const char* text = std::getenv(name);
  return text == nullptr ? std::string_view() : text;
}

std::optional<int64_t> NumberOf(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size() || number <= 0) return std::nullopt;
  return number;
}

// 0, or the errno of what failed.
int SendDatagram(const std::string& path, std::string_view text) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof(address.sun_path)) return ENAMETOOLONG;
  std::memcpy(address.sun_path, path.data(), path.size());
  if (path.front() == '@') address.sun_path[0] = '\0';
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const socklen_t size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + path.size());
  const ssize_t sent = sendto(fd, text.data(), text.size(), MSG_NOSIGNAL,
                              reinterpret_cast<const sockaddr*>(&address), size);
  const int failed = sent < 0 ? errno : 0;
  close(fd);
  return failed;
}

}  // namespace

Supervisor Supervisor::FromEnvironment() {
  return Supervisor(std::string(Variable("NOTIFY_SOCKET")));
}

void Supervisor::Tell(std::string_view state) const {
  if (socket_.empty()) return;
  if (const int failed = SendDatagram(socket_, state); failed != 0) {
    LogWarn("supervisor_not_told",
            {{"socket", socket_}, {"state", state}, {"error", std::strerror(failed)}});
  }
}

void Supervisor::Watch(std::chrono::microseconds timeout, std::vector<Executor*> loops) {
  if (socket_.empty()) return;
  loops_ = std::move(loops);
  ticker_ = std::make_unique<Ticker>(timeout / 3, [this] { Look(); });
}

void Supervisor::Look() {
  if (unanswered_->load(std::memory_order_acquire) > 0) return;
  unanswered_->store(static_cast<int>(loops_.size()), std::memory_order_release);
  for (Executor* loop : loops_) {
    loop->Post([unanswered = unanswered_] { unanswered->fetch_sub(1, std::memory_order_acq_rel); });
  }
  Tell("WATCHDOG=1");
}

std::optional<std::chrono::microseconds> WatchdogTimeout() {
  const std::optional<int64_t> micros = NumberOf(Variable("WATCHDOG_USEC"));
  if (!micros) return std::nullopt;
  const std::string_view pid = Variable("WATCHDOG_PID");
  if (!pid.empty() && NumberOf(pid) != static_cast<int64_t>(getpid())) return std::nullopt;
  return std::chrono::microseconds(*micros);
}

}  // namespace stator::server
