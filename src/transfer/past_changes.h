// The changes of a table in a window of time, one for each item.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "table/store.h"

namespace stator::transfer {

struct PastChange {
  std::string_view key;     // table/key_encoding.h
  std::string_view before;  // the item at the begin of the window; empty: there was none
  std::string_view after;   // the item at its end; empty: there was none
  int64_t last_micros = 0;  // of the last change in the window
};

// Visits each item that has changed after `from_micros` and not after `to_micros`, in the order of
// the keys, unless it was not there at both ends. Reads follow the changes of the window's
// days. Nothing is pinned: the table takes writes meanwhile. All changes up to the end must be
// durable, and the begin in the log (ChangeLog::EarliestAt). An error of `visit` ends it and is
// returned; else errors of the engine, and kCorruption. Blocks.
Status ReadPastChanges(table::Store& store, const table::Table& table, int64_t from_micros,
                       int64_t to_micros, FunctionRef<Status(const PastChange&)> visit);

}  // namespace stator::transfer
