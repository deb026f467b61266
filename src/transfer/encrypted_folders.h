// Backups that are encrypted on their way to where they are kept, in the form of
// crypt/file_keys.h.
#pragma once

#include <memory>
#include <string>

#include "crypt/file_keys.h"
#include "transfer/folders.h"

namespace stator::transfer {

// Returns folders that encrypt each object with the first of `keys`, and read those of all keys and
// plain ones. Null: objects are written plain, and encrypted ones are refused by name.
std::unique_ptr<Folders> MakeEncryptedFolders(std::unique_ptr<Folders> folders,
                                              std::shared_ptr<const crypt::FileKeys> keys);

// Gives the objects in a directory of folders that an earlier key encrypted the first one. An
// object that cannot be given it is logged, and stays as it is.
void RenewBackupKeys(const std::string& directory, const crypt::FileKeys& keys);

}  // namespace stator::transfer
