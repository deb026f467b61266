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

// The change of one key outside the primary unit.
struct Change {
  std::string key;
  int stamp_offset = -1;  // where the stamp of the prepare is written in the key
  Intent::New kind = Intent::New::kKeep;
  std::string fresh;  // for kPut: the new value, with room for a stamp
  // For a put that replaces an add: the number to add to the old count, or to 0 if `emptied`.
  std::optional<int64_t> delta;
  bool emptied = false;
  std::optional<kv::Guard> guard;  // the condition of the batch on this key
  std::optional<std::string> old;  // the value that the transaction read, with its stamp
  // The cell that the prepare expects: that value, or a decided intent, by its stamp. If this
  // process is just rolling the intent forward, cell_left_by is that operation and the prepare is
  // queued behind it.
  uint64_t cell_stamp = 0;
  kv::FatePtr cell_left_by;
  kv::FatePtr rolling;  // the roll-forward operation, if any
};

// The part of a batch in one unit other than the primary one. Several participants may share a
// unit.
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
  kv::Batch commit;   // the batch on the primary unit, without `after` and `fate`
  std::vector<Participant> participants;
};

// Divides a batch. Each key in a range that the batch also writes into becomes a delete of its own.
// Does not read old values. With `apart`, the commit contains no ranges. Errors: kUnavailable if
// the ranges have too many keys; kWouldBlock, with Tier::kMemory, if the answer must be read.
Result<Plan> Divide(Core& core, const kv::Batch& batch, bool apart, kv::Tier tier);

// An undecided transaction of another writer that is in the way.
struct BlockingTransaction {
  TransactionRef transaction;
  Participation share;
};

// Reads the old values of all changes and checks the guards, with the tier of Divide. With `guess`,
// a key that only the store knows is assumed to be absent if the batch does not guard it as
// present; the prepare checks the assumption. Returns nullopt if the plan is ready to prepare, else
// the transaction in the way. kGuardFailed if a guard does not hold.
Result<std::optional<BlockingTransaction>> ReadOld(Core& core, Resolver& resolver, bool guess,
                                                   kv::Tier tier, Plan* plan);

}  // namespace stator::kv_tx
