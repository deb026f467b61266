// Reads and creates the file with the root user's access key, in the form of an AWS credentials
// file.
#pragma once

#include <string>

#include "access/crypto.h"
#include "base/result.h"
#include "identity/declared.h"

namespace stator::identity {

struct RootKey {
  KeyPair pair;
  bool made = false;  // the file did not exist
};

// Reads the key in `path`, or makes a new one there, readable for its owner only. kValidation for a
// file that holds no key, that others may read, or that cannot be read or written.
Result<RootKey> ReadOrMakeRootKey(const std::string& path, access::SecureRandom* random);

// Makes a file with `text`, readable for its owner only. kValidation if there is one, or if it
// cannot be written.
Status WriteNewFile(const std::string& path, const std::string& text);

// Reads `path` as the text of one secret: without white space at its ends. kValidation for a file
// that cannot be read or is empty; warns in the log if other users may read it.
Result<std::string> ReadSecretFile(const std::string& path);

}  // namespace stator::identity
