#include "kv_rados/scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <map>
#include <optional>
#include <utility>

#include "base/prefetch.h"
#include "kv_rados/routing.h"

namespace stator::kv_rados {
namespace {

Error WouldBlockError() { return Error(ErrorCode::kWouldBlock, "More would have to be read from the cluster."); }

// The first read of a scan is small if nobody says how far it will go. Each further one is twice as large, up to kReadBytes.
constexpr size_t kFirstReadBytes = 128 << 10;

// Keys and values, the first of which is taken off again and again. Keys stand behind each other in one piece of memory.
class Entries {
 public:
  bool empty() const { return first_ == entries_.size(); }
  std::string_view key() const { return KeyOf(entries_[first_]); }
  std::string_view value() const { return entries_[first_].value; }
  void Pop() { ++first_; }

  // The next key, which is none of theirs until Add.
  Result<std::string_view> Decode(std::string_view cell) {
    keys_.resize(end_);
    TRY(AppendKeyOfCell(cell, &keys_));
    return std::string_view(keys_).substr(end_);
  }
  // With the key that was decoded last.
  void Add(std::string_view value) {
    entries_.push_back({end_, keys_.size() - end_, value});
    end_ = keys_.size();
  }
  void Add(std::string_view key, std::string_view value) {
    keys_.resize(end_);
    keys_.append(key);
    Add(value);
  }

 private:
  struct Entry {
    size_t begin, size;  // of the key
    std::string_view value;
  };
  std::string_view KeyOf(const Entry& entry) const { return std::string_view(keys_).substr(entry.begin, entry.size); }

  std::string keys_;
  size_t end_ = 0;  // of those that were added
  std::vector<Entry> entries_;
  size_t first_ = 0;
};

// What is left to read of some routes: keys in [begin, end), part by part.
struct Cursor {
  RouteRange routes;
  std::string begin;
  std::string end;
  size_t bytes = kFirstReadBytes;
  size_t keys = 0;   // no more at once; 0: no limit
  bool more = true;  // after what was read and not yet visited
  Entries entries;
  std::shared_ptr<ReadOp> owner;  // of their values

  size_t LimitOf(const Part& part) const { return keys == 0 ? part.KeysFor(bytes) : std::min(keys, part.KeysFor(bytes)); }
};

// What ReadPartAhead has read for the first Fill of a cursor.
class PartAhead final : public kv::Ahead {
 public:
  PartAhead(const RadosApi& api, Place of, std::string first, std::string last, int64_t ticks, std::shared_ptr<void> until_taken)
      : place(std::move(of)),
        begin(std::move(first)),
        end(std::move(last)),
        began(ticks),
        read_(std::make_unique<ReadOp>(api)),
        until_taken_(std::move(until_taken)) {}

  size_t bytes() const override { return failed || read_ == nullptr ? 0 : place.part->BytesOf(read_->size(0)); }
  // Of a Scan that is not in reverse.
  bool IsFor(kv::Tablet tablet, const Cursor& cursor) const {
    return !failed && read_ != nullptr && place.part->tablet == tablet && cursor.begin == begin && cursor.end == end;
  }
  ReadOp* read() { return read_.get(); }
  std::unique_ptr<ReadOp> Take() {
    until_taken_.reset();
    return std::move(read_);
  }

  const Place place;
  const std::string begin, end;
  const int64_t began;  // ticks
  bool failed = false;

 private:
  std::unique_ptr<ReadOp> read_;
  std::shared_ptr<void> until_taken_;
};

void AskForward(const Place& place, const Cursor& cursor, ReadOp* op) {
  op->GuardAttribute(kHeaderAttribute, place.header->bytes);
  op->Range(StartAt(cursor.begin), CommonCellPrefix(cursor.begin, cursor.end), cursor.LimitOf(*place.part));
}

class Scanner {
 public:
  // The keys are all those of a range whose routes are known (`ordered`), or they are picked by their routes one by one. With another tier
  // than kAny it has no more than was read ahead.
  Scanner(Cluster& cluster, TabletMap& map, const kv::Range& range, kv::Tier tier, bool ordered)
      : cluster_(cluster),
        map_(map),
        tablet_(range.tablet),
        reverse_(range.reverse),
        ordered_(ordered),
        tier_(tier),
        ahead_(static_cast<PartAhead*>(range.ahead)) {}

  // Reads on from one part; what of the routes lies beyond it goes into *rest. Without `more` the cursor's part has been read to its end.
  Status Fill(Cursor* cursor, std::optional<Cursor>* rest);

 private:
  // `read`: what was read ahead, or null.
  Result<int> ReadForward(const Place& place, std::unique_ptr<ReadOp> read, Cursor* cursor);
  Result<int> ReadReverse(const Place& place, Cursor* cursor);
  // Whether the cursor wants this key of the part.
  bool Wants(const Cursor& cursor, std::string_view key) const {
    if (ordered_) return true;
    const std::optional<std::string_view> route = RouteOf(tablet_.space, key);
    return !route || cursor.routes.Has(*route);
  }

  Cluster& cluster_;
  TabletMap& map_;
  const kv::Tablet tablet_;
  const bool reverse_;
  const bool ordered_;
  const kv::Tier tier_;
  PartAhead* const ahead_;
};

Status Scanner::Fill(Cursor* cursor, std::optional<Cursor>* rest) {
  cursor->entries = Entries();  // all were taken off
  for (int round = 0;; ++round) {
    std::unique_ptr<ReadOp> read;
    Place place;
    if (ahead_ != nullptr && !reverse_ && ahead_->IsFor(tablet_, *cursor)) {
      read = ahead_->Take();
      place = ahead_->place;
    } else if (tier_ != kv::Tier::kAny) {
      return WouldBlockError();
    } else {
      ASSIGN_OR_RETURN(place, reverse_ ? map_.LocateBelow(tablet_, cursor->routes.end) : map_.Locate(tablet_, cursor->routes.begin));
    }
    if (place.part == nullptr) {
      cursor->more = false;
      return OkStatus();
    }
    const RouteRange has = place.header->header.routes;
    Cursor here = *cursor;
    rest->reset();
    const bool beyond = reverse_ ? has.begin > cursor->routes.begin
                                 : !has.end.empty() && (cursor->routes.end.empty() || has.end < cursor->routes.end);
    if (beyond) {
      rest->emplace(*cursor);
      if (reverse_) {
        here.routes.begin = (*rest)->routes.end = has.begin;
      } else {
        here.routes.end = (*rest)->routes.begin = has.end;
      }
      if (ordered_) {
        // Behind its end a part may still have what it has given up.
        // Both may be past it already, if the part was split meanwhile.
        if (reverse_) {
          here.begin = KeyAtRoute(tablet_.space, cursor->begin, has.begin);
          if (cursor->end.empty() || here.begin < cursor->end) (*rest)->end = here.begin;
        } else {
          here.end = KeyAtRoute(tablet_.space, cursor->begin, has.end);
          if (here.end > cursor->begin) (*rest)->begin = here.end;
        }
      }
    }
    if (ordered_ && reverse_ && !has.end.empty()) {
      std::string end = KeyAtRoute(tablet_.space, cursor->begin, has.end);
      if (here.end.empty() || end < here.end) here.end = std::move(end);
    }
    ASSIGN_OR_RETURN(const int result, reverse_ ? ReadReverse(place, &here) : ReadForward(place, std::move(read), &here));
    if (result == 0) {
      here.bytes = std::min(2 * here.bytes, kReadBytes);
      here.keys = 0;
      if (*rest) {
        (*rest)->bytes = here.bytes;
        (*rest)->keys = 0;
      }
      *cursor = std::move(here);
      return OkStatus();
    }
    if (result == -ENOENT) {
      TRY(map_.Recheck(place.part));
    } else if (result == -ECANCELED) {
      place.part->Forget(place.header);
    } else {
      return cluster_.ErrorOf(result, place.part->object, false);
    }
    if (round == 50) return Error(ErrorCode::kUnavailable, "A tablet changes faster than its map can be read.");
  }
}

Result<int> Scanner::ReadForward(const Place& place, std::unique_ptr<ReadOp> read, Cursor* cursor) {
  const Part& part = *place.part;
  if (read == nullptr) {
    const int result = cluster_.Read(part.object, [&](ReadOp& op) { AskForward(place, *cursor, &op); }, &read);
    if (result < 0) return result;
  }
  // Another core has received the values: they are on their way here while keys are decoded.
  std::vector<std::pair<std::string_view, std::string_view>> cells;
  cells.reserve(read->size(0));
  read->ForEach(0, [&cells](std::string_view cell, std::string_view stored) {
    Prefetch(stored.data(), 1);
    cells.emplace_back(cell, stored);
    return true;
  });
  cursor->more = read->more(0);
  std::vector<SeenSizes::Seen> seen;
  seen.reserve(cells.size());
  size_t taken = 0;
  for (const auto& [cell, stored] : cells) {
    ASSIGN_OR_RETURN(const std::string_view key, cursor->entries.Decode(cell));
    if (!cursor->end.empty() && key >= cursor->end) {
      cursor->more = false;
      break;
    }
    ++taken;
    if (!Wants(*cursor, key)) continue;
    ASSIGN_OR_RETURN(const std::string_view value, LoadedInPlace(stored));
    part.NoteBytes(cell.size() + stored.size());
    seen.push_back(part.SeenOf(key, kv::StampOf(value), value.size()));
    cursor->entries.Add(value);
  }
  part.NoteSeen(seen);
  cursor->owner = std::move(read);
  if (taken == 0) {
    cursor->more = false;
  } else {
    ASSIGN_OR_RETURN(cursor->begin, KeyOfCell(cells[taken - 1].first));
    cursor->begin.push_back('\0');
  }
  return 0;
}

// First the keys, from the reverse order; then their values, and the keys again: if they are still the same, the second read
// alone shows one state. Only keys that come and go make it start over, not values that change.
Result<int> Scanner::ReadReverse(const Place& place, Cursor* cursor) {
  const Part& part = *place.part;
  const std::string start = cursor->end.empty() ? std::string(1, kReverseCell) : ReverseCell(cursor->end);
  const std::string prefix = CommonReversePrefix(cursor->begin, cursor->end);
  const size_t limit = cursor->LimitOf(part);
  const int64_t started = cluster_.clock().TicksMicros();
  std::vector<std::string> keys, cells;
  for (bool first = true;; first = false) {
    std::unique_ptr<ReadOp> read;
    const int result = cluster_.Read(part.object, [&](ReadOp& op) {
      op.GuardAttribute(kHeaderAttribute, place.header->bytes);
      op.Range(start, prefix, limit);
      if (!cells.empty()) op.Keys(cells);
    }, &read);
    if (result < 0) return result;
    cursor->more = read->more(0);
    std::vector<std::string> now;
    Status status;
    read->ForEach(0, [&](std::string_view cell, std::string_view) {
      Result<std::string> key = KeyOfCell(cell);
      if (!key.ok()) return status = std::move(key).error(), false;
      if (*key < cursor->begin) return cursor->more = false;
      now.push_back(std::move(*key));
      return true;
    });
    TRY(std::move(status));
    if (now.empty()) {
      cursor->more = false;
      return 0;
    }
    if (now == keys) {
      std::map<std::string_view, std::string_view> values;  // of the operation
      read->ForEach(1, [&](std::string_view cell, std::string_view stored) {
        const Result<std::string_view> value = LoadedInPlace(stored);
        if (!value.ok()) return status = value.error(), false;
        part.NoteBytes(cell.size() + stored.size());
        values.emplace(cell, *value);
        return true;
      });
      TRY(std::move(status));
      cursor->owner = std::move(read);
      std::vector<SeenSizes::Seen> seen;
      seen.reserve(keys.size());
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto value = values.find(cells[i]);
        if (value == values.end()) {
          return CorruptionError(fmt::format("The object {} has a key in its reverse order that has no value.", part.object));
        }
        seen.push_back(part.SeenOf(keys[i], kv::StampOf(value->second), value->second.size()));
        if (Wants(*cursor, keys[i])) cursor->entries.Add(keys[i], value->second);
      }
      part.NoteSeen(seen);
      cursor->end = std::move(keys.back());
      if (cursor->end.empty()) cursor->more = false;  // the first of all keys
      return 0;
    }
    if (!first && cluster_.PastDeadline(started)) {
      return Error(ErrorCode::kUnavailable, "Keys come and go faster than they can be read in reverse.");
    }
    keys = std::move(now);
    cells.clear();
    for (const std::string& key : keys) cells.push_back(KeyCell(key));
  }
}

using Visit = FunctionRef<bool(std::string_view key, std::string_view value)>;

// Part after part. *go_on is false once the visitor has had enough.
Status ScanOrdered(Scanner& scanner, Cursor cursor, Visit visit, bool* go_on) {
  std::vector<Cursor> left;  // the next one last
  left.push_back(std::move(cursor));
  while (!left.empty()) {
    Cursor now = std::move(left.back());
    left.pop_back();
    while (now.more) {
      std::optional<Cursor> rest;
      TRY(scanner.Fill(&now, &rest));
      if (rest) left.push_back(std::move(*rest));
      for (; !now.entries.empty(); now.entries.Pop()) {
        if (!visit(now.entries.key(), now.entries.value())) return *go_on = false, OkStatus();
      }
    }
  }
  return OkStatus();
}

Status ScanMerged(Scanner& scanner, Cursor all, bool reverse, Visit visit, bool* go_on) {
  std::vector<Cursor> cursors;
  cursors.push_back(std::move(all));
  while (true) {
    for (size_t i = 0; i < cursors.size(); ++i) {
      while (cursors[i].entries.empty() && cursors[i].more) {
        std::optional<Cursor> rest;
        TRY(scanner.Fill(&cursors[i], &rest));
        if (rest) cursors.push_back(std::move(*rest));
      }
    }
    Cursor* next = nullptr;
    for (Cursor& cursor : cursors) {
      if (cursor.entries.empty()) continue;
      const bool first = next == nullptr || (reverse ? cursor.entries.key() > next->entries.key()
                                                     : cursor.entries.key() < next->entries.key());
      if (first) next = &cursor;
    }
    if (next == nullptr) return OkStatus();
    const std::string key(next->entries.key());
    std::string_view value = next->entries.value();
    next->entries.Pop();
    std::string sum;
    for (Cursor& cursor : cursors) {
      if (cursor.entries.empty() || cursor.entries.key() != key) continue;
      ASSIGN_OR_RETURN(sum, AddCounters(value, cursor.entries.value()));
      value = sum;
      cursor.entries.Pop();
    }
    if (!visit(key, value)) return *go_on = false, OkStatus();
  }
}

}  // namespace

Result<std::string> AddCounters(std::string_view a, std::string_view b) {
  ASSIGN_OR_RETURN(const int64_t first, kv::CounterOf(a));
  ASSIGN_OR_RETURN(const int64_t second, kv::CounterOf(b));
  const auto sum = static_cast<int64_t>(static_cast<uint64_t>(first) + static_cast<uint64_t>(second));
  return kv::EncodeCounter(std::max(kv::StampOf(a), kv::StampOf(b)), sum);
}

namespace {

// Of a range.
struct Piece {
  std::string begin, end;
  std::optional<RouteRange> routes;  // none: its keys are not ordered by them
};

std::vector<Piece> PiecesOf(const kv::Range& range) {
  const kv::Space space = range.tablet.space;
  std::vector<Piece> pieces;
  const auto add = [&](std::string_view begin, std::string_view end) {
    if (end.empty() || begin < end) pieces.push_back({std::string(begin), std::string(end), RoutesOfKeys(space, begin, end)});
  };
  // What engines keep in a log lies behind everything else and in another order.
  constexpr std::string_view kEngineKeys = "\xff";
  if (space == kv::Space::kLog && range.begin < kEngineKeys && (range.end.empty() || range.end > kEngineKeys)) {
    add(range.begin, kEngineKeys);
    add(kEngineKeys, range.end);
  } else {
    add(range.begin, range.end);
  }
  if (range.reverse) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Cursor CursorOf(const kv::Range& range, Piece piece) {
  Cursor cursor{.routes = std::move(piece.routes).value_or(RouteRange()), .begin = std::move(piece.begin), .end = std::move(piece.end)};
  cursor.keys = range.expected_keys;
  // A read cannot be told where to end. Where it could go far beyond it shall not be large.
  const bool bounded = IsBoundedByPrefix(cursor.begin, cursor.end, range.reverse);
  if (range.expected_bytes > 0) cursor.bytes = std::min(range.expected_bytes, bounded ? kReadBytes : kFirstReadBytes);
  else if (range.expected_keys > 0) cursor.bytes = kReadBytes;
  return cursor;
}

}  // namespace

Status ScanParts(Cluster& cluster, TabletMap& map, const kv::Range& range, kv::Tier tier, Visit visit) {
  std::optional<Cluster::Since> since;
  const auto* ahead = static_cast<const PartAhead*>(range.ahead);
  if (ahead != nullptr && ahead->failed && tier == kv::Tier::kAny) since.emplace(ahead->began);
  for (Piece& piece : PiecesOf(range)) {
    const bool ordered = piece.routes.has_value();
    Scanner scanner(cluster, map, range, tier, ordered);
    Cursor cursor = CursorOf(range, std::move(piece));
    bool go_on = true;
    TRY(ordered ? ScanOrdered(scanner, std::move(cursor), visit, &go_on)
                : ScanMerged(scanner, std::move(cursor), range.reverse, visit, &go_on));
    if (!go_on) return OkStatus();
  }
  return OkStatus();
}

bool ReadPartAhead(Cluster& cluster, const kv::Range& range, FunctionRef<std::optional<Place>(std::string_view)> locate,
                   std::shared_ptr<void> until_taken, kv::Engine::AheadDone& done) {
  std::vector<Piece> pieces = PiecesOf(range);
  if (range.reverse || pieces.size() != 1 || !pieces.front().routes) return false;
  const Cursor cursor = CursorOf(range, std::move(pieces.front()));
  const std::optional<Place> place = locate(cursor.routes.begin);
  if (!place) return false;
  auto ahead = std::make_unique<PartAhead>(cluster.api(), *place, cursor.begin, cursor.end, cluster.clock().TicksMicros(), std::move(until_taken));
  const ReadOp& op = *ahead->read();
  AskForward(*place, cursor, ahead->read());
  cluster.ReadLater(place->part->object, op, [ahead = std::move(ahead), done = std::move(done)](int result) mutable {
    ahead->failed = result < 0;
    done(std::move(ahead));
  });
  return true;
}

}  // namespace stator::kv_rados
