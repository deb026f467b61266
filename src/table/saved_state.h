// The state of the tables and streams of one account at a moment, and the way back there.
//
// Nothing is copied: the engine keeps what later writes replace, or the way to it (kv/rewind.h),
// and this keeps the versions of the definitions. So the way back costs what was changed, and none
// of it outlives the process. On disk it is one write: after kill -9 all of it is done or nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "kv/rewind.h"
#include "table/store.h"

namespace stator::table {

// Thread-safe. Must be destroyed before its store.
class SavedState {
 public:
  // Bounds the bytes that saved states keep together.
  using Budget = kv::RewindBudget;
  // The bytes of a return on disk.
  static constexpr size_t kMostWritten = kv::RewindPoint::kMostWritten;
  struct Options {
    std::string account;  // empty: the default
    // Returns the account of a token of the ledger.
    std::function<std::string_view(std::string_view token)> account_of_token;
    std::shared_ptr<Budget> budget;
    int64_t most_wait_micros = 10'000'000;  // for writes under way
  };

  // Remembers the account's state of now, between two writes. kValidation if the store's engine
  // cannot take writes back; kResourceInUse if a table is being restored or deleted, or an index
  // built or removed. Blocks.
  static Result<std::unique_ptr<SavedState>> Take(Store& store, Options options);

  struct Returned {
    size_t tables = 0;       // of the account, now
    size_t definitions = 0;  // of tables: those that had changed, gone or come
    size_t keys = 0;         // that went back: items, entries, records and counters
  };
  // Gives the account that state again: the tables with their ids, definitions, items, indexes,
  // counts and streams, and the tokens that were used. Writes under way end first, and those that
  // come wait for the end, up to which readers see the state before. Can be called again and again;
  // in between other states may be returned to. kUnavailable if too much was written since
  // (given_up()), and as an overload if writes do not end; then nothing has changed. Blocks.
  Result<Returned> Return();

  size_t tables() const { return tables_.size(); }
  // Returns the bytes that are kept for it.
  size_t bytes() const { return point_->bytes(); }
  // There is no way back any more.
  bool given_up() const { return point_->given_up(); }

 private:
  class Way;
  SavedState(Store& store, Options options) : store_(store), options_(std::move(options)) {}

  Store& store_;
  const Options options_;
  // By the catalog's latch.
  std::vector<TablePtr> tables_;  // the versions of the moment, or their like that are shown now
  std::vector<stream::StreamPtr> streams_;
  std::unique_ptr<kv::RewindPoint> point_;
};

}  // namespace stator::table
