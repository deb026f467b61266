// A whole table as it was at a moment.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"
#include "kv/pin.h"
#include "table/store.h"

namespace stator::transfer {

// The items of a table and its change log, pinned: the items with all changes after the moment
// undone. Not thread-safe. The pins cost the engine, so the object should not live long; it must
// be destroyed before the engine. The table may be dropped meanwhile.
class PastTable {
 public:
  // Pins a table that has a change log. All changes up to the moment must be durable
  // (Store::WhileQuiet), and the moment in the log (ChangeLog::EarliestAt). Never waits. Errors as
  // of Pinner::Pin; kUnavailable if the engine is no kv::Pinner.
  static Result<std::unique_ptr<PastTable>> Pin(table::Store& store, const table::Table& table,
                                                int64_t moment_micros);
  ~PastTable();

  // Visits the items in the order of their keys. May be called once. An error of `visit` ends the
  // reading and is returned; other errors are those of PinnedRange::Next, and kCorruption. Uses at
  // most about 20 MB of memory. Blocks.
  using Visit = FunctionRef<Status(std::string_view key, std::string_view item)>;
  Status Read(Visit visit);

 private:
  class Items;
  class Day;
  PastTable();

  std::unique_ptr<Items> items_;
  std::vector<std::unique_ptr<Day>> days_;
};

}  // namespace stator::transfer
