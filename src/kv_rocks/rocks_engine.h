// The kv contract on RocksDB: one process, one directory, one fsync for many batches.
// docs/adr/0006-kv-contract.md says why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "crypt/file_keys.h"
#include "kv/engine.h"

namespace rocksdb {
class Env;
}

namespace stator::kv_rocks {

struct RocksOptions {
  std::string path;  // created if it is missing; its parent must exist
  // Block cache, index and filter blocks and memtables together.
  uint64_t memory_budget_bytes = 256ull << 20;
  // True: a batch is acknowledged after fsync and survives a power cut. False: after write(); it
  // survives kill -9 only.
  bool sync = true;
  // Ranges whose bounds share so many leading bytes are frequent in Space::kItems (all items of one
  // partition key value do): filters for these prefixes spare such a read the files that hold none
  // of them. 0: no such filters.
  size_t items_prefix_bytes = 0;
  // While the file system of `path` has less free than this, writes are refused, except those that
  // make room: batches that delete and put no value in Space::kItems.
  uint64_t reserve_free_bytes = 64ull << 20;
  // A file of this size is kept beside the store and given up when there is no room for a write
  // that makes some, or for a start. 0: none.
  uint64_t ballast_bytes = 0;
  int64_t free_bytes_interval_micros = 100'000;  // at most this often is the file system asked
  // Opens a store whose log has lost writes that were acknowledged, and goes on without them.
  bool accept_lost_writes = false;
  // Encrypts what is written to the disk. Null: the store is plain.
  std::shared_ptr<const crypt::FileKeys> keys;

  // For tests. Free bytes of the file system of a path (nullopt: unknown); null: ask the operating
  // system.
  std::function<std::optional<uint64_t>(const std::string& path)> free_bytes;
  // For tests; not owned. Null: the default one.
  rocksdb::Env* env = nullptr;
  // For tests; the views are not owned. The features that this version of Stator knows.
  std::optional<std::vector<std::string_view>> known_features;
};

// Opens or creates the store in options.path. The engine is atomic_across_tablets, exclusive and
// durable. On a full disk it opens a store to be read only: Health says so.
//
// kUnavailable with a sentence for people: another process has it open, the directory holds
// something else, the store is of a newer format or needs an unknown feature, it is encrypted with
// other keys or plain where keys are given (store_keys.h). kCorruption: the store is damaged; the
// message names the file. Also if its log ends before the last write that was acknowledged after
// fsync, unless accept_lost_writes.
Result<std::unique_ptr<kv::Engine>> OpenRocks(const RocksOptions& options);

}  // namespace stator::kv_rocks
