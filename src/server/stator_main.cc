// The program: runs what its command line says.
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <system_error>

#include "server/command_line.h"
#include "server/iam_command.h"
#include "server/serve.h"

// jemalloc reads it before main: threads of its own return freed memory to the operating system
// within seconds, also while the server is idle. Allocations of more than 2 MB, which only bodies
// and replies of large batches are, go back at once: kept for seconds, some ten of them would be
// more than the account of what clients hold (docs/adr/0016) allows.
extern "C" const char* malloc_conf;
const char* malloc_conf =
    "background_thread:true,max_background_threads:1,oversize_threshold:2097152";

namespace {

const std::terminate_handler kStandardEnd = std::get_terminate();

// A process that may not have the threads that it needs ends with a sentence.
[[noreturn]] void End() {
  try {
    if (const std::exception_ptr error = std::current_exception()) std::rethrow_exception(error);
  } catch (const std::system_error& error) {
    if (error.code() == std::errc::resource_unavailable_try_again) {
      std::fputs(
          "stator: the system makes no more threads for this process. Raise its limit: "
          "ulimit -u, TasksMax= of its unit, or pids of its container.\n",
          stderr);
      std::_Exit(1);
    }
  } catch (...) {
    // Said by the standard handler.
  }
  kStandardEnd();
  std::abort();
}

}  // namespace

int main(int argc, char** argv) {
  std::set_terminate(End);
  // A write beyond the limit of a file's size fails then, like one on a full disk, and does not end
  // the process.
  std::signal(SIGXFSZ, SIG_IGN);
  const stator::server::CommandLine command = stator::server::ParseCommandLine(argc, argv);
  if (command.action == stator::server::CommandLine::Action::kExit) return command.exit_code;
  if (command.action == stator::server::CommandLine::Action::kSimulate) {
    return stator::simulate::Execute(command.simulate);
  }
  if (command.action == stator::server::CommandLine::Action::kLearn) {
    return stator::learn::Execute(command.learn);
  }
  if (command.action == stator::server::CommandLine::Action::kAdvise) {
    return stator::advise::Execute(command.advise);
  }
  if (command.action == stator::server::CommandLine::Action::kCopy) {
    return stator::server::Execute(command.copy);
  }
  if (command.action == stator::server::CommandLine::Action::kCluster) {
    return stator::server::Execute(command.cluster);
  }
  if (command.action == stator::server::CommandLine::Action::kPast) {
    return stator::server::Execute(command.past);
  }
  if (command.action == stator::server::CommandLine::Action::kBulk) {
    return stator::server::Execute(command.bulk);
  }
  if (command.action == stator::server::CommandLine::Action::kStoreBackup) {
    return stator::server::Execute(command.store_backup);
  }
  if (command.action == stator::server::CommandLine::Action::kHealthCheck) {
    return stator::server::Execute(command.health);
  }
  if (command.action == stator::server::CommandLine::Action::kIam) {
    return stator::server::Execute(command.iam);
  }
  if (command.action == stator::server::CommandLine::Action::kCert) {
    return stator::server::Execute(command.cert);
  }
  if (command.action == stator::server::CommandLine::Action::kMcp) {
    return stator::server::Execute(command.mcp);
  }
  return stator::server::Serve(command.serve);
}
