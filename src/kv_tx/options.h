// Settings of a transaction engine.
#pragma once

#include <cstdint>

#include "base/clock.h"
#include "base/random.h"

namespace stator::kv_tx {

class Scheduler;

struct Options {
  // A clock of real time that is about equal in all processes, never one that a user moves. Null:
  // the system's clock. Must outlive the engine.
  const Clock* clock = nullptr;
  // The seed of the random source; 0: a seed from the operating system.
  uint64_t seed = 0;
  // The number of threads for batches that span units: these threads read, and wait for other
  // transactions.
  int threads = 8;
  // Replaces the threads. Must outlive the engine.
  Scheduler* scheduler = nullptr;
  // How long a transaction of another process may stay undecided after this process first met it,
  // before this process aborts it.
  int64_t patience_micros = 1'000'000;
  // How long a batch is retried when other writers are in its way, and how old it may be when it
  // commits.
  int64_t give_up_micros = 10'000'000;
  // How long the outcome of a commit is looked for before kOutcomeUnknown is reported.
  int64_t find_out_micros = 10'000'000;
  // How long the clean-up after a commit may be held back to share operations with later batches. A
  // reader that meets an intent meanwhile has to read the record.
  int64_t clean_up_micros = 50'000;
  // How long the record of a transaction that another process aborted is kept. Must be longer than
  // any process may stand still.
  int64_t keep_aborted_micros = int64_t{24} * 3600 * 1'000'000;
};

}  // namespace stator::kv_tx
