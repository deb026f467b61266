#include "kv_rados/part_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <set>

#include "kv_rados/routing.h"
#include "kv_rados/split_point.h"

namespace stator::kv_rados {
namespace {

using State = PartHeader::State;

constexpr int kMaxRounds = 12;

int64_t Difference(uint64_t a, uint64_t b) { return static_cast<int64_t>(a - b); }
uint64_t Plus(uint64_t a, int64_t delta) {
  return delta < 0 && a < static_cast<uint64_t>(-delta) ? 0 : a + static_cast<uint64_t>(delta);
}

}  // namespace

// Returns kUnavailable if the store is closing. But while writers wait for the child to open, the
// split goes on.
Status PartSplit::Stopped() const {
  const bool awaited = header_->header.state == State::kLeaving && child_header_ != nullptr &&
                       child_header_->header.state == State::kFilling;
  return awaited || go_on_() ? OkStatus()
                             : Status(Error(ErrorCode::kUnavailable, "The store is closing."));
}

// ---- the beginning ------------------------------------------------------------------------------

Result<bool> PartSplit::Begin(const HeaderPtr& header, const std::string& boundary) {
  // Take the child's number from the map first: then no other split gets it, even if this one
  // fails.
  const std::string name = TabletName(parent_->tablet);
  const int64_t started = cluster_.clock().TicksMicros();
  uint32_t number = 0;
  for (bool taken = false; !taken;) {
    ASSIGN_OR_RETURN(std::optional<MapEntry> entry, ReadMapEntry(cluster_, parent_->tablet));
    if (!entry)
      return CorruptionError(fmt::format("The tablet {} is gone from the map of the store.", name));
    const std::string before = EncodeMapEntry(*entry);
    number = entry->next++;
    WriteOp op(cluster_.api());
    op.GuardEqual(name, before);
    op.Set(name, EncodeMapEntry(*entry));
    const int result = cluster_.Write(kStoreObject, op);
    taken = result == 0;  // a lost answer costs a number
    if (result < 0 && result != -ECANCELED &&
        (result != -ETIMEDOUT || cluster_.PastDeadline(started))) {
      return cluster_.ErrorOf(result, kStoreObject, true);
    }
  }
  PartHeader copying = header->header;
  copying.state = State::kCopying;
  copying.other = number;
  copying.boundary = boundary;
  ASSIGN_OR_RETURN(const HeaderPtr now,
                   ReplaceHeader(cluster_, *parent_, header, std::move(copying)));
  if (now == nullptr) return false;
  TRY(step_(1));
  return true;
}

// ---- one step after the other -------------------------------------------------------------------

Result<bool> PartSplit::CarryOn() {
  for (bool claimed = false;;) {
    ASSIGN_OR_RETURN(header_, ReadHeader(cluster_, *parent_));
    const PartHeader& parent = header_->header;
    gave_up_ = gave_up_ || header_->bytes == giving_up_;  // the answer may have been lost
    if (parent.fence == kv::kDroppedFence ||
        (parent.state != State::kCopying && parent.state != State::kLeaving))
      return true;
    if (child_ == nullptr || child_->number != parent.other)
      child_ = std::make_shared<Part>(parent_->tablet, parent.other);
    ASSIGN_OR_RETURN(child_header_, ChildHeader());
    TRY(Stopped());
    if (child_header_ == nullptr) {
      TRY(Create());
      continue;
    }
    const PartHeader& child = child_header_->header;
    if (child.fence == kv::kDroppedFence) return true;
    if (child.state != State::kFilling) {
      TRY(Publish());
      TRY(Clean());
      continue;
    }
    if (child.owner != process_) {
      if (claimed) return false;
      PartHeader mine = child;
      mine.owner = process_;
      ASSIGN_OR_RETURN(child_header_,
                       ReplaceHeader(cluster_, *child_, child_header_, std::move(mine)));
      claimed = child_header_ != nullptr;
      continue;
    }
    claimed = true;
    TRY(Fill());
  }
}

Result<HeaderPtr> PartSplit::ChildHeader() {
  std::unique_ptr<ReadOp> read;
  const int result = cluster_.Read(
      child_->object, [](ReadOp& op) { op.Attributes(); }, &read);
  if (result == -ENOENT && header_->header.state == State::kCopying) return HeaderPtr();
  if (result < 0) return cluster_.ErrorOf(result, child_->object, false);
  child_->Forget(child_->header());
  ASSIGN_OR_RETURN(HeaderPtr header, child_->Learn(read->attribute(kHeaderAttribute)));
  if (header->header.state == State::kFilling) {
    ASSIGN_OR_RETURN(const PartSize size, DecodeSize(read->attribute(kSizeAttribute)));
    moved_ = {size.bytes, size.keys};
  }
  return header;
}

Status PartSplit::Create() {
  const PartHeader& parent = header_->header;
  WriteOp create(cluster_.api());
  create.CreateExclusively();
  create.SetAttribute(kHeaderAttribute,
                      EncodeHeader({.tablet = parent.tablet,
                                    .part = child_->number,
                                    .fence = parent.fence,
                                    .routes = {parent.boundary, parent.routes.end},
                                    .state = State::kFilling,
                                    .other = parent.part,
                                    .owner = process_}));
  create.SetAttribute(kStampAttribute, EncodeStamp(0));
  create.SetAttribute(kSizeAttribute, EncodeSize({}));
  const int result = cluster_.Write(child_->object, create);
  if (result < 0 && result != -EEXIST && result != -ETIMEDOUT)
    return cluster_.ErrorOf(result, child_->object, true);
  TRY(step_(2));
  return OkStatus();
}

Result<bool> PartSplit::WriteChild(PartHeader next, FunctionRef<void(WriteOp&)> fill) {
  next.epoch = child_header_->header.epoch + 1;
  const std::string bytes = EncodeHeader(next);
  const int result = cluster_.WriteAgain(child_->object, [&](WriteOp& op) {
    op.GuardAttribute(kHeaderAttribute, child_header_->bytes);
    fill(op);
    op.SetAttribute(kHeaderAttribute, bytes);
  });
  if (result == -ECANCELED) {
    // Either another process has the child now, or the operation was sent twice and the first copy
    // was applied.
    ASSIGN_OR_RETURN(const HeaderPtr now, ReadHeader(cluster_, *child_));
    if (now->bytes != bytes) return false;
  } else if (result < 0) {
    return cluster_.ErrorOf(result, child_->object, true);
  }
  ASSIGN_OR_RETURN(child_header_, child_->Learn(bytes));
  return true;
}

// ---- copying ------------------------------------------------------------------------------------

Result<bool> PartSplit::Fill() {
  ASSIGN_OR_RETURN(const bool copied, Copy());
  if (!copied) return false;
  for (int round = 0; round < kMaxRounds; ++round) {
    bool few = false;
    ASSIGN_OR_RETURN(const bool caught_up, CatchUp(&few));
    if (!caught_up || header_->header.state == State::kLeaving) return caught_up;
    if (few) break;
  }
  return GiveUp();
}

Result<bool> PartSplit::Copy() {
  bool first = child_header_->header.copied.empty();
  while (child_header_->header.copied != kAllCopied) {
    TRY(Stopped());
    Chunk chunk;
    ASSIGN_OR_RETURN(const bool read,
                     ReadMoving(true, limits_.copy_bytes, child_header_->header.copied, &chunk));
    if (!read) return false;
    std::vector<std::string> cells, values;
    Amount amount = moved_;
    for (auto& [cell, value] : chunk.cells) {
      ASSIGN_OR_RETURN(const std::string key, KeyOfCell(cell));
      amount.bytes += StoredCellBytes(cell.size(), value.size());
      ++amount.keys;
      cells.push_back(std::move(cell));
      values.push_back(std::move(value));
      cells.push_back(ReverseCell(key));
      values.emplace_back();
    }
    PartHeader next = child_header_->header;
    next.copied = std::move(chunk.copied);
    ASSIGN_OR_RETURN(const bool written, WriteChild(std::move(next), [&](WriteOp& op) {
                       if (!cells.empty()) op.Set(cells, values);
                       op.SetAttribute(kSizeAttribute, EncodeSize({amount.bytes, amount.keys, 0}));
                     }));
    if (!written) return false;
    moved_ = amount;
    if (std::exchange(first, false)) TRY(step_(3));
  }
  return true;
}

Result<bool> PartSplit::ReadMoving(bool values, size_t bytes, const std::string& after,
                                   Chunk* chunk) {
  const kv::Space space = parent_->tablet.space;
  const std::string prefix(1, kKeyCell);
  chunk->copied = after.empty() ? prefix : after;
  size_t have = 0;
  bool full = false;  // an operation takes no more
  // Where no key moves, read only a few keys, to find the next key that moves.
  for (bool inside = !after.empty(); have < bytes && !full;) {
    const size_t limit = !inside ? 2 : values ? parent_->KeysFor(bytes) : limits_.keys_at_once;
    std::unique_ptr<ReadOp> read;
    const int result = cluster_.Read(
        parent_->object,
        [&](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, header_->bytes);
          values ? op.Range(chunk->copied, prefix, limit) : op.Cells(chunk->copied, limit);
        },
        &read);
    if (result == -ECANCELED) return false;
    if (result < 0) return cluster_.ErrorOf(result, parent_->object, false);
    bool more = read->more(0);
    Status status;
    read->ForEach(0, [&](std::string_view cell, std::string_view stored) {
      if (cell[0] != kKeyCell) return more = false;
      const Result<std::string> key = KeyOfCell(cell);
      if (!key.ok()) return status = key.error(), false;
      inside = true;
      if (Moves(space, boundary(), *key)) {
        full = values && have > limits_.operation_bytes;
        if (full) return false;  // the next chunk begins with this one
        if (values) parent_->NoteBytes(cell.size() + stored.size());
        chunk->copied = cell;
        chunk->cells.emplace_back(cell, stored);
        have += values ? cell.size() + stored.size() : 1;
        return true;
      }
      chunk->copied = cell;
      std::string next = NextThatMoves(space, boundary(), *key);
      if (next <= cell) return true;
      chunk->copied = std::move(next);
      inside = false;
      more = true;
      return false;
    });
    TRY(std::move(status));
    if (!more && !full) {
      chunk->copied = kAllCopied;
      return true;
    }
  }
  return true;
}

Result<bool> PartSplit::ReadMarks(Marks* marks) {
  const uint64_t from = child_header_->header.until + 1;
  std::string after = MarksFrom(kMarkCell, from), range_after = MarksFrom(kRangeMarkCell, from);
  std::set<std::string> keys;
  for (bool first = true, more = true; more; first = false) {
    std::unique_ptr<ReadOp> read;
    const int result = cluster_.Read(
        parent_->object,
        [&](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, header_->bytes);
          op.Range(after, std::string(1, kMarkCell), 4 * limits_.keys_at_once);
          op.Range(range_after, std::string(1, kRangeMarkCell), limits_.keys_at_once);
          op.Attributes();
        },
        &read);
    if (result == -ECANCELED) return false;
    if (result < 0) return cluster_.ErrorOf(result, parent_->object, false);
    more = read->more(0) || read->more(1);
    if (first) {
      ASSIGN_OR_RETURN(marks->stamp, DecodeStamp(read->attribute(kStampAttribute)));
    }
    Status status;
    read->ForEach(0, [&](std::string_view cell, std::string_view) {
      after = cell;
      Result<std::string> key = KeyOfMark(cell);
      if (!key.ok()) return status = std::move(key).error(), false;
      keys.insert(std::move(*key));
      return true;
    });
    TRY(std::move(status));
    read->ForEach(1, [&](std::string_view cell, std::string_view value) {
      range_after = cell;
      Result<KeyRange> range = DecodeRangeMark(value);
      if (!range.ok()) return status = std::move(range).error(), false;
      marks->ranges.push_back(std::move(*range));
      return true;
    });
    TRY(std::move(status));
  }
  marks->keys.assign(keys.begin(), keys.end());
  return true;
}

// One round. Marks that come while it reads are worked off by the next one, again, too.
Result<bool> PartSplit::CatchUp(bool* few) {
  TRY(Stopped());
  Marks marks;
  ASSIGN_OR_RETURN(const bool read, ReadMarks(&marks));
  if (!read) return false;
  *few = marks.ranges.empty() && marks.keys.size() <= limits_.few_keys;
  // What was deleted goes first: what was written after it is marked as well.
  for (const KeyRange& range : marks.ranges) {
    ASSIGN_OR_RETURN(const bool removed, RemoveFromChild(range));
    if (!removed) return false;
  }
  for (size_t from = 0; from == 0 || from < marks.keys.size(); from += limits_.keys_at_once) {
    const size_t to = std::min(from + limits_.keys_at_once, marks.keys.size());
    PartHeader next = child_header_->header;
    uint64_t stamp = 0;
    if (to == marks.keys.size()) {
      next.until = marks.stamp;
      if (header_->header.state == State::kLeaving) {
        next.state = State::kOpen;
        next.fence = std::max(next.fence, header_->header.fence);
        stamp = marks.stamp;
      }
    }
    ASSIGN_OR_RETURN(const bool copied,
                     CopyAgain({marks.keys.begin() + static_cast<std::ptrdiff_t>(from),
                                marks.keys.begin() + static_cast<std::ptrdiff_t>(to)},
                               std::move(next), stamp));
    if (!copied) return false;
  }
  if (child_header_->header.state == State::kOpen) TRY(step_(6));
  return true;
}

Result<bool> PartSplit::RemoveFromChild(const KeyRange& range) {
  const std::string prefix = CommonCellPrefix(range.begin, range.end);
  const std::string after = StartAt(range.begin);
  for (bool more = true; more;) {
    std::unique_ptr<ReadOp> read;
    const int result = cluster_.Read(
        child_->object,
        [&](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, child_header_->bytes);
          op.Range(after, prefix, limits_.keys_at_once);
        },
        &read);
    if (result == -ECANCELED) return false;
    if (result < 0) return cluster_.ErrorOf(result, child_->object, false);
    more = read->more(0);
    std::vector<std::string> gone;
    Amount amount = moved_;
    Status status;
    read->ForEach(0, [&](std::string_view cell, std::string_view stored) {
      const Result<std::string> key = KeyOfCell(cell);
      if (!key.ok()) return status = key.error(), false;
      if (!range.end.empty() && *key >= range.end) return more = false;
      amount = {
          Plus(amount.bytes, -static_cast<int64_t>(StoredCellBytes(cell.size(), stored.size()))),
          Plus(amount.keys, -1)};
      gone.emplace_back(cell);
      gone.push_back(ReverseCell(*key));
      return true;
    });
    TRY(std::move(status));
    if (gone.empty()) return true;
    ASSIGN_OR_RETURN(const bool written, WriteChild(child_header_->header, [&](WriteOp& op) {
                       op.Remove(gone);
                       op.SetAttribute(kSizeAttribute, EncodeSize({amount.bytes, amount.keys, 0}));
                     }));
    if (!written) return false;
    moved_ = amount;
  }
  return true;
}

// With a stamp the child is opened in the same operation.
Result<bool> PartSplit::CopyAgain(const std::vector<std::string>& keys, PartHeader next,
                                  uint64_t stamp) {
  std::vector<std::string> cells;
  for (const std::string& key : keys) cells.push_back(KeyCell(key));
  std::map<std::string, std::string, std::less<>> now, before;
  for (const auto& [part, header, values] :
       {std::tuple(parent_, header_, &now), std::tuple(child_, child_header_, &before)}) {
    if (cells.empty()) break;
    std::unique_ptr<ReadOp> read;
    const int result = cluster_.Read(
        part->object,
        [&, &header = header](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, header->bytes);
          op.Keys(cells);
        },
        &read);
    if (result == -ECANCELED) return false;
    if (result < 0) return cluster_.ErrorOf(result, part->object, false);
    read->ForEach(0, [&values = values](std::string_view cell, std::string_view stored) {
      values->emplace(cell, stored);
      return true;
    });
  }
  size_t bytes = 0;
  for (const auto& [cell, stored] : now) bytes += cell.size() + stored.size();
  if (bytes > limits_.operation_bytes && keys.size() > 1) {
    const auto middle = keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 2);
    ASSIGN_OR_RETURN(const bool copied,
                     CopyAgain({keys.begin(), middle}, child_header_->header, 0));
    return copied ? CopyAgain({middle, keys.end()}, std::move(next), stamp) : Result<bool>(false);
  }
  std::vector<std::string> set, values, gone;
  Amount amount = moved_;
  for (size_t i = 0; i < keys.size(); ++i) {
    const auto is = now.find(cells[i]), was = before.find(cells[i]);
    if (was != before.end()) {
      amount = {Plus(amount.bytes,
                     -static_cast<int64_t>(StoredCellBytes(cells[i].size(), was->second.size()))),
                Plus(amount.keys, -1)};
    }
    if (is != now.end()) {
      amount = {amount.bytes + StoredCellBytes(cells[i].size(), is->second.size()),
                amount.keys + 1};
      set.push_back(cells[i]);
      values.push_back(is->second);
      set.push_back(ReverseCell(keys[i]));
      values.emplace_back();
    } else if (was != before.end()) {
      gone.push_back(cells[i]);
      gone.push_back(ReverseCell(keys[i]));
    }
  }
  ASSIGN_OR_RETURN(const bool written, WriteChild(std::move(next), [&](WriteOp& op) {
                     if (!set.empty()) op.Set(set, values);
                     if (!gone.empty()) op.Remove(gone);
                     op.SetAttribute(kSizeAttribute, EncodeSize({amount.bytes, amount.keys, 0}));
                     if (stamp > 0) op.SetAttribute(kStampAttribute, EncodeStamp(stamp));
                   }));
  if (written) moved_ = amount;
  return written;
}

// ---- the end ------------------------------------------------------------------------------------

Result<bool> PartSplit::GiveUp() {
  TRY(step_(4));
  PartHeader leaving = header_->header;
  leaving.state = State::kLeaving;
  leaving.routes.end = leaving.boundary;
  leaving.boundary.clear();
  leaving.given = {leaving.given.bytes + moved_.bytes, leaving.given.keys + moved_.keys};
  leaving.epoch = header_->header.epoch + 1;
  giving_up_ = EncodeHeader(leaving);
  moved_at_first_ = moved_;
  ASSIGN_OR_RETURN(const HeaderPtr now,
                   ReplaceHeader(cluster_, *parent_, header_, std::move(leaving)));
  if (now == nullptr) return false;
  gave_up_ = true;
  TRY(step_(5));
  return true;
}

Status PartSplit::Publish() {
  const std::string name = TabletName(parent_->tablet);
  const std::string& begin = child_header_->header.routes.begin;
  const int64_t started = cluster_.clock().TicksMicros();
  while (true) {
    TRY(Stopped());
    ASSIGN_OR_RETURN(std::optional<MapEntry> entry, ReadMapEntry(cluster_, parent_->tablet));
    if (!entry)
      return CorruptionError(fmt::format("The tablet {} is gone from the map of the store.", name));
    const std::string before = EncodeMapEntry(*entry);
    if (!entry->parts.emplace(begin, child_->number).second) break;
    WriteOp op(cluster_.api());
    op.GuardEqual(name, before);
    op.Set(name, EncodeMapEntry(*entry));
    const int result = cluster_.Write(kStoreObject, op);
    if (result < 0 && result != -ECANCELED &&
        (result != -ETIMEDOUT || cluster_.PastDeadline(started))) {
      return cluster_.ErrorOf(result, kStoreObject, true);
    }
  }
  map_.Add(parent_->tablet, begin, child_->number);
  TRY(step_(7));
  return OkStatus();
}

Result<bool> PartSplit::Clean() {
  std::string after;
  for (bool first = true; after != kAllCopied; first = false) {
    TRY(Stopped());
    Chunk chunk;
    ASSIGN_OR_RETURN(const bool read, ReadMoving(false, limits_.keys_at_once, after, &chunk));
    if (!read) return false;
    after = chunk.copied;
    std::vector<std::string> gone;
    for (auto& [cell, value] : chunk.cells) {
      ASSIGN_OR_RETURN(const std::string key, KeyOfCell(cell));
      gone.push_back(std::move(cell));
      gone.push_back(ReverseCell(key));
    }
    const int result = cluster_.WriteAgain(parent_->object, [&](WriteOp& op) {
      op.GuardAttribute(kHeaderAttribute, header_->bytes);
      if (!gone.empty()) op.Remove(gone);
      if (after == kAllCopied)
        op.RemoveRange(std::string(1, kMarkCell), std::string(1, kRangeMarkCell + 1));
    });
    if (result == -ECANCELED) return false;
    if (result < 0) return cluster_.ErrorOf(result, parent_->object, true);
    if (first) TRY(step_(8));
  }
  PartHeader open = header_->header;
  open.state = State::kOpen;
  if (!gave_up_) return OpenUnsure(std::move(open));
  // Correct the size that was given to the child: the child may have received more, or less, after
  // the parent gave up the routes.
  open.given = {Plus(open.given.bytes, Difference(moved_.bytes, moved_at_first_.bytes)),
                Plus(open.given.keys, Difference(moved_.keys, moved_at_first_.keys))};
  ASSIGN_OR_RETURN(const HeaderPtr now,
                   ReplaceHeader(cluster_, *parent_, header_, std::move(open)));
  if (now != nullptr) TRY(step_(9));
  return now != nullptr;
}

// Opens the parent after a split of which another process did the step that gave up the routes.
// Only that process knew how much had been copied by then. So the part's size is marked as unsure
// until a writer counts.
Result<bool> PartSplit::OpenUnsure(PartHeader open) {
  open.epoch = header_->header.epoch + 1;
  const std::string bytes = EncodeHeader(open);
  const int64_t started = cluster_.clock().TicksMicros();
  while (true) {
    TRY(Stopped());
    std::unique_ptr<ReadOp> read;
    int result = cluster_.Read(
        parent_->object,
        [this](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, header_->bytes);
          op.Attributes();
        },
        &read);
    if (result == -ECANCELED) return false;
    if (result < 0) return cluster_.ErrorOf(result, parent_->object, false);
    ASSIGN_OR_RETURN(PartSize size, DecodeSize(read->attribute(kSizeAttribute)));
    size.unsure += size.bytes;
    WriteOp op(cluster_.api());
    op.GuardAttribute(kHeaderAttribute, header_->bytes);
    op.GuardAttribute(kStampAttribute, read->attribute(kStampAttribute));  // that the size is of
    op.SetAttribute(kHeaderAttribute, bytes);
    op.SetAttribute(kSizeAttribute, EncodeSize(size));
    result = cluster_.Write(parent_->object, op);
    if (result == 0) break;
    if (result != -ECANCELED && (result != -ETIMEDOUT || cluster_.PastDeadline(started)))
      return cluster_.ErrorOf(result, parent_->object, true);
  }
  TRY(parent_->Learn(bytes));
  TRY(step_(9));
  return true;
}

}  // namespace stator::kv_rados
