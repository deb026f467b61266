// Tells a log that a power cut tore from a log that is damaged. Internal to the room.
#pragma once

#include <string>

#include "base/result.h"

namespace stator::kv_rocks {

// After RocksDB refused to open the store in `path` with `complaint`: whether the damage was a torn write at the end of the
// newest log, which is then cut off, so that the store can be opened again. A torn write is the last thing in the log and has
// holes: sectors of zeros where pages never reached the disk. (The file system may have kept a later page of it.) Any other
// damage is left alone and is false, or a kCorruption that names the file and the place.
Result<bool> CutTornTail(const std::string& path, const std::string& complaint);

}  // namespace stator::kv_rocks
