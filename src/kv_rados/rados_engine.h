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
  // An operation without an answer for so long is given up and looked into, or repeated.
  int operation_timeout_seconds = 5;
  // A read, or a batch counted from Apply, that has no outcome after so long gets kUnavailable or
  // kOutcomeUnknown; at most one operation's timeout later.
  int deadline_seconds = 20;
  int connect_timeout_seconds = 10;
  // The OSDs forget a process that they have not heard of for so long; until then announcements
  // (kv::Bulletin) wait for it in vain.
  int watch_timeout_seconds = 10;
  // A part of a tablet that has grown to one of these is split in two, in the background.
  uint64_t split_bytes = 48 << 20;
  uint64_t split_keys = 50'000;
  // A batch that would make its part of a tablet larger gets kUnavailable: the part cannot be
  // divided, or grows faster than that is done. A larger one slows down the recovery of its
  // replicas: measured, 200,000 keys stall for seconds.
  uint64_t max_tablet_bytes = 128 << 20;
  // When nothing moves in a split for so long, another process that uses the part carries it on.
  int split_takeover_seconds = 3;
  // What is remembered of values that were read and written, for Tier::kGuarded.
  size_t guarded_cache_bytes = 64 << 20;
  // The greatest age of a value that GetRecent returns from that memory, by this process's clock.
  // 0: it returns none from there.
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
