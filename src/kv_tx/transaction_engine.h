// An engine whose batches and reads may span tablets and units, on top of an engine whose batches
// may not.
//
// A batch on one unit goes to the inner engine unchanged. A batch on several units becomes a
// two-phase commit: prepares write intents in place of the values in all units but the primary one,
// then one batch on the primary unit decides. Any process can finish a transaction that another
// process left. kv_tx/layout.h has the stored forms; docs/adr/0012-transactions-in-the-engine.md
// says why the protocol is correct.
#pragma once

#include <memory>

#include "kv/engine.h"
#include "kv/features.h"
#include "kv_tx/options.h"

namespace stator::kv_tx {

// Keeps the contract of kv::Engine with these additions and differences. Thread-safe.
//
// Outcome. Apply never waits. The primary unit of a batch is that of its first guard, else of its
// first put, delete or add. `done` runs when the batch is decided. From then on every reader sees
// all of the batch, except that counters in other units receive their adds a little later, exactly
// once. The outcome and Batch::fate have the stamp of the keys in the primary unit. Every other key
// that the batch changes or guards shows an intermediate stamp first and a final stamp soon after.
// A key with a key_stamp_offset contains the stamp of the prepare; its value has another stamp.
//
// kGuardFailed may also mean that another transaction was in the way. A batch without guards gets
// it too, if it meets an intent in a counter. It is reported once the other transaction is out of
// the way: decided, or aborted because it was undecided for Options::patience_micros. The caller
// should read again with Tier::kAny and retry at once.
//
// kSpansUnits is never reported. The batch fails with kGuardFailed instead, and the next attempt is
// divided correctly.
//
// Order. Batches on one unit take effect in the order of the calls. A batch on several units may be
// overtaken by any batch that does not name it in `after`. Batches that name it, and barriers, wait
// until it is decided. A guard with left_by on a key outside the primary unit of the batch that
// left it waits for the operation that gives the key its final stamp; if that operation fails, the
// guard fails with kGuardFailed.
//
// Unguarded writes. A batch on one unit that writes a key without a guard ignores an undecided
// transaction on the key, as if it came before it. Writers of keys that transactions also write
// must guard them.
//
// Ranges. A range that the batch also guards or writes into is deleted key by key, at most 20,000
// keys. Any other range in another unit is deleted after the decision and before `done`. If that
// unit was divided in between and the process dies, the range may be deleted again later; use such
// ranges only for keys that are not written again. Engine keys (FF) are never deleted.
//
// Reads never wait for transactions. Of an undecided transaction they see the old values with their
// old stamps; a guard on such a stamp fails (see above). Of a committed one they see the new
// values, with stamps that a guard may name. Tiers other than kAny answer kWouldBlock when they
// meet an intent.
//
// MultiGet sees one state over all units: it repeats its reads until two agree. kUnavailable if the
// keys keep changing. Absent keys have no stamp, so if several keys are absent a third read must
// agree. MultiGet does not notice if all of them were created and deleted in between, each just
// while the others were read.
//
// Scan in Space::kLog ends before the first undecided key, in both directions. So if one record was
// committed before another was prepared, no Scan shows the second without the first.
//
// RaiseFence returns when no transaction that was prepared in the tablet under a lower fence can
// commit any more. kDroppedFence first rolls forward all transactions that were decided in the
// tablet, so that nothing refers to it.
class TransactionEngine final : public kv::Engine, public kv::FeatureKeeper {
 public:
  // `inner` must not be atomic_across_tablets or exclusive.
  explicit TransactionEngine(std::unique_ptr<kv::Engine> inner, Options options = {});
  // Runs every outstanding `done`, and rolls committed transactions forward if the inner engine
  // accepts it.
  ~TransactionEngine() override;

  // Finishes transactions that dead processes left in a tablet more than `older_than_seconds` ago.
  // Returns true if it has finished all of that age that can be finished. Blocks; called by a
  // chore.
  bool Sweep(kv::Tablet tablet, int64_t older_than_seconds = 60);

  // Returns the engine below the transactions.
  kv::Engine& inner();

  kv::Capabilities capabilities() const override;
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override;
  void GetLater(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done) override;
  void GetRecent(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done) override;
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values) override;
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit) override;
  void ReadAhead(const kv::Range& range, AheadDone done) override;
  void Apply(kv::Batch batch, kv::ApplyDone done) override;
  Result<kv::Unit> UnitOf(kv::Tablet tablet, std::string_view key, kv::Tier tier) override;
  Status RaiseFence(kv::Tablet tablet, uint64_t fence) override;
  kv::Bulletin* bulletin() override;
  Status Health() const override;
  uint64_t ApproximateBytes(kv::Tablet tablet) const override;
  // Adds kv_tx_commits, kv_tx_aborted (attempts rolled back), kv_tx_conflicts (those of them that
  // lost to another writer), kv_tx_resolved (units finished for other processes),
  // kv_tx_aborted_others, kv_tx_undecided_met and kv_tx_oldest_unfinished_seconds.
  std::map<std::string, double> Statistics() const override;
  Status Checkpoint(const std::string& directory) override;
  kv::FeatureKeeper* feature_keeper() override { return this; }
  // The inner engine's.
  Status AddFeature(std::string_view name) override;
  kv::Features RequiredFeatures() const override;

 private:
  class Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace stator::kv_tx
