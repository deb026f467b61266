// Settings of a transaction engine.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace stator::kv_tx {

class Scheduler;

struct Options {
  // Real time, which is about the same in all processes: never one that users drive. Null: the
  // system's. Outlives the engine.
  const Clock* clock = nullptr;
  // Of the system, unless it is 0.
  uint64_t seed = 0;
  // Threads that read, and wait for others, for batches that span units.
  int threads = 8;
  // Instead of threads. Outlives the engine.
  Scheduler* scheduler = nullptr;
  // How long somebody else's transaction may be undecided, since this process met it, before it is
  // aborted.
  int64_t patience_micros = 1'000'000;
  // How long a batch is tried again when others are in its way, and how old it may be when it
  // commits.
  int64_t give_up_micros = 10'000'000;
  // How long the outcome of a commit is looked for before it is reported to be unknown.
  int64_t find_out_micros = 10'000'000;
  // How long a transaction may leave behind what it needs no more, so that that goes with
  // operations of others. Who meets it meanwhile has a record to read.
  int64_t clean_up_micros = 50'000;
  // How long it stays on record that somebody else's transaction was aborted. It must be longer
  // than any process may stand still.
  int64_t keep_aborted_micros = int64_t{24} * 3600 * 1'000'000;
};

}  // namespace stator::kv_tx
