// Reads that see through intents. They never wait for a transaction: of an undecided one they see
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

// Thread-safe. For the contract see transaction_engine.h.
class Reader {
 public:
  Reader(Core& core, Resolver& resolver) : core_(core), resolver_(resolver) {}

  Result<bool> Get(kv::Tablet tablet, std::string_view key, kv::Tier tier, std::string* value);
  void GetLater(kv::Tablet tablet, std::string_view key, kv::Engine::GetDone done);
  Status MultiGet(std::span<const kv::Point> points, kv::Tier tier,
                  std::vector<std::optional<std::string>>* values);
  Status Scan(const kv::Range& range, kv::Tier tier,
              FunctionRef<bool(std::string_view key, std::string_view value)> visit);
  void ReadAhead(const kv::Range& range, kv::Engine::AheadDone done);

 private:
  using Values = std::vector<std::optional<std::string>>;
  using Decisions = std::map<TransactionId, Decision>;
  // What a key has, as a reader sees it.
  struct Seen {
    std::optional<std::string> value;
    bool undecided = false;
  };

  // Replaces a cell that holds an intent, which was read before, by what is to be seen. `decisions`
  // holds what was found out during this read.
  Result<Seen> See(kv::Tablet tablet, std::string_view key, std::string cell, Decisions* decisions);
  // Sees to it that the intent goes away soon.
  void Kick(kv::Tablet tablet, const Intent& intent, Decision decision);
  struct UnitRead;
  Status ReadCells(std::span<const kv::Point> points, Values* cells, bool* one_unit);
  Status Snapshot(std::span<const kv::Point> points, Values* values);
  Status ScanForward(kv::Range range, kv::Tier tier,
                     FunctionRef<bool(std::string_view, std::string_view)> visit);
  Status ScanLogBack(kv::Range range, FunctionRef<bool(std::string_view, std::string_view)> visit);
  // The first key of an undecided transaction in the range; nothing if there is none.
  Result<std::optional<std::string>> FirstUndecided(const kv::Range& range);

  Core& core_;
  Resolver& resolver_;
};

}  // namespace stator::kv_tx
