// An engine whose batches and reads may span tablets and units, on one whose batches may not.
//
// A batch on one unit goes to the inner engine as it is. One that names several units becomes a
// two-phase commit: intents in place of the values of all units but the first (primary) one, then
// one batch on the primary unit, which decides. Any process finishes what another one left. What
// stands in the store meanwhile: kv_tx/layout.h; why it is right:
// docs/adr/0012-transactions-in-the-engine.md.
#pragma once

#include <memory>

#include "kv/engine.h"
#include "kv_tx/options.h"

namespace stator::kv_tx {

// Thread-safe. What is promised beyond kv::Engine, or differently:
//
// Apply never waits. The primary unit is that of the first guard, else of the first put, delete,
// add. `done` runs when the batch
//   is decided; from then on every reader sees all of it, except that counters in other units get
//   what is added a little later (exactly once). The outcome's stamp, and Batch::fate's, is that of
//   the keys in the primary unit. Other keys show an intermediate stamp first and a final one soon
//   after, also if they were only guarded. A key that gets a stamp in it has that of the prepare,
//   and its value another one.
// kGuardFailed may also say that another transaction is in the way, for batches without guards as
// well where they meet one in a
//   counter. It is reported when that one is out of the way: after its decision, or when it was
//   aborted because it was undecided for Options::patience_micros. So whoever gets it reads again
//   with Tier::kAny and tries again, at once.
// kSpansUnits is never reported: kGuardFailed is, and the next attempt knows. Order: batches on one
// unit take effect in the order of the calls. One that names several may be overtaken by all that
// do not name
//   it in `after`; those that do wait until it is decided; so do barriers. With Guard::left_by on a
//   key outside its primary unit they come behind the operation that brings the key its last stamp;
//   if that fails they are refused with kGuardFailed.
// Batches on one unit that write a key without a guard on it take no notice of an undecided
// transaction there: as if they came
//   before it. Whoever writes keys that transactions write too guards them.
// Ranges: a range that the batch also guards or writes into is deleted key by key, at most 20,000.
// Any other one in another unit
//   is deleted after the decision and before `done`; if that unit was divided in between and the
//   process dies, it may be deleted once more later: only for keys that are not written again.
//   Engines' keys (FF) are never deleted.
//
// Reads never wait for transactions: of an undecided one they see the old values with their old
// stamps, and a guard with such a
//   stamp is refused (see above). Of a committed one they see the new values, with stamps that a
//   guard may name. Tiers other than kAny answer kWouldBlock where they meet an intent.
// MultiGet sees one state over all units: it reads until two reads agree. kUnavailable when the
// keys change all the time. Keys that
//   are absent leave no stamp: where several are, a third read has to agree. That they were all
//   created and deleted again in between, each time just while others were read, is not noticed.
// Scan in Space::kLog ends before the first undecided key, in both directions: of two records, one
// of which was committed before
//   the other was prepared, the second is never seen without the first.
//
// RaiseFence returns when no transaction that was prepared in the tablet under a lower fence can be
// committed any more. With
//   kDroppedFence it first rolls forward everything that was decided in the tablet, so that nothing
//   refers to it.
class TransactionEngine final : public kv::Engine {
 public:
  // `inner`: not atomic_across_tablets, not exclusive.
  explicit TransactionEngine(std::unique_ptr<kv::Engine> inner, Options options = {});
  // Runs every outstanding `done`. What is committed is rolled forward, if the inner engine lets
  // it.
  ~TransactionEngine() override;

  // Brings in order what processes that died left in a tablet longer ago than `older_than_seconds`.
  // Waits; for chores. True if nothing of that age is left that could be settled.
  bool Sweep(kv::Tablet tablet, int64_t older_than_seconds = 60);

  // What stands below the transactions.
  kv::Engine& inner();

  kv::Capabilities capabilities() const override;
  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier,
                   std::string* value) override;
  void GetLater(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done) override;
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
  // Adds kv_tx_commits, kv_tx_aborted (attempts taken back) and kv_tx_conflicts (of these, because
  // of others), kv_tx_resolved (units brought in order for others), kv_tx_aborted_others,
  // kv_tx_undecided_met and kv_tx_oldest_unfinished_seconds.
  std::map<std::string, double> Statistics() const override;
  Status Checkpoint(const std::string& directory) override;

 private:
  class Parts;
  const std::unique_ptr<Parts> parts_;
};

}  // namespace stator::kv_tx
