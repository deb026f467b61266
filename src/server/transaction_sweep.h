// Brings in order what processes that died in the middle of a transaction have left (kv_tx), where
// no request meets it; and tells how old that is.
//
// Each process sweeps what belongs to the tables whose background work is its own (Peers::IsMine).
// It goes by real time, whatever clock the users have.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/ticker.h"
#include "kv_tx/transaction_engine.h"
#include "table/catalog_snapshot.h"

namespace stator::server {

// A tablet of the store, and what it is for.
struct NamedTablet {
  kv::Tablet tablet = {};
  std::string purpose;  // such as "items of music", for people
  uint32_t owner = 0;   // tablet of the items of the table that it belongs to; 0: of none
};
// All that the catalog names, and those that every store has.
std::vector<NamedTablet> TabletsOf(const table::CatalogSnapshot& catalog);

// Thread-safe, but for Start and Stop.
class TransactionSweep {
 public:
  struct Options {
    int64_t interval_micros = 20'000'000;
    int64_t older_than_seconds = 60;  // younger ones may still be under way
  };
  // Returns true if this process sweeps what belongs to the table with the tablet `owner`.
  using IsMine = std::function<bool(uint32_t owner)>;
  // The result of this process's last complete pass over its part of the store.
  struct View {
    uint64_t passes = 0;        // that came to their end; 0: nothing is known yet
    size_t tablets = 0;         // in its part
    uint64_t unfinished = 0;    // shares of transactions in units that were not in order yet, when
                                // they were looked at first
    double oldest_seconds = 0;  // the age of the oldest of them
  };

  // All outlive this object. `clock` is the machine's.
  TransactionSweep(kv_tx::TransactionEngine& engine, const Clock& clock, IsMine is_mine,
                   Options options);
  ~TransactionSweep() { Stop(); }

  // Begins to go through the store again and again.
  void Start();
  // Ends after the tablet under way. Idempotent.
  void Stop();
  // One pass. Waits. What cannot be read is left to the next one; the first error of that kind is
  // returned.
  Status Step();
  View view() const;
  kv_tx::TransactionEngine& engine() { return engine_; }

 private:
  Status StepOn(const NamedTablet& tablet, View* seen);

  kv_tx::TransactionEngine& engine_;
  const Clock& clock_;
  const IsMine is_mine_;
  const Options options_;
  std::unique_ptr<Ticker> ticker_;
  std::atomic<bool> stopping_ = false;
  bool failing_ = false;  // and that has been logged; of the ticker's thread
  mutable Mutex mutex_;
  View view_ GUARDED_BY(mutex_);
};

}  // namespace stator::server
