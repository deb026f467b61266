// How RocksDB is set up for Stator. Internal to the room.
#pragma once

#include <rocksdb/db.h>
#include <rocksdb/options.h>
#include <rocksdb/slice.h>
#include <rocksdb/statistics.h>
#include <rocksdb/status.h>

#include <cstring>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "kv/engine.h"
#include "kv/fixed_bytes.h"
#include "kv_rocks/compaction_room.h"
#include "kv_rocks/recovery.h"
#include "kv_rocks/rocks_engine.h"

namespace stator::kv_rocks {

// The column families in the order of their handles: RocksDB's own (it holds only what is the
// engine's), then one per Space.
inline constexpr const char* kFamilyNames[] = {"default", "catalog", "items", "log"};
inline constexpr size_t kFamilies = 4;
inline constexpr size_t FamilyIndex(kv::Space space) { return static_cast<size_t>(space) + 1; }

// In the default family: the stamp of the last batch, 8 bytes little-endian.
inline constexpr std::string_view kLastStampKey = "last_stamp";

inline constexpr size_t kTabletBytes = 4;

struct Tuning {
  std::shared_ptr<rocksdb::Env> base_env;  // unless the options name one
  std::shared_ptr<rocksdb::Env> env;       // in front of it, with keys
  std::shared_ptr<rocksdb::Env> room_env;  // in front of both
  std::shared_ptr<ErrorListener> errors;
  std::shared_ptr<CompactionRoom> room;
  rocksdb::DBOptions db;
  std::vector<rocksdb::ColumnFamilyDescriptor> families;
  std::shared_ptr<rocksdb::Cache> cache;
  uint64_t value_cache_bytes = 0;
  size_t items_prefix_bytes = 0;  // the tablet's bytes included; 0: no prefix filters
};
Tuning MakeTuning(const RocksOptions& options);

// What a failed read or open means to the caller. `what` says what was tried.
Error ReadError(const rocksdb::Status& status);

inline rocksdb::Slice ToSlice(std::string_view text) { return {text.data(), text.size()}; }
inline std::string_view ToView(const rocksdb::Slice& slice) { return {slice.data(), slice.size()}; }

// A key as RocksDB sees it: the tablet's id, big-endian, then the key. On the stack unless it is
// long.
class PrefixedKey {
 public:
  PrefixedKey(uint32_t tablet, std::string_view key) : size_(kTabletBytes + key.size()) {
    if (size_ > sizeof inline_) heap_.resize(size_);
    char* to = size_ > sizeof inline_ ? heap_.data() : inline_;
    kv::StoreBig32(to, tablet);
    if (!key.empty()) std::memcpy(to + kTabletBytes, key.data(), key.size());
    data_ = to;
  }
  PrefixedKey(const PrefixedKey&) = delete;
  PrefixedKey& operator=(const PrefixedKey&) = delete;

  // The first key after every key of the tablet.
  static std::string_view TabletEnd(uint32_t tablet, char (&room)[kTabletBytes]) {
    kv::StoreBig32(room, tablet + 1);
    return {room, kTabletBytes};
  }

  rocksdb::Slice slice() const { return {data_, size_}; }
  std::string_view view() const { return {data_, size_}; }

 private:
  size_t size_;
  const char* data_;
  char inline_[512];
  std::string heap_;
};

// Returns an estimate of the bytes of a tablet on the disk and in memtables; 0 if RocksDB has none.
uint64_t SizeOfTablet(rocksdb::DB& db, rocksdb::ColumnFamilyHandle* family, uint32_t tablet);

}  // namespace stator::kv_rocks
