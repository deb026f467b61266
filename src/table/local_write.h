// A write to a store that no other process writes. Internal to the room.
#pragma once

#include "table/write_operation.h"

namespace stator::table {

// The write enters the gates of its tables after it has the latches and before it reads, and leaves
// them when the batch is durable. So a table is altered or dropped only while no write to it is
// under way. The items that it reads cannot change as long as it holds the latches.
class LocalWrite final : public WriteOperation {
 public:
  LocalWrite(Store& store, WriteCall call) : WriteOperation(store, std::move(call)) {}

 private:
  void GoOnLatched() override;
  void LeaveGates() override;

  void PassGates();
  // The version that replaced the target's when indexes came or went. False if the table is gone.
  bool TakeCurrentVersion(WriteTarget* target);
  void ReadAndDecide(kv::Tier tier);
  // Reads on a worker, or here if all of them are busy: this is no reason to fail a write that
  // holds latches.
  void ReadFromAnywhere();
  // Goes on where it was when it would have blocked.
  Status Read(kv::Tier tier) override;
  Status ReadToken(kv::Tier tier);

  size_t entered_ = 0;  // targets whose tables' gates are passed
  bool token_read_ = false;
  size_t read_ = 0;  // images read
};

}  // namespace stator::table
