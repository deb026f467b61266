// Room on the disk of a store: how much there is, and a ballast that is given up for those who make
// more. Internal to the room.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "kv_rocks/rocks_engine.h"

namespace stator::kv_rocks {

// While less than this is free, nothing is written at all: a log that meets the end of the disk
// leaves outcomes unknown, and RocksDB aborts when its descriptor of files does.
inline constexpr uint64_t kLeastFreeBytes = 4 << 20;

// One thread at a time.
class DiskSpace {
 public:
  explicit DiskSpace(const RocksOptions& options);

  // Returns the free bytes of the file system, or nullopt if it does not say.
  std::optional<uint64_t> Free() const;
  // Removes the ballast. Returns whether there was one.
  bool GiveUpBallast() const;
  // Makes the ballast if it is missing and leaves `free` bytes above the reserve all the same. No
  // error: a disk without one is what it was.
  void KeepBallast(uint64_t free) const;
  // Returns what RocksDB may write before the store in the directory is open: the content of its
  // logs, and some files of its own.
  static uint64_t NeedOfStart(const std::string& path);

 private:
  const RocksOptions& options_;
  const std::string file_;
};

}  // namespace stator::kv_rocks
