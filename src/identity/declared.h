// Identities that a server is given when it starts: the root key, and the users of stator.toml.
#pragma once

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

struct DeclaredUser {
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

// kValidation, naming the user and what is wrong, for anything that IAM would refuse.
Status CheckUser(const DeclaredUser& user);

// Returns the records of an account with these users. Ids follow from the names, so all servers
// with the same users agree on them. Secrets are sealed with `keyring`. kValidation for a key id or
// a name that occurs twice, and for what CheckUser refuses.
Result<access::Records> RecordsOf(std::string_view account, const std::optional<KeyPair>& root,
                                  const std::vector<DeclaredUser>& users,
                                  const access::Keyring& keyring, access::SecureRandom* random);

}  // namespace stator::identity
