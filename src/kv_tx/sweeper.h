// Goes through the notes and records in a tablet: leftovers of processes that died, and what must
// not stay when a fence rises.
#pragma once

#include <memory>

#include "kv_tx/core.h"
#include "kv_tx/layout.h"
#include "kv_tx/resolver.h"

namespace stator::kv_tx {

// Thread-safe. Its methods wait.
class Sweeper {
 public:
  Sweeper(Core& core, Resolver& resolver) : core_(core), resolver_(resolver) {}

  // Settles what is older: notes, and records whose processes have not removed them. OK if nothing
  // of them is left, or has to stay.
  Status Sweep(kv::Tablet tablet, int64_t older_than_micros);
  // Settles all notes that are there when it begins: what was prepared in the tablet before is
  // decided then.
  Status SettleNotes(kv::Tablet tablet);
  // Rolls forward whatever was committed in the tablet, and leaves the records.
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
