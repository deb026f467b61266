// Tells a log that a power cut tore from a log that is damaged. Internal to the room.
#pragma once

#include <string>

#include "base/result.h"
#include "crypt/file_keys.h"

namespace stator::kv_rocks {

// After RocksDB refused to open the store in `path` with `complaint`: whether the damage was a torn
// write at the end of the newest log or of the manifest, which is then cut off, so that the store
// can be opened again. A torn write is the last thing in the log and has holes: sectors of zeros
// where pages never reached the disk. (The file system may have kept a later page of it.) A store
// that was not synced (`sync` false) loses whatever follows the first hole of its newest log, and a
// warning says how much. Zeros at the end of any log of an encrypted store are cut off too: RocksDB
// takes them for the end of a plain log, but they decrypt to noise. Any other damage is left alone
// and is false, or a kCorruption that names the file and the place. `keys` open an encrypted
// store's files; null: they are plain.
//
// The committer ends every write with kEndMark, so that a hole at the very end of the log can be
// told from a value's zeros.
Result<bool> CutTornTail(const std::string& path, bool sync, const std::string& complaint,
                         const crypt::FileKeys* keys);

inline constexpr char kEndMark[] = "\xff";

// Returns the stamp of the last group that stands whole in the logs of the store in `path`; 0: the
// logs hold none. Reads no checksums: RocksDB does. `keys` as above.
uint64_t LastStampInLogs(const std::string& path, const crypt::FileKeys* keys);

}  // namespace stator::kv_rocks
