#include "server/encryption_settings.h"

#include <fmt/format.h>
#include <sys/stat.h>

#include <CLI/CLI.hpp>
#include <utility>
#include <vector>

#include "base/log.h"
#include "server/access_settings.h"
#include "server/key_command.h"

namespace stator::server {
namespace {

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
    ASSIGN_OR_RETURN(const std::string text,
                     ReadFromCommand("--encryption-key-command", settings.key_command));
    ASSIGN_OR_RETURN(keys, ParseMasterKeys(text, "the output of --encryption-key-command"));
  }
  return crypt::FileKeys::Make(keys);
}

}  // namespace stator::server
