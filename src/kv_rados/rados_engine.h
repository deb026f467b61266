// The kv contract on objects of a Ceph pool: many processes, one store. docs/adr/0011-rados.md says
// why it is as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "kv/engine.h"

namespace stator::kv_rados {

struct RadosOptions {
  std::string ceph_conf;  // the cluster's ceph.conf, which names its monitors and the keyring
  std::string pool;       // replicated; it must exist
  std::string user =
      "admin";  // without "client."; needs the caps mon 'allow r' and osd 'allow rwx pool=POOL'
  std::string name_space;  // of the pool; one pool may hold a store in each
  // The timeout of one operation. After it a read is repeated, and the outcome of a write is looked
  // up.
  int operation_timeout_seconds = 5;
  // The deadline of a read, and of a batch from Apply on. After it (at most one operation's timeout
  // later) the outcome is kUnavailable or kOutcomeUnknown.
  int deadline_seconds = 20;
  int connect_timeout_seconds = 10;
  // The OSDs remove the watch of a process that was silent for this time. Until then announcements
  // (kv::Bulletin) wait for a dead process in vain.
  int watch_timeout_seconds = 10;
  // A part of a tablet is split in two, in the background, when it reaches one of these sizes.
  uint64_t split_bytes = 48 << 20;
  uint64_t split_keys = 50'000;
  // The maximum size of a part. A batch that would exceed it gets kUnavailable; that happens if a
  // part cannot be divided, or grows faster than it is split. A larger part would make the recovery
  // of its replicas slow: with 200,000 keys, stalls of seconds were measured.
  uint64_t max_tablet_bytes = 128 << 20;
  // If a split makes no progress for this time, another process that uses the part carries it on.
  int split_takeover_seconds = 3;
  // The size of the cache of values that were read and written (value_cache.h), for Tier::kGuarded.
  size_t guarded_cache_bytes = 64 << 20;
  // The greatest age, by this process's clock, of a cached value that GetRecent returns. 0: it
  // returns no cached values.
  int64_t recent_micros = 100'000;
  // Size of the cache for ranges that are read repeatedly (range_cache.h); 0 turns it off.
  size_t range_cache_bytes = 32 << 20;
  // Opens an existing store and changes nothing in the pool, so the caps osd 'allow rx pool=POOL'
  // are enough. The engine refuses batches and fences with kUnavailable.
  bool look_only = false;
  const Clock* clock = nullptr;  // not owned; null: the system's

  // For tests: called on a thread of librados with what a write to a tablet gave (0 or -errno);
  // what it returns is believed.
  std::function<int(int result)> write_result;
  // For tests: called on a thread of the engine after each step of a split (part_split.h), which
  // fails there with what it returns.
  std::function<Status(int step)> split_step;
};

// Opens the store, or creates it in a pool (or namespace) that holds none. The engine is durable as
// the pool is, blocking, neither exclusive nor atomic_across_tablets. It has some threads of its
// own beside those of librados. kUnavailable, with a sentence for people: no such file, cluster,
// pool or user; missing caps; an erasure-coded pool; a store of a newer format. kCorruption: the
// store object is none.
Result<std::unique_ptr<kv::Engine>> OpenRados(const RadosOptions& options);

class Cluster;
// Opens the store on a connection that is there, under the name that the process's ledger cells
// have. OpenRados draws that name at random; a simulation chooses it.
Result<std::unique_ptr<kv::Engine>> OpenOn(std::unique_ptr<Cluster> cluster,
                                           const std::string& process);

// For tests and operators, of an engine that OpenRados gave.
struct PartInfo {
  uint32_t number = 0;
  std::string begin;   // its first route (routing.h)
  uint64_t bytes = 0;  // this and the next: the best guess of those who write to it
  uint64_t keys = 0;
  uint64_t unsure = 0;  // how many bytes off it may be
};
// The parts of a tablet in the order of their routes; none if it was never written to. Waits. Not
// from one state. kInternal: the engine is another one; kFenced: the tablet was dropped;
// kUnavailable, kCorruption.
Result<std::vector<PartInfo>> PartsOf(kv::Engine& engine, kv::Tablet tablet);
// Splits the part that holds the key, whatever its size, and waits until that is done.
// kUnavailable: it cannot be divided, or is being split already.
Status SplitPart(kv::Engine& engine, kv::Tablet tablet, std::string_view key);

}  // namespace stator::kv_rados
