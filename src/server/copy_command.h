// `stator copy`: tables from one store to another.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "server/encryption_settings.h"

namespace stator::server {

struct ServeSettings;

struct CopyCommand {
  std::string from;  // a directory, or rados:POOL[/NAMESPACE]
  std::string to;
  std::string ceph_conf;
  std::string ceph_user = "admin";
  EncryptionSettings from_encryption;  // of directories
  EncryptionSettings to_encryption;
  std::vector<std::string> tables;  // empty: all
};

// The engine at a place, as `stator serve` would be told. kValidation if the place is none.
Result<ServeSettings> EngineAt(const CopyCommand& command, const std::string& place);

// Prints what was copied to standard output. The exit code; errors go to standard error.
int Execute(const CopyCommand& command);

}  // namespace stator::server
