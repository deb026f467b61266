// The keys of an encrypted store, checked before RocksDB opens a file. Internal to the room.
#pragma once

#include <string>

#include "crypt/file_keys.h"
#include "kv/features.h"
#include "kv_rocks/rocks_engine.h"

namespace stator::kv_rocks {

// In FORMAT from the first file on.
inline constexpr std::string_view kEncryptionFeature = "encryption";

// Settles with the store in options.path whether it is encrypted, while no other process has it
// open: a new store becomes so if options.keys are given, and `features` and FORMAT name it.
// Headers that an earlier key wrapped are renewed under the first one. Changes nothing and returns
// kUnavailable, with a sentence for people, for an encrypted store without keys, for keys of a
// plain store, and for a file that the keys do not open; kCorruption for a damaged header.
Status SettleKeys(const RocksOptions& options, kv::Features* features);

}  // namespace stator::kv_rocks
