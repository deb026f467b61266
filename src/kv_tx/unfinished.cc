#include "kv_tx/unfinished.h"

#include <algorithm>

#include "kv_tx/layout.h"

namespace stator::kv_tx {

Result<Unfinished> CountUnfinished(kv::Engine& inner, kv::Tablet tablet) {
  Unfinished unfinished;
  Status bad;
  const auto scan = [&](char kind, FunctionRef<Status(std::string_view value)> take) -> Status {
    const std::string begin = FirstOfKind(kind), end = EndOfKind(kind);
    const Status read = inner.Scan({tablet, begin, end}, kv::Tier::kAny, [&](std::string_view, std::string_view value) {
      bad = take(value);
      return bad.ok();
    });
    // A tablet that was dropped has nothing left.
    if (!read.ok() && read.error().code() != ErrorCode::kFenced) return read;
    return std::move(bad);
  };
  TRY(scan(kNoteKind, [&](std::string_view value) -> Status {
    ASSIGN_OR_RETURN(const Note note, DecodeNote(tablet, value));
    ++unfinished.units;
    unfinished.oldest_micros =
        unfinished.oldest_micros == 0 ? note.time_micros : std::min(unfinished.oldest_micros, note.time_micros);
    return OkStatus();
  }));
  TRY(scan(kRecordKind, [&](std::string_view value) -> Status {
    ASSIGN_OR_RETURN(const Record record, DecodeRecord(value));
    ++(record.state == Decision::kCommitted ? unfinished.committed : unfinished.aborted);
    return OkStatus();
  }));
  return unfinished;
}

}  // namespace stator::kv_tx
