// For tests: a disk whose power can be cut. It keeps apart what was synced and what was not, file
// bytes and directory entries each, and on a cut loses a random part of the latter.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/random.h"

namespace rocksdb {
class Env;
}

namespace stator::kv_rocks {

// Works on real files below `directory`; only what goes through env() is known to it. Thread-safe.
class PowerCutDisk {
 public:
  static std::unique_ptr<PowerCutDisk> Make(const std::string& directory);
  virtual ~PowerCutDisk() = default;

  virtual rocksdb::Env* env() = 0;

  // The power goes after that many more operations (writes, syncs, changes of directories): from
  // then on all of them fail and do nothing.
  virtual void CutAfter(uint64_t operations) = 0;
  virtual void CutNow() = 0;
  virtual bool cut() const = 0;
  // Only after a cut and with every file closed: drops what the cut loses. Then the power is back.
  // Of a file, the bytes since its last sync: cut short at any place or, with `holes`, with any of
  // their pages as zeros. Of a directory, the changes since its last sync, from any one on.
  virtual void LoseUnsynced(Random& random, bool holes) = 0;

  // The next syncs of log files fail, and so does nothing else.
  virtual void FailLogSyncs(int count) = 0;
  virtual uint64_t operations() const = 0;
};

}  // namespace stator::kv_rocks
