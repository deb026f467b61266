// The settings of encryption at rest.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "crypt/file_keys.h"

namespace CLI {
class App;
}

namespace stator::server {

// Where the keys of a store come from; both empty: it is plain.
struct EncryptionSettings {
  std::string key_file;
  std::string key_command;  // of /bin/sh; prints what the file would hold

  bool on() const { return !key_file.empty() || !key_command.empty(); }
};

// Adds --encryption-key-file and --encryption-key-command, with `prefix` ("to-") in front of their
// names. Those with a prefix have no variable in the environment.
void AddEncryptionOptions(CLI::App* app, EncryptionSettings* settings,
                          const std::string& prefix = "");

// Returns a sentence if both are given.
std::optional<std::string> CheckEncryption(const EncryptionSettings& settings);

// Reads the keys; null if there are none to read. kValidation, with a sentence, for a file or
// command that gives no keys.
Result<std::shared_ptr<const crypt::FileKeys>> OpenFileKeys(const EncryptionSettings& settings);

}  // namespace stator::server
