#include "server/access_settings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>

#include "access/crypto.h"
#include "access/policy.h"
#include "access/seal.h"
#include "identity/root_key.h"
#include "server/key_command.h"

namespace stator::server {
namespace {

constexpr size_t kMasterKeyBytes = 32;
constexpr size_t kLongestKeyFile = 4096;

std::filesystem::path PathIn(const std::string& directory, const std::string& file) {
  return std::filesystem::path(directory) / file;  // an absolute file stays
}

Result<std::string> ReadPolicyFile(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ValidationError(fmt::format("cannot read {}", path.string()));
  std::string text(access::Policy::kMaxBytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  if (text.size() > access::Policy::kMaxBytes) {
    return ValidationError(
        fmt::format("{} is longer than {} bytes", path.string(), access::Policy::kMaxBytes));
  }
  return text;
}

Result<std::string> ValueOf(const ops::FaultSetting& setting) {
  if (setting.values.size() == 1) return setting.values.front();
  return ValidationError(fmt::format("{} must be one value", setting.name));
}

// True if it is a setting of a key.
Result<bool> TakeKey(const ops::FaultSetting& setting, const std::string& directory,
                     identity::KeyPair* key) {
  if (setting.name == "access-key-id") {
    ASSIGN_OR_RETURN(key->id, ValueOf(setting));
    return true;
  }
  if (setting.name != "secret-access-key-file") return false;
  ASSIGN_OR_RETURN(const std::string file, ValueOf(setting));
  ASSIGN_OR_RETURN(key->secret, identity::ReadSecretFile(PathIn(directory, file).string()));
  return true;
}

Status CheckWhole(const identity::KeyPair& key) {
  if (key.id.empty() == key.secret.empty()) return OkStatus();
  return ValidationError("access-key-id and secret-access-key-file belong together");
}

Status Take(const ops::FaultSetting& setting, const std::string& directory,
            identity::DeclaredUser* user, identity::KeyPair* key) {
  ASSIGN_OR_RETURN(const bool of_key, TakeKey(setting, directory, key));
  if (of_key) return OkStatus();
  if (setting.name == "name") {
    ASSIGN_OR_RETURN(user->name, ValueOf(setting));
  } else if (setting.name == "account") {
    ASSIGN_OR_RETURN(user->account, ValueOf(setting));
  } else if (setting.name == "path") {
    ASSIGN_OR_RETURN(user->path, ValueOf(setting));
  } else if (setting.name == "policy-files") {
    for (const std::string& file : setting.values) {
      const std::filesystem::path path = PathIn(directory, file);
      ASSIGN_OR_RETURN(std::string document, ReadPolicyFile(path));
      user->policies.push_back({path.stem().string(), std::move(document)});
    }
  } else if (setting.name == "attached-policies") {
    user->attached_policies = setting.values;
  } else if (setting.name == "tags") {
    for (const std::string& tag : setting.values) {
      const size_t equals = tag.find('=');
      if (equals == std::string::npos)
        return ValidationError(fmt::format("the tag \"{}\" is not key=value", tag));
      user->tags.push_back({tag.substr(0, equals), tag.substr(equals + 1)});
    }
  } else {
    return ValidationError(
        fmt::format("{}: there is no such setting; name, account, path, access-key-id, "
                    "secret-access-key-file, policy-files, attached-policies and tags are",
                    setting.name));
  }
  return OkStatus();
}

}  // namespace

Status AddUser(const std::vector<ops::FaultSetting>& settings, const std::string& directory,
               std::vector<identity::DeclaredUser>* users) {
  identity::DeclaredUser user;
  identity::KeyPair key;
  for (const ops::FaultSetting& setting : settings) TRY(Take(setting, directory, &user, &key));
  TRY(CheckWhole(key));
  if (!key.id.empty()) user.keys.push_back(std::move(key));
  TRY(identity::CheckUser(user));
  users->push_back(std::move(user));
  return OkStatus();
}

Status AddAccount(const std::vector<ops::FaultSetting>& settings, const std::string& directory,
                  std::vector<identity::DeclaredAccount>* accounts) {
  identity::DeclaredAccount account;
  identity::KeyPair key;
  for (const ops::FaultSetting& setting : settings) {
    ASSIGN_OR_RETURN(const bool of_key, TakeKey(setting, directory, &key));
    if (of_key) continue;
    if (setting.name == "id") {
      ASSIGN_OR_RETURN(account.id, ValueOf(setting));
    } else if (setting.name == "name") {
      ASSIGN_OR_RETURN(account.name, ValueOf(setting));
    } else {
      return ValidationError(fmt::format(
          "{}: there is no such setting; id, name, access-key-id and secret-access-key-file are",
          setting.name));
    }
  }
  TRY(CheckWhole(key));
  if (!key.id.empty()) account.root = std::move(key);
  TRY(identity::CheckAccount(account));
  accounts->push_back(std::move(account));
  return OkStatus();
}

Result<std::vector<std::string>> ReadMasterKeys(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return ValidationError(fmt::format("cannot read the master key {}", path));
  std::string text(kLongestKeyFile, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(file.gcount()));
  return ParseMasterKeys(text, path);
}

Result<std::vector<std::string>> ParseMasterKeys(const std::string& text,
                                                 const std::string& source) {
  if (text.size() == kMasterKeyBytes) return std::vector<std::string>{text};
  std::vector<std::string> keys;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.find_first_not_of(" \t\r") == std::string::npos) continue;
    Result<std::string> key = access::Keyring::ParseKey(line);
    if (!key.ok()) {
      return ValidationError(
          fmt::format("{} is no master key: {}. `stator make-master-key FILE` "
                      "makes one",
                      source, key.error().message()));
    }
    keys.push_back(*std::move(key));
  }
  if (keys.empty()) {
    return ValidationError(
        fmt::format("{} is empty. `stator make-master-key FILE` makes a master key", source));
  }
  return keys;
}

Result<std::vector<std::string>> MasterKeysOf(const AccessSettings& settings) {
  if (!settings.master_key_file.empty()) return ReadMasterKeys(settings.master_key_file);
  if (settings.master_key_command.empty()) return std::vector<std::string>();
  ASSIGN_OR_RETURN(const std::string text,
                   ReadFromCommand("--master-key-command", settings.master_key_command));
  return ParseMasterKeys(text, "the output of --master-key-command");
}

std::optional<std::string> CheckMasterKey(const AccessSettings& settings) {
  if (settings.master_key_file.empty() || settings.master_key_command.empty()) return std::nullopt;
  return "--master-key-file and --master-key-command exclude each other";
}

int MakeMasterKey(const std::string& path) {
  access::SystemSecureRandom random;
  const Status made =
      identity::WriteNewFile(path, access::Hex(random.Bytes(kMasterKeyBytes)) + "\n");
  if (!made.ok()) {
    std::cerr << made.error().message() << '\n';
    return 1;
  }
  std::cout << "made " << path << "; keep a copy: without it what it protects is lost\n";
  return 0;
}

Result<std::optional<identity::KeyPair>> RootKeyOfEnvironment() {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string(value == nullptr ? "" : value);
  };
  identity::KeyPair pair{variable("STATOR_ROOT_ACCESS_KEY_ID"),
                         variable("STATOR_ROOT_SECRET_ACCESS_KEY")};
  if (pair.id.empty() && pair.secret.empty()) return std::optional<identity::KeyPair>();
  if (pair.id.empty() || pair.secret.empty()) {
    return ValidationError(
        "STATOR_ROOT_ACCESS_KEY_ID and STATOR_ROOT_SECRET_ACCESS_KEY belong together, and one of "
        "them is empty");
  }
  const Status fits = identity::CheckKeyPair(pair);
  if (!fits.ok()) return fits.error();
  return std::optional<identity::KeyPair>(std::move(pair));
}

}  // namespace stator::server
