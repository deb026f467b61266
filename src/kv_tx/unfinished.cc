#include "kv_tx/unfinished.h"

#include <algorithm>

#include "kv_tx/layout.h"

namespace stator::kv_tx {
namespace {

Status Count(kv::Tablet tablet, std::string_view key, std::string_view value, Unfinished* counted) {
  if (key < EndOfKind(kNoteKind)) {
    ASSIGN_OR_RETURN(const Note note, DecodeNote(tablet, value));
    const int64_t oldest = counted->units == 0 ? note.time_micros : counted->oldest_micros;
    counted->oldest_micros = std::min(oldest, note.time_micros);
    ++counted->units;
  } else if (key >= FirstOfKind(kRecordKind)) {
    ASSIGN_OR_RETURN(const Record record, DecodeRecord(value));
    ++(record.state == Decision::kCommitted ? counted->committed : counted->aborted);
  }
  return OkStatus();
}

}  // namespace

Result<Unfinished> CountUnfinished(kv::Engine& inner, kv::Tablet tablet) {
  static_assert(kNoteKind < kRecordKind);
  Unfinished counted;
  Status bad;
  const std::string begin = FirstOfKind(kNoteKind), end = EndOfKind(kRecordKind);
  const Status read = inner.Scan({tablet, begin, end}, kv::Tier::kAny,
                                 [&](std::string_view key, std::string_view value) {
                                   bad = Count(tablet, key, value, &counted);
                                   return bad.ok();
                                 });
  // A dropped tablet has nothing left.
  if (!read.ok() && read.error().code() != ErrorCode::kFenced) return read.error();
  TRY(std::move(bad));
  return counted;
}

}  // namespace stator::kv_tx
