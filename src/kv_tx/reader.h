// Reads that resolve intents. They never wait for a transaction: for an undecided one they return
// the old values.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kv_tx/core.h"
#include "kv_tx/layout.h"
#include "kv_tx/resolver.h"

namespace stator::kv_tx {

// Implements the reads of TransactionEngine; the contract is in transaction_engine.h. Thread-safe.
class Reader {
 public:
  Reader(Core& core, Resolver& resolver) : core_(core), resolver_(resolver) {}

  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier, std::string* value);
  void GetLater(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done);
  void GetRecent(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done);
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values);
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit);
  void ReadAhead(const kv::Range& range, kv::Engine::AheadDone done);

 private:
  using Values = std::vector<std::optional<std::string>>;
  using Decisions = std::map<TransactionId, Decision>;
  // The content of a key as a reader sees it.
  struct Seen {
    std::optional<std::string> value;
    bool undecided = false;
  };

  // Resolves a cell that holds an intent. `decisions` caches the decisions found during one read.
  Result<Seen> See(kv::Tablet tablet, std::string_view key, std::string cell, Decisions* decisions);
  // Schedules the removal of an intent, unless this process is carrying the transaction on.
  void ScheduleCleanup(kv::Tablet tablet, const Intent& intent, Decision decision);
  struct UnitRead;
  Status ReadCells(std::span<const kv::Point> points, Values* cells, bool* one_unit);
  Status Snapshot(std::span<const kv::Point> points, Values* values);
  Status ScanForward(kv::Range range, kv::Tier tier,
                     FunctionRef<bool(std::string_view, std::string_view)> visit);
  Status ScanLogBack(kv::Range range, FunctionRef<bool(std::string_view, std::string_view)> visit);
  // Returns the first key of an undecided transaction in the range, or nullopt.
  Result<std::optional<std::string>> FirstUndecided(const kv::Range& range);

  Core& core_;
  Resolver& resolver_;
};

}  // namespace stator::kv_tx
