// The kv contract on objects of a Ceph pool: many processes, one store. docs/adr/0011-rados.md says why it is as it is.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/result.h"
#include "kv/engine.h"

namespace stator::kv_rados {

struct RadosOptions {
  std::string ceph_conf;       // the cluster's ceph.conf, which names its monitors and the keyring
  std::string pool;            // replicated; it must exist
  std::string user = "admin";  // without "client."; needs the caps mon 'allow r' and osd 'allow rwx pool=POOL'
  std::string name_space;      // of the pool; one pool may hold a store in each
  // An operation without an answer for so long is given up and looked into, or repeated.
  int operation_timeout_seconds = 5;
  // A read, or a batch counted from Apply, that has no outcome after so long gets kUnavailable or kOutcomeUnknown; at most one
  // operation's timeout later.
  int deadline_seconds = 20;
  int connect_timeout_seconds = 10;
  // The OSDs forget a process that they have not heard of for so long; until then announcements (kv::Bulletin) wait for it in vain.
  int watch_timeout_seconds = 10;
  // A batch that would make its tablet larger gets kUnavailable. A larger one slows down the recovery of its replicas: measured,
  // 200,000 keys stall for seconds.
  uint64_t max_tablet_bytes = 64 << 20;
  const Clock* clock = nullptr;  // not owned; null: the system's

  // For tests: called on a thread of librados with what a write to a tablet gave (0 or -errno); what it returns is believed.
  std::function<int(int result)> write_result;
};

// Opens the store, or creates it in a pool (or namespace) that holds none. The engine is durable as the pool is, blocking,
// neither exclusive nor atomic_across_tablets. It has one thread of its own beside those of librados.
// kUnavailable, with a sentence for people: no such file, cluster, pool or user; missing caps; an erasure-coded pool; a store of
// a newer format. kCorruption: the store object is none.
Result<std::unique_ptr<kv::Engine>> OpenRados(const RadosOptions& options);

}  // namespace stator::kv_rados
