// A store that several processes serve, for people who look after it: GET /_stator/cluster, and
// `stator cluster status`, which needs no server.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "base/result.h"
#include "fleet/fleet.h"
#include "kv/engine.h"
#include "kv_tx/transaction_engine.h"
#include "kv_tx/unfinished.h"
#include "server/transaction_sweep.h"

namespace stator::server {

struct ClusterReport {
  struct Process {
    fleet::Member member;
    int leases = 0;  // that it holds
  };
  struct Tablet {
    NamedTablet named;
    size_t parts = 0;    // 0: never written to
    uint64_t bytes = 0;  // this and the next as the engine keeps count while it writes
    uint64_t keys = 0;
    uint64_t unsure = 0;  // how many bytes off that may be
    kv_tx::Unfinished unfinished;
    std::string error;  // why nothing of this is known; else empty
  };
  int64_t at_micros = 0;  // since the epoch, by the clock of who made the report
  std::vector<Process> processes;
  std::map<std::string, std::string> leases;    // owner by name
  std::map<std::string, std::string> settings;  // what management calls have set for all
  std::vector<Tablet> tablets;

  // The units of transactions that are not finished, of all tablets; and the age of the oldest, 0
  // if there is none.
  uint64_t unfinished() const;
  double oldest_seconds() const;
};

// Returns what `membership` and the engine know. Waits for every part of every tablet. An error if
// the catalog cannot be read; what else cannot be stands in the report.
Result<ClusterReport> MakeClusterReport(kv_tx::TransactionEngine& engine,
                                        const fleet::Membership& membership, int64_t now_micros);

// {"at":"...","processes":[...],"leases":{...},"settings":{...},"tablets":[...],"unfinished":0,
//  "oldestUnfinishedSeconds":0}
std::string RenderJson(const ClusterReport& report);
// Tables in columns, for a terminal.
std::string RenderText(const ClusterReport& report);

// Reads the processes of the store, and waits until all of them have written another beat, which
// takes about a second, but at most `most_micros`. Those without a new beat are dead.
Result<fleet::Membership> WatchMembership(kv::Engine& engine, const Clock& clock,
                                          int64_t most_micros = fleet::Members::kSilenceMicros);

}  // namespace stator::server
