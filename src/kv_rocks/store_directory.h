// The directory of a store as seen from outside RocksDB: what it may hold, and of which format it
// is.
#pragma once

#include <string>

#include "base/result.h"

namespace stator::kv_rocks {

inline constexpr int kFormatVersion = 2;

// Creates the directory if it is missing and writes its FORMAT file if it is empty. Refuses, with a
// sentence for people and without changing anything: a directory that holds other files and no
// store, a store of a newer format, and a store whose data files are there but whose CURRENT is not
// (RocksDB would start an empty one in its place).
Status PrepareDirectory(const std::string& path);

// Writes the FORMAT file durably. For PrepareDirectory and for new checkpoints.
Status WriteFormat(const std::string& path);

}  // namespace stator::kv_rocks
