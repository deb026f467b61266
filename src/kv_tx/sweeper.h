// Goes through the notes and records of a tablet, to finish transactions of dead processes and
// those that must not outlive a raised fence.
#pragma once

#include <memory>

#include "kv_tx/core.h"
#include "kv_tx/layout.h"
#include "kv_tx/resolver.h"

namespace stator::kv_tx {

// Thread-safe. All methods block.
class Sweeper {
 public:
  Sweeper(Core& core, Resolver& resolver) : core_(core), resolver_(resolver) {}

  // Settles notes older than `older_than_micros`, and removes records that their processes have not
  // removed. OK if nothing of that age is left, except records that must be kept.
  Status Sweep(kv::Tablet tablet, int64_t older_than_micros);
  // Settles all notes that exist when it begins. Afterwards every transaction that was prepared in
  // the tablet before is decided.
  Status SettleNotes(kv::Tablet tablet);
  // Rolls forward all transactions that were committed in the tablet. Keeps their records.
  Status RollForward(kv::Tablet tablet);

 private:
  struct Waiting;
  using Visit = FunctionRef<Status(const std::string& key, const std::string& value)>;

  Status ForEach(kv::Tablet tablet, char kind, Visit visit);
  Status Notes(kv::Tablet tablet, int64_t written_before);
  Status RollShares(const TransactionRef& transaction, const Record& record);
  Status Await(const std::shared_ptr<Waiting>& waiting);

  Core& core_;
  Resolver& resolver_;
};

}  // namespace stator::kv_tx
