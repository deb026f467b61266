// The settings of access control.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "identity/declared.h"
#include "ops/fault_rule.h"

namespace stator::server {

enum class AuthMode { kOff, kWarn, kEnforce };

struct AccessSettings {
  AuthMode mode = AuthMode::kOff;
  // True if the user has asked for kOff, by --auth=off, --insecure or DynamoDB Local's flags
  // (otherwise kOff is only the default).
  bool off_is_said = false;
  std::optional<identity::KeyPair> root;  // of the environment
  std::string root_key_file = "stator-root-key";
  bool root_key_file_given = false;
  std::string master_key_file;     // both empty: none
  std::string master_key_command;  // of /bin/sh; prints what the file would hold
  std::string audit_file;          // empty: there is no audit log
  bool audit_data_plane = false;   // records of operations on items too
  int64_t audit_max_mb = 100;      // of a file
  int audit_files = 10;
  std::vector<identity::DeclaredAccount> accounts;  // [[accounts]] of the file
  std::vector<identity::DeclaredUser> users;        // [[users]]
};

// Adds the settings of one [[accounts]] section, as AddUser does.
Status AddAccount(const std::vector<ops::FaultSetting>& settings, const std::string& directory,
                  std::vector<identity::DeclaredAccount>* accounts);
// Adds the settings of one [[users]] section. Reads the files that it names, relative to
// `directory`. kValidation for what cannot be read, for unknown settings, and for a user that IAM
// would refuse.
Status AddUser(const std::vector<ops::FaultSetting>& settings, const std::string& directory,
               std::vector<identity::DeclaredUser>* users);

// Reads master keys, the one in use first: 32 bytes, or lines of 64 hex digits or of base64.
// kValidation for another file.
Result<std::vector<std::string>> ReadMasterKeys(const std::string& path);
// Likewise from text; `source` names it in messages.
Result<std::vector<std::string>> ParseMasterKeys(const std::string& text,
                                                 const std::string& source);
// Reads those of the settings' file or command; none if there is neither.
Result<std::vector<std::string>> MasterKeysOf(const AccessSettings& settings);
// Returns a sentence if both are given.
std::optional<std::string> CheckMasterKey(const AccessSettings& settings);
// Makes a file with a new master key, for its owner only. Returns the exit code of the command.
int MakeMasterKey(const std::string& path);

// Reads STATOR_ROOT_ACCESS_KEY_ID and STATOR_ROOT_SECRET_ACCESS_KEY. nullopt if neither is set;
// kValidation for one without the other, and for a pair that no client could use.
Result<std::optional<identity::KeyPair>> RootKeyOfEnvironment();

}  // namespace stator::server
