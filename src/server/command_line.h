// The command line of `stator`: which command it names, and what that command is told.
#pragma once

#include <string>
#include <vector>

#include "advise/command.h"
#include "learn/command.h"
#include "server/bulk_command.h"
#include "server/cert_command.h"
#include "server/cluster_command.h"
#include "server/copy_command.h"
#include "server/health_check.h"
#include "server/iam_command.h"
#include "server/mcp_command.h"
#include "server/past_command.h"
#include "server/settings.h"
#include "server/store_backup_command.h"
#include "simulate/command.h"

namespace stator::server {

struct CommandLine {
  enum class Action {
    kServe,
    kSimulate,
    kLearn,
    kAdvise,
    kCopy,
    kCluster,
    kPast,
    kBulk,
    kStoreBackup,
    kHealthCheck,
    kIam,
    kCert,
    kMcp,
    kExit
  } action = Action::kExit;
  int exit_code = 0;
  ServeSettings serve;
  simulate::Command simulate;
  learn::Command learn;
  advise::Command advise;
  CopyCommand copy;
  ClusterCommand cluster;
  PastCommand past;
  BulkCommand bulk;
  StoreBackupCommand store_backup;
  HealthCheck health;
  IamCommand iam;
  CertCommand cert;
  McpCommand mcp;
};

// Parses the command line. Help, version and usage errors are printed here and ask for an exit.
CommandLine ParseCommandLine(int argc, const char* const* argv);

// The arguments with DynamoDB Local's single-dash flags in our spelling, and with `serve` in front
// if no command is named.
std::vector<std::string> TranslateLocalFlags(std::vector<std::string> arguments);

}  // namespace stator::server
