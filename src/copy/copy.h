// Copies tables from one store to another: all items, and the definitions except for what belongs
// to a store (tablet ids) or to a stream (its records). The writes build the indexes again. A copy
// keeps the TableId of its source and is recognized by it.
//
// A copy that ended or was killed at any point continues when it is started again. A finished copy
// is not repeated. No client may write to either table during the copy: at the end both sides are
// compared, and a difference is an error.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "copy/digest.h"
#include "table/store.h"

namespace stator::copy {

struct Options {
  std::vector<std::string> tables;  // empty: all tables of the source
  size_t batch_items = 32;          // in one write
  size_t batch_bytes = 1 << 20;
  size_t in_flight = 64;      // the number of writes under way
  size_t mark_items = 5'000;  // the number of items between two updates of the marker
  int attempts = 20;          // for one write that fails temporarily
  // Called after each step that a later run need not repeat, with the current table and the number
  // of items that this run has read from it. If it returns an error, the copy ends.
  std::function<Status(const std::string& table, int64_t items)> progress;
};

struct Copied {
  std::string table;
  enum class How {
    kCopied,
    kResumed,
    kEarlier
  } how = How::kCopied;  // kEarlier: an earlier run finished the copy
  Digest source;
  Digest target;            // equal to `source`
  bool has_stream = false;  // the stream is enabled in the target, and empty
};

// Copies the tables one after the other and calls `done` for each. Stops at the first error:
// kResourceNotFound if the source has no such table; kResourceInUse if the target has a table of
// that name that is not a copy, or the source's table is being deleted; kInternal if source and
// target differ; or an error of the engines. Blocks.
Status CopyTables(table::Store& from, table::Store& to, const Options& options,
                  const std::function<void(const Copied&)>& done);

}  // namespace stator::copy
