// `stator backup` and `stator restore`: whole-store backups.
#pragma once

#include <cstdint>
#include <string>

#include "server/encryption_settings.h"

namespace CLI {
class App;
}

namespace stator::server {

struct StoreBackupCommand {
  enum class Call { kNone, kBackup, kRestore } call = Call::kNone;
  bool list = false;
  bool verify = false;
  bool json = false;
  std::string place;     // empty: that of the server
  std::string at;        // an id or a moment; empty: the newest
  std::string data_dir;  // of a stopped store; of backup: empty: a server makes it
  uint64_t keep = 0;
  int64_t rate_mb = 0;
  EncryptionSettings encryption;
  std::string ca_file;  // of the place's https://
  std::string endpoint_url;
  std::string region;
  std::string authorities_file;  // of the server's https://
};

// Adds both subcommands; what is given goes to `command`.
void AddStoreBackupCommands(CLI::App* app, StoreBackupCommand* command);

// Prints what was done to standard output. Returns the exit code: 1 for an error, which goes to
// standard error, and for a list with a backup that cannot be read.
int Execute(const StoreBackupCommand& command);

}  // namespace stator::server
