// Descriptors that are kept for the files of stores, so that connections cannot use them up.
// RocksDB takes no writes until a restart when it cannot open the next file of its log.
#pragma once

#include <cstddef>
#include <memory>

namespace rocksdb {
class Env;
}

namespace stator::kv_rocks {

// Kept by the process, for all of its stores.
inline constexpr size_t kSpareDescriptors = 16;

// Returns an environment that opens files as the default one does. When the process or the machine
// has no descriptor left, it opens one in the place of a spare one; spares come back with the next
// files that are opened once there are descriptors again.
std::unique_ptr<rocksdb::Env> MakeEnvWithSpares();

}  // namespace stator::kv_rocks
