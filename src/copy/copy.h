// Copies tables from one store to another: their items, and of their definitions everything but
// what belongs to a store (tablets) or to a stream (its records). Indexes are made anew by the
// writes. A table keeps its TableId, by which its copy is known.
//
// A copy that ended anywhere, or was killed, goes on where it was when it is begun again; one that
// is done is not done again. Nobody may write to either table meanwhile: what is in both in the end
// is compared, and a difference is an error.
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
  std::vector<std::string> tables;  // empty: all that there are in the source
  size_t batch_items = 32;          // of one write
  size_t batch_bytes = 1 << 20;
  size_t in_flight = 64;      // writes
  size_t mark_items = 5'000;  // after so many items the marker is brought up to date
  int attempts = 20;          // of one write that fails for a while
  // Hears of the table under way after each step that a later run would not repeat: how many items
  // this run has read. Its error ends the copy.
  std::function<Status(const std::string& table, int64_t items)> progress;
};

struct Copied {
  std::string table;
  enum class How {
    kCopied,
    kResumed,
    kEarlier
  } how = How::kCopied;  // kEarlier: by an earlier run, to its end
  Digest source;
  Digest target;            // the same
  bool has_stream = false;  // it is enabled in the target, and empty
};

// Copies one after the other, and says of each what came of it. The first error ends it:
// kResourceNotFound (no such table in the source), kResourceInUse (the target has a table of that
// name that is no copy, or the source's is being deleted), kInternal (source and target differ),
// and what the engines say.
Status CopyTables(table::Store& from, table::Store& to, const Options& options,
                  const std::function<void(const Copied&)>& done);

}  // namespace stator::copy
