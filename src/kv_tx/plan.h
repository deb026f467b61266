// How a batch is divided among the units that it names.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "kv_tx/core.h"
#include "kv_tx/layout.h"
#include "kv_tx/resolver.h"

namespace stator::kv_tx {

// What becomes of one key outside the primary unit.
struct Change {
  std::string key;
  int stamp_offset = -1;  // where the prepare's stamp comes to stand in the key
  Intent::New kind = Intent::New::kKeep;
  std::string fresh;  // of a put: the value, with room for a stamp
  std::optional<int64_t>
      delta;  // of a put: what is added to the old count for it, or to 0 if the key is `emptied`
  bool emptied = false;
  std::optional<kv::Guard> guard;  // what the batch expects
  std::optional<std::string> old;  // the value that the transaction finds, with its stamp
  // What stands there when it prepares: that value or a decided intent, by its stamp. Or, where an
  // intent of this process is just being rolled forward, what that operation leaves: the prepare
  // goes behind it.
  uint64_t cell_stamp = 0;
  kv::FatePtr cell_left_by;
  kv::FatePtr rolling;  // that operation
};

// The part of a unit other than the primary one. (It may be the same unit.)
struct Participant {
  kv::Unit unit;
  std::string route;  // a key of the unit
  std::vector<Change> changes;
  std::vector<kv::Add> adds;
  std::vector<kv::DeleteRange> ranges;
  std::vector<kv::Fence> fences;
};

struct Plan {
  kv::Tablet primary;
  std::string route;  // a key of the primary unit
  kv::Batch commit;   // the primary unit's part; without `after` and `fate`
  std::vector<Participant> participants;
};

// Divides a batch. Keys named by ranges that the batch also writes into become deletes of their
// own. The old values are not read yet. With `apart` no range is left to the commit. kUnavailable:
// too many keys. kWouldBlock, with Tier::kMemory (else kAny): it would have to wait.
Result<Plan> Divide(Core& core, const kv::Batch& batch, bool apart, kv::Tier tier);

// Somebody's transaction that is not decided yet.
struct Met {
  TransactionRef transaction;
  Share share;
};

// Reads the old values of all changes, checks guards; the tier as of Divide. With `guess`, a value
// that only the disk knows is taken for absent where the batch does not guard it: prepare finds
// out. Nothing: ready to prepare. kGuardFailed: a guard does not hold.
Result<std::optional<Met>> ReadOld(Core& core, Resolver& resolver, bool guess, kv::Tier tier,
                                   Plan* plan);

}  // namespace stator::kv_tx
