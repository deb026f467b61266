// RocksDB's files, encrypted on their way to the disk. Internal to the room.
#pragma once

#include <memory>

#include "crypt/file_keys.h"

namespace rocksdb {
class Env;
}

namespace stator::kv_rocks {

// Returns an environment whose files have the form of crypt/file_keys.h: each has a header in front
// of what RocksDB writes, RocksDB's own messages (LOG) included. Everything else, locks among it,
// is as in `base`, which must outlive the environment.
//
// A file without a whole header reads as empty. Memory maps and direct writes are refused with
// InvalidArgument: a map has no place to decrypt, and direct writes encrypt the end of a file
// several times at one place. For the same reason a file takes nothing more after it was reopened,
// was made shorter, or an append failed: NotSupported.
std::unique_ptr<rocksdb::Env> MakeEncryptedEnv(rocksdb::Env& base,
                                               std::shared_ptr<const crypt::FileKeys> keys);

}  // namespace stator::kv_rocks
