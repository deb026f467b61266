#include "server/serve.h"
#include "server/settings.h"

int main(int argc, char** argv) {
  const stator::server::CommandLine command = stator::server::ParseCommandLine(argc, argv);
  if (command.action == stator::server::CommandLine::Action::kExit) return command.exit_code;
  if (command.action == stator::server::CommandLine::Action::kSimulate) {
    return stator::simulate::Execute(command.simulate);
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
  return stator::server::Serve(command.serve);
}
