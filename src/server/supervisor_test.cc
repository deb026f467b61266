#include "server/supervisor.h"

#include <gtest/gtest.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <string>

namespace stator::server {
namespace {

using std::chrono::milliseconds;

// A supervisor's socket in the abstract namespace.
class Listener {
 public:
  Listener() {
    fd_ = socket(AF_UNIX, SOCK_DGRAM, 0);
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    name_ = "@stator-supervisor-test-" + std::to_string(getpid());
    name_.copy(address.sun_path, name_.size());
    address.sun_path[0] = '\0';
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name_.size());
    EXPECT_EQ(bind(fd_, reinterpret_cast<const sockaddr*>(&address), size), 0);
  }
  ~Listener() { close(fd_); }

  const std::string& name() const { return name_; }
  // The next datagram, or "" if none comes within `wait`.
  std::string Next(milliseconds wait) const {
    pollfd ready{fd_, POLLIN, 0};
    if (poll(&ready, 1, static_cast<int>(wait.count())) != 1) return "";
    char text[256];
    const ssize_t size = recv(fd_, text, sizeof(text), 0);
    return size < 0 ? "" : std::string(text, static_cast<size_t>(size));
  }

 private:
  int fd_ = -1;
  std::string name_;
};

// A loop that goes through its tasks when the test says so.
class Loop : public Executor {
 public:
  void Post(UniqueFunction<void()> task) override {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  void RunAll() {
    const std::lock_guard lock(mutex_);
    for (UniqueFunction<void()>& task : tasks_) task();
    tasks_.clear();
  }

 private:
  std::mutex mutex_;
  std::deque<UniqueFunction<void()>> tasks_;
};

TEST(SupervisorTest, TellsStates) {
  const Listener listener;
  const Supervisor supervisor(listener.name());
  supervisor.Tell("READY=1");
  EXPECT_EQ(listener.Next(milliseconds(2000)), "READY=1");
  supervisor.Tell("STOPPING=1");
  EXPECT_EQ(listener.Next(milliseconds(2000)), "STOPPING=1");
}

TEST(SupervisorTest, WithoutASocketTellsNothing) {
  const Listener listener;
  const Supervisor none{std::string()};
  none.Tell("READY=1");
  const Supervisor gone(std::string("/nowhere/notify"));
  gone.Tell("READY=1");
  EXPECT_EQ(listener.Next(milliseconds(0)), "");
}

TEST(SupervisorTest, TheWatchdogStopsWhenALoopHangs) {
  const Listener listener;
  Supervisor supervisor(listener.name());
  Loop works, hangs;
  supervisor.Watch(milliseconds(30), {&works, &hangs});
  EXPECT_EQ(listener.Next(milliseconds(2000)), "WATCHDOG=1");
  // Both loops have a task now. As long as one of them is not gone through, nothing is sent.
  works.RunAll();
  EXPECT_EQ(listener.Next(milliseconds(100)), "");
  hangs.RunAll();
  EXPECT_EQ(listener.Next(milliseconds(2000)), "WATCHDOG=1");
  supervisor.StopWatching();
  works.RunAll();
  hangs.RunAll();
  EXPECT_EQ(listener.Next(milliseconds(100)), "");
}

TEST(WatchdogTimeoutTest, ReadsTheEnvironment) {
  unsetenv("WATCHDOG_PID");
  unsetenv("WATCHDOG_USEC");
  EXPECT_EQ(WatchdogTimeout(), std::nullopt);
  setenv("WATCHDOG_USEC", "30000000", 1);
  EXPECT_EQ(WatchdogTimeout(), std::chrono::seconds(30));
  setenv("WATCHDOG_PID", std::to_string(getpid()).c_str(), 1);
  EXPECT_EQ(WatchdogTimeout(), std::chrono::seconds(30));
  setenv("WATCHDOG_PID", "1", 1);
  EXPECT_EQ(WatchdogTimeout(), std::nullopt);
  unsetenv("WATCHDOG_PID");
  for (const char* bad : {"0", "-1", "soon", "30s", ""}) {
    setenv("WATCHDOG_USEC", bad, 1);
    EXPECT_EQ(WatchdogTimeout(), std::nullopt) << bad;
  }
  unsetenv("WATCHDOG_USEC");
}

}  // namespace
}  // namespace stator::server
