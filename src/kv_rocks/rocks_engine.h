// The kv contract on RocksDB: one process, one directory, one fsync for many batches.
// docs/adr/0006-kv-contract.md says why.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
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
  // While the file system of `path` has less free than this, writes are refused and the store stays
  // whole.
  uint64_t reserve_free_bytes = 64ull << 20;
  int64_t free_bytes_interval_micros = 100'000;  // at most this often is the file system asked

  // For tests. Free bytes of the file system of a path (nullopt: unknown); null: ask the operating
  // system.
  std::function<std::optional<uint64_t>(const std::string& path)> free_bytes;
  // For tests; not owned. Null: the default one.
  rocksdb::Env* env = nullptr;
};

// Opens or creates the store in options.path. The engine is atomic_across_tablets, exclusive and
// durable. kUnavailable with a sentence for people: another process has it open, the directory
// holds something else, the store is of a newer format. kCorruption: the store is damaged; the
// message names the file.
Result<std::unique_ptr<kv::Engine>> OpenRocks(const RocksOptions& options);

}  // namespace stator::kv_rocks
