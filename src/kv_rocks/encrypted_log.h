// RocksDB's own messages in a file that RocksDB's file system writes. Internal to the room.
#pragma once

#include <rocksdb/env.h>
#include <rocksdb/file_system.h>

#include <memory>

namespace stator::kv_rocks {

// Returns a logger that appends each message to the file at once. A message that cannot be written
// is lost. Thread-safe.
std::shared_ptr<rocksdb::Logger> MakeFileLogger(std::unique_ptr<rocksdb::FSWritableFile> file);

}  // namespace stator::kv_rocks
