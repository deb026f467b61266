#include "server/encryption_settings.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cerrno>
#include <cstring>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/log.h"
#include "server/access_settings.h"

extern char** environ;

namespace stator::server {
namespace {

constexpr size_t kMostOutput = 4096;

// The command is not told: it may hold a secret.
Error Failed(std::string_view why) {
  return ValidationError(
      fmt::format("the command of --encryption-key-command gave no key: {}", why));
}

// A shell that runs a command and writes to a pipe, in a process group of its own.
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

// Secrets that a container's platform mounts are often readable for all, so this is no error.
void WarnOfReaders(const std::string& path) {
  struct stat status;
  if (::stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode) && (status.st_mode & 077) != 0)
    LogWarn("secret_readable_by_others", {{"file", path}});
}

}  // namespace

void AddEncryptionOptions(CLI::App* app, EncryptionSettings* s, const std::string& prefix) {
  CLI::Option* const file =
      app->add_option("--" + prefix + "encryption-key-file", s->key_file,
                      "encrypt the files of the store, and backups, with the key in this file");
  CLI::Option* const command =
      app->add_option("--" + prefix + "encryption-key-command", s->key_command,
                      "likewise, with the key that this command prints");
  if (!prefix.empty()) return;
  file->envname("STATOR_ENCRYPTION_KEY_FILE");
  command->envname("STATOR_ENCRYPTION_KEY_COMMAND");
}

std::optional<std::string> CheckEncryption(const EncryptionSettings& settings) {
  if (settings.key_file.empty() || settings.key_command.empty()) return std::nullopt;
  return "--encryption-key-file and --encryption-key-command exclude each other";
}

Result<std::shared_ptr<const crypt::FileKeys>> OpenFileKeys(const EncryptionSettings& settings) {
  if (!settings.on()) return std::shared_ptr<const crypt::FileKeys>();
  std::vector<std::string> keys;
  if (!settings.key_file.empty()) {
    WarnOfReaders(settings.key_file);
    ASSIGN_OR_RETURN(keys, ReadMasterKeys(settings.key_file));
  } else {
    ASSIGN_OR_RETURN(const std::string text, RunCommand(settings.key_command));
    ASSIGN_OR_RETURN(keys, ParseMasterKeys(text, "the output of --encryption-key-command"));
  }
  return crypt::FileKeys::Make(keys);
}

}  // namespace stator::server
