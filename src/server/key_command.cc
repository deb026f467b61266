#include "server/key_command.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "base/clock.h"

extern char** environ;

namespace stator::server {
namespace {

constexpr size_t kMostOutput = 4096;

Error Failed(std::string_view why) { return ValidationError(std::string(why)); }

// A child process `sh -c COMMAND` in its own process group. This process reads its standard output
// through a pipe.
class Shell {
 public:
  static Result<Shell> Start(const std::string& command) {
    int ends[2];
    if (::pipe2(ends, O_CLOEXEC) != 0) return Failed(std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    const std::string words[] = {"sh", "-c", command};
    char* const arguments[] = {const_cast<char*>(words[0].c_str()),
                               const_cast<char*>(words[1].c_str()),
                               const_cast<char*>(words[2].c_str()), nullptr};
    Shell shell;
    shell.out_ = ends[0];
    const int failed =
        ::posix_spawn(&shell.pid_, "/bin/sh", &actions, &attributes, arguments, environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    if (failed != 0) {
      shell.pid_ = -1;
      return Failed(std::strerror(failed));
    }
    return Result<Shell>(std::move(shell));
  }
  Shell(Shell&& other) noexcept
      : pid_(std::exchange(other.pid_, -1)), out_(std::exchange(other.out_, -1)) {}
  ~Shell() {
    if (pid_ > 0) {
      ::kill(-pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    if (out_ >= 0) ::close(out_);
  }

  // Returns what it prints; nullopt if that does not end by `end`.
  std::optional<std::string> Read(int64_t end) const {
    std::string text;
    while (text.size() <= kMostOutput) {
      const int64_t left = end - clock_.TicksMicros();
      pollfd one{out_, POLLIN, 0};
      if (left <= 0 || ::poll(&one, 1, static_cast<int>(left / 1000 + 1)) == 0) return std::nullopt;
      char bytes[kMostOutput];
      const ssize_t got = ::read(out_, bytes, sizeof bytes);
      if (got < 0 && errno == EINTR) continue;
      if (got <= 0) break;
      text.append(bytes, static_cast<size_t>(got));
    }
    return text;
  }
  // Returns its exit code, -1 if it was killed; nullopt if it does not end by `end`.
  std::optional<int> Wait(int64_t end) {
    int status = 0;
    for (;;) {
      const pid_t ended = ::waitpid(pid_, &status, WNOHANG);
      if (ended == pid_) break;
      if (ended < 0 && errno != EINTR) return -1;
      if (clock_.TicksMicros() >= end) return std::nullopt;
      ::usleep(1000);
    }
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }
  int64_t NowTicks() const { return clock_.TicksMicros(); }

 private:
  Shell() = default;
  SystemClock clock_;
  pid_t pid_ = -1;
  int out_ = -1;
};

Result<std::string> RunCommand(const std::string& command) {
  ASSIGN_OR_RETURN(Shell shell, Shell::Start(command));
  const int64_t end = shell.NowTicks() + int64_t{kKeyCommandSeconds} * 1'000'000;
  std::optional<std::string> text = shell.Read(end);
  if (text && text->size() > kMostOutput)
    return Failed(fmt::format("it printed more than {} bytes", kMostOutput));
  const std::optional<int> code = text ? shell.Wait(end) : std::nullopt;
  if (!code) return Failed(fmt::format("it took more than {} s", kKeyCommandSeconds));
  if (*code != 0) return Failed(fmt::format("it ended with {}", *code));
  return *std::move(text);
}

}  // namespace

Result<std::string> ReadFromCommand(const std::string& option, const std::string& command) {
  Result<std::string> text = RunCommand(command);
  if (text.ok()) return text;
  // The command is not told: it may hold a secret.
  return ValidationError(
      fmt::format("the command of {} gave no key: {}", option, text.error().message()));
}

}  // namespace stator::server
