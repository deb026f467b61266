// Identities that a server is given when it starts: the root key, and the accounts and users of
// stator.toml.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "access/directory.h"
#include "access/identity.h"
#include "access/seal.h"
#include "base/result.h"

namespace stator::identity {

struct KeyPair {
  std::string id;
  std::string secret;
};

struct DeclaredAccount {
  std::string id;
  std::string name;             // may be empty
  std::optional<KeyPair> root;  // without, users alone may do something in it
};

struct DeclaredUser {
  std::string account;  // empty: the default one
  std::string name;
  std::string path = "/";
  std::vector<KeyPair> keys;
  std::vector<access::InlinePolicy> policies;  // named after their files
  std::vector<std::string> attached_policies;  // ARNs of built-in policies
  std::vector<access::Tag> tags;
};

// kValidation for an id that is not 16 to 128 letters, digits and '_', that begins like a temporary
// key's ("ASIA"), or for an empty or long secret.
Status CheckKeyPair(const KeyPair& pair);

// kValidation, naming the account and what is wrong, for an id or a name that CreateAccount would
// refuse, and for what CheckKeyPair refuses.
Status CheckAccount(const DeclaredAccount& account);

// kValidation, naming the user and what is wrong, for anything that IAM would refuse.
Status CheckUser(const DeclaredUser& user);

// Returns the records of the default account, whose root key is `root`, and of the others, by
// account. Ids follow from the names, so all servers with the same users agree on them. Secrets are
// sealed with `keyring`. kValidation for an id or a name that occurs twice, for a user of an
// account that there is not, and for what CheckAccount and CheckUser refuse.
using DeclaredRecords = std::map<std::string, access::Records, std::less<>>;
Result<DeclaredRecords> RecordsOf(const std::string& account, const std::optional<KeyPair>& root,
                                  const std::vector<DeclaredAccount>& accounts,
                                  const std::vector<DeclaredUser>& users,
                                  const access::Keyring& keyring, access::SecureRandom* random);

}  // namespace stator::identity
