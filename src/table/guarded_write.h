// A write to a store that other processes write too. Internal to the room.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "table/write_operation.h"

namespace stator::table {

// Its latches order the writes of this process only. Guards protect what its body saw: the stamps
// of what was read, and the batches that will leave what is pending. What it read may be what this
// process remembers (Tier::kGuarded), since the guards find out; only an answer that changes
// nothing is looked at again. A refused write, and what was computed from it, starts over with what
// is there now. Fences stand in for the gates of LocalWrite.
class GuardedWrite final : public WriteOperation {
 public:
  GuardedWrite(Store& store, WriteCall call)
      : WriteOperation(store, std::move(call)), started_(store.clock().TicksMicros()) {}

 private:
  void GoOnLatched() override;
  bool WaitedForLong() const override;
  bool GoesOnWithoutBatch(Error* error) override;
  Doubt DoubtOfAnswer() const override;
  void ReadAgain() override;
  void Protect(bool writes, kv::Batch* batch) override;
  uint64_t PlaceOf(uint64_t stamp) const override;
  void Refused(const Error& error) override;
  void EndApplied() override;

  // --- Reading ---

  void ReadAndDecide(kv::Tier tier);
  // Reads the present image, from wherever it is.
  void ReadPresent();
  // Whether no thread has to wait for what is to be read, and it is not asked for in one operation:
  // several items of one tablet are.
  bool CanReadLater() const;
  // All items at once.
  Status ReadLater();
  void CameLater();
  void TakeLaterAndDecide();
  // Waits for a worker, however many others do.
  void ReadOnWorker();
  Status Read(kv::Tier tier) override;
  Status ReadItems(kv::Tier tier);
  Status ReadToken(bool guess);
  // `value`: null if there is no item.
  Status TakeValue(size_t target, const std::string* value);

  // --- Starting over ---

  // A read has failed.
  void GoOnWithout(Error error);
  // Nothing was applied and no latch is held.
  void StartOver();
  void RunAgain(bool fenced);
  std::chrono::microseconds Pause(bool fenced) const;
  // After a refusal by a fence: takes the versions that there are now.
  Status FollowCatalog();
  // Whether one of them is behind another fence than before. kResourceNotFound.
  Result<bool> TakeCurrentVersions();
  // Abandons the write if the store stops, or the write has waited for too long. Returns true if it
  // has done so.
  bool GivesUp();
  Error Conflict() const;

  const int64_t started_;  // Clock::TicksMicros
  bool rereads_ = false;   // what this process remembers has turned out to be wrong, or may
  using Later = std::pair<size_t, std::optional<Result<std::optional<std::string>>>>;
  std::vector<Later> later_;  // items that are being read, and what came
  std::atomic<size_t> later_left_ = 0;
  bool fresh_ = false;     // what was read is no older than the read,
  bool one_state_ = true;  // and all of one moment
  bool again_ = false;     // the batch was refused, and the write starts over
  bool fenced_ = false;    // by a fence
  int runs_ = 0;
  std::optional<int64_t> stuck_since_;  // since when the catalog does not follow a fence
  std::vector<kv::Guard> token_guards_;
  std::vector<kv::FatePtr> saw_;  // what the batch was computed from
};

}  // namespace stator::table
