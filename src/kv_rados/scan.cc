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

Error WouldBlockError() {
  return Error(ErrorCode::kWouldBlock, "More would have to be read from the cluster.");
}

// What is left to read of some routes: keys in [begin, end), part by part.
struct Cursor {
  RouteRange routes;
  std::string begin;
  std::string end;
  // What the next read aims at. The first one is small if the caller does not say how far it will
  // go. Each further one is twice as large, up to Limits::read_bytes.
  size_t bytes = 0;
  size_t keys = 0;   // no more at once; 0: no limit
  bool more = true;  // after what was read and not yet visited

  // What was read; the first `visited` of them are done with.
  EntriesPtr entries;
  size_t visited = 0;
  bool empty() const { return entries == nullptr || visited == entries->size(); }
  std::string_view key() const { return entries->key(visited); }
  std::string_view value() const { return entries->value(visited); }
  void Pop() { ++visited; }
  void Take(EntriesPtr read, bool reverse) {
    more = read->more;
    if (more) (reverse ? end : begin) = read->next;
    entries = std::move(read);
    visited = 0;
  }

  size_t LimitOf(const Part& part) const {
    return keys == 0 ? part.KeysFor(bytes) : std::min(keys, part.KeysFor(bytes));
  }
};

// A read operation that was sent ahead of its Scan, with its result. The thread that brings the
// answer releases this object last, after the reply was sent, so that the reply does not wait for
// the remaining work.
struct EarlyRead {
  EarlyRead(const RadosApi& api, Place at)
      : op(std::make_shared<ReadOp>(api)), place(std::move(at)) {}
  ~EarlyRead() { place.part->NoteSeen(seen); }

  std::shared_ptr<ReadOp> op;
  const Place place;
  std::vector<SeenSizes::Seen> seen;
};

// What ReadPartAhead has read for the first Fill of a cursor.
class PartAhead final : public kv::Ahead {
 public:
  PartAhead(std::shared_ptr<EarlyRead> early, RangeCache& cache, std::string first,
            std::string last, int64_t ticks, std::shared_ptr<void> until_taken)
      : place(early->place),
        begin(std::move(first)),
        end(std::move(last)),
        began(ticks),
        cache_(cache),
        read_(std::move(early)),
        until_taken_(std::move(until_taken)) {}

  size_t bytes() const override {
    if (failed || read_ == nullptr) return 0;
    return place.part->BytesOf(known != nullptr ? known->size() : read_->op->size(0));
  }
  // Returns true if this was read for the scan of `cursor`, which must not be in reverse.
  bool IsFor(kv::Tablet tablet, const Cursor& cursor) const {
    return !failed && read_ != nullptr && place.part->tablet == tablet && cursor.begin == begin &&
           cursor.end == end;
  }
  std::shared_ptr<EarlyRead> Take() {
    until_taken_.reset();
    return std::move(read_);
  }
  // What was read is worth to be remembered, if it is asked for.
  void Note(EntriesPtr entries, ReadOp& op) {
    if (!note) return;
    std::string stamp = op.attribute(kStampAttribute);
    if (!stamp.empty())
      cache_.Note({*place.part, begin, end}, {std::move(entries), place.header, std::move(stamp)});
  }

  const Place place;
  const std::string begin, end;
  const int64_t began;  // ticks
  bool failed = false;
  bool note = false;
  EntriesPtr known;  // nothing had to be read: this still stands there

 private:
  RangeCache& cache_;
  std::shared_ptr<EarlyRead> read_;
  std::shared_ptr<void> until_taken_;
};

void AskForward(const Place& place, const Cursor& cursor, ReadOp* op) {
  op->GuardAttribute(kHeaderAttribute, place.header->bytes);
  op->Range(StartAt(cursor.begin), CommonCellPrefix(cursor.begin, cursor.end),
            cursor.LimitOf(*place.part));
}

class Scanner {
 public:
  // The keys are all those of a range whose routes are known (`ordered`), or they are picked by
  // their routes one by one. With another tier than kAny it has no more than was read ahead.
  Scanner(Cluster& cluster, TabletMap& map, const kv::Range& range, kv::Tier tier, bool ordered)
      : cluster_(cluster),
        map_(map),
        tablet_(range.tablet),
        reverse_(range.reverse),
        ordered_(ordered),
        tier_(tier),
        ahead_(static_cast<PartAhead*>(range.ahead)) {}

  // Reads on from one part; what of the routes lies beyond it goes into *rest. Without `more` the
  // cursor's part has been read to its end.
  Status Fill(Cursor* cursor, std::optional<Cursor>* rest);

 private:
  // `early`: what was read ahead, or null.
  Result<int> ReadForward(const Place& place, std::shared_ptr<EarlyRead> early, Cursor* cursor);
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
  cursor->entries = nullptr;  // all were visited
  for (int round = 0;; ++round) {
    std::shared_ptr<EarlyRead> early;
    Place place;
    if (ahead_ != nullptr && !reverse_ && ahead_->IsFor(tablet_, *cursor)) {
      early = ahead_->Take();
      place = ahead_->place;
    } else if (tier_ != kv::Tier::kAny) {
      return WouldBlockError();
    } else {
      ASSIGN_OR_RETURN(place, reverse_ ? map_.LocateBelow(tablet_, cursor->routes.end)
                                       : map_.Locate(tablet_, cursor->routes.begin));
    }
    if (place.part == nullptr) {
      cursor->more = false;
      return OkStatus();
    }
    const RouteRange has = place.header->header.routes;
    Cursor here = *cursor;
    rest->reset();
    const bool beyond =
        reverse_ ? has.begin > cursor->routes.begin
                 : !has.end.empty() && (cursor->routes.end.empty() || has.end < cursor->routes.end);
    if (beyond) {
      rest->emplace(*cursor);
      if (reverse_) {
        here.routes.begin = (*rest)->routes.end = has.begin;
      } else {
        here.routes.end = (*rest)->routes.begin = has.end;
      }
      if (ordered_) {
        // Bound the scan of this part by the part's routes: behind them the part may still have
        // keys that it has given up. If the part was split meanwhile, the cursor may be past that
        // bound already.
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
    ASSIGN_OR_RETURN(const int result, reverse_ ? ReadReverse(place, &here)
                                                : ReadForward(place, std::move(early), &here));
    if (result == 0) {
      here.bytes = std::min(2 * here.bytes, cluster_.limits().read_bytes);
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
    if (round == 50)
      return Error(ErrorCode::kUnavailable, "A tablet changes faster than its map can be read.");
  }
}

Result<int> Scanner::ReadForward(const Place& place, std::shared_ptr<EarlyRead> early,
                                 Cursor* cursor) {
  if (early != nullptr && ahead_->known != nullptr) {
    cursor->Take(ahead_->known, false);
    return 0;
  }
  const Part& part = *place.part;
  std::shared_ptr<ReadOp> read;
  if (early != nullptr) {
    read = early->op;
  } else {
    std::unique_ptr<ReadOp> now;
    const int result = cluster_.Read(
        part.object, [&](ReadOp& op) { AskForward(place, *cursor, &op); }, &now);
    if (result < 0) return result;
    read = std::move(now);
  }
  // Another core has received the values: they are on their way here while keys are decoded.
  std::vector<std::pair<std::string_view, std::string_view>> cells;
  cells.reserve(read->size(0));
  read->ForEach(0, [&cells](std::string_view cell, std::string_view stored) {
    Prefetch(stored.data(), 1);
    cells.emplace_back(cell, stored);
    return true;
  });
  const auto entries = std::make_shared<Entries>();
  entries->Reserve(cells.size());
  entries->owner = read;
  entries->more = read->more(0);
  std::vector<SeenSizes::Seen> seen;
  seen.reserve(cells.size());
  size_t taken = 0;
  for (const auto& [cell, stored] : cells) {
    ASSIGN_OR_RETURN(const std::string_view key, entries->Decode(cell));
    if (!cursor->end.empty() && key >= cursor->end) {
      entries->more = false;
      break;
    }
    ++taken;
    if (!Wants(*cursor, key)) continue;
    ASSIGN_OR_RETURN(const std::string_view value, LoadedInPlace(stored));
    part.NoteBytes(cell.size() + stored.size());
    seen.push_back(part.SeenOf(key, kv::StampOf(value), value.size()));
    entries->Add(value);
  }
  if (taken == 0) entries->more = false;
  if (entries->more) {
    ASSIGN_OR_RETURN(entries->next, KeyOfCell(cells[taken - 1].first));
    entries->next.push_back('\0');
  }
  if (early != nullptr) {
    early->seen = std::move(seen);
    ahead_->Note(entries, *read);
  } else {
    part.NoteSeen(seen);
  }
  cursor->Take(entries, false);
  return 0;
}

// First the keys, from the reverse order; then their values, and the keys again: if they are still
// the same, the second read alone shows one state. Only keys that come and go make it start over,
// not values that change.
Result<int> Scanner::ReadReverse(const Place& place, Cursor* cursor) {
  const Part& part = *place.part;
  const std::string start =
      cursor->end.empty() ? std::string(1, kReverseCell) : ReverseCell(cursor->end);
  const std::string prefix = CommonReversePrefix(cursor->begin, cursor->end);
  const size_t limit = cursor->LimitOf(part);
  const int64_t started = cluster_.clock().TicksMicros();
  std::vector<std::string> keys, cells;
  for (bool first = true;; first = false) {
    std::unique_ptr<ReadOp> read;
    const int result = cluster_.Read(
        part.object,
        [&](ReadOp& op) {
          op.GuardAttribute(kHeaderAttribute, place.header->bytes);
          op.Range(start, prefix, limit);
          if (!cells.empty()) op.Keys(cells);
        },
        &read);
    if (result < 0) return result;
    bool more = read->more(0);
    std::vector<std::string> now;
    Status status;
    read->ForEach(0, [&](std::string_view cell, std::string_view) {
      Result<std::string> key = KeyOfCell(cell);
      if (!key.ok()) return status = std::move(key).error(), false;
      if (*key < cursor->begin) return more = false;
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
      const auto entries = std::make_shared<Entries>();
      entries->Reserve(keys.size());
      entries->owner = std::move(read);
      entries->more = more && !keys.back().empty();  // else the first of all keys
      std::vector<SeenSizes::Seen> seen;
      seen.reserve(keys.size());
      for (size_t i = 0; i < keys.size(); ++i) {
        const auto value = values.find(cells[i]);
        if (value == values.end()) {
          return CorruptionError(fmt::format(
              "The object {} has a key in its reverse order that has no value.", part.object));
        }
        seen.push_back(part.SeenOf(keys[i], kv::StampOf(value->second), value->second.size()));
        if (Wants(*cursor, keys[i])) entries->Add(keys[i], value->second);
      }
      part.NoteSeen(seen);
      entries->next = std::move(keys.back());
      cursor->Take(entries, true);
      return 0;
    }
    if (!first && cluster_.PastDeadline(started)) {
      return Error(ErrorCode::kUnavailable,
                   "Keys come and go faster than they can be read in reverse.");
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
      for (; !now.empty(); now.Pop()) {
        if (!visit(now.key(), now.value())) return *go_on = false, OkStatus();
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
      while (cursors[i].empty() && cursors[i].more) {
        std::optional<Cursor> rest;
        TRY(scanner.Fill(&cursors[i], &rest));
        if (rest) cursors.push_back(std::move(*rest));
      }
    }
    Cursor* next = nullptr;
    for (Cursor& cursor : cursors) {
      if (cursor.empty()) continue;
      const bool first =
          next == nullptr || (reverse ? cursor.key() > next->key() : cursor.key() < next->key());
      if (first) next = &cursor;
    }
    if (next == nullptr) return OkStatus();
    const std::string key(next->key());
    std::string_view value = next->value();
    next->Pop();
    std::string sum;
    for (Cursor& cursor : cursors) {
      if (cursor.empty() || cursor.key() != key) continue;
      ASSIGN_OR_RETURN(sum, AddCounters(value, cursor.value()));
      value = sum;
      cursor.Pop();
    }
    if (!visit(key, value)) return *go_on = false, OkStatus();
  }
}

}  // namespace

Result<std::string> AddCounters(std::string_view a, std::string_view b) {
  ASSIGN_OR_RETURN(const int64_t first, kv::CounterOf(a));
  ASSIGN_OR_RETURN(const int64_t second, kv::CounterOf(b));
  const auto sum =
      static_cast<int64_t>(static_cast<uint64_t>(first) + static_cast<uint64_t>(second));
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
    if (end.empty() || begin < end)
      pieces.push_back({std::string(begin), std::string(end), RoutesOfKeys(space, begin, end)});
  };
  // What engines keep in a log lies behind everything else and in another order.
  constexpr std::string_view kEngineKeys = "\xff";
  if (space == kv::Space::kLog && range.begin < kEngineKeys &&
      (range.end.empty() || range.end > kEngineKeys)) {
    add(range.begin, kEngineKeys);
    add(kEngineKeys, range.end);
  } else {
    add(range.begin, range.end);
  }
  if (range.reverse) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

Cursor CursorOf(const kv::Range& range, Piece piece, const Limits& limits) {
  Cursor cursor{.routes = std::move(piece.routes).value_or(RouteRange()),
                .begin = std::move(piece.begin),
                .end = std::move(piece.end),
                .bytes = limits.first_read_bytes};
  cursor.keys = range.expected_keys;
  // A read cannot be told where to end. Where it could go far beyond it shall not be large.
  const bool bounded = IsBoundedByPrefix(cursor.begin, cursor.end, range.reverse);
  if (range.expected_bytes > 0)
    cursor.bytes =
        std::min(range.expected_bytes, bounded ? limits.read_bytes : limits.first_read_bytes);
  else if (range.expected_keys > 0)
    cursor.bytes = limits.read_bytes;
  return cursor;
}

}  // namespace

Status ScanParts(Cluster& cluster, TabletMap& map, const kv::Range& range, kv::Tier tier,
                 Visit visit) {
  std::optional<Cluster::Since> since;
  const auto* ahead = static_cast<const PartAhead*>(range.ahead);
  if (ahead != nullptr && ahead->failed && tier == kv::Tier::kAny) since.emplace(ahead->began);
  for (Piece& piece : PiecesOf(range)) {
    const bool ordered = piece.routes.has_value();
    Scanner scanner(cluster, map, range, tier, ordered);
    Cursor cursor = CursorOf(range, std::move(piece), cluster.limits());
    bool go_on = true;
    TRY(ordered ? ScanOrdered(scanner, std::move(cursor), visit, &go_on)
                : ScanMerged(scanner, std::move(cursor), range.reverse, visit, &go_on));
    if (!go_on) return OkStatus();
  }
  return OkStatus();
}

bool ReadPartAhead(Cluster& cluster, RangeCache& cache, const kv::Range& range,
                   FunctionRef<std::optional<Place>(std::string_view)> locate,
                   std::shared_ptr<void> until_taken, kv::Engine::AheadDone& done) {
  std::vector<Piece> pieces = PiecesOf(range);
  if (range.reverse || pieces.size() != 1 || !pieces.front().routes) return false;
  const Cursor cursor = CursorOf(range, std::move(pieces.front()), cluster.limits());
  const std::optional<Place> place = locate(cursor.routes.begin);
  if (!place) return false;
  const auto early = std::make_shared<EarlyRead>(cluster.api(), *place);
  auto ahead = std::make_unique<PartAhead>(early, cache, cursor.begin, cursor.end,
                                           cluster.clock().TicksMicros(), std::move(until_taken));
  RangeCache::Known known = cache.Find({*place->part, cursor.begin, cursor.end},
                                       cursor.LimitOf(*place->part), &ahead->note);
  if (known.header != nullptr && known.header->bytes != place->header->bytes) known = {};
  ReadOp& op = *early->op;
  if (ahead->note) op.Attributes();
  if (known.entries != nullptr) op.GuardAttributeIsNot(kStampAttribute, known.stamp);
  AskForward(*place, cursor, &op);
  cluster.ReadLater(place->part->object, op,
                    [early, &cache, known = std::move(known), ahead = std::move(ahead),
                     done = std::move(done)](int result) mutable {
                      // Refused because nothing has changed, or because the header has.
                      if (result == -ECANCELED && known.entries != nullptr) {
                        const std::string header = early->op->attribute(kHeaderAttribute);
                        if (header.empty()) cache.SwitchOff();
                        if (header == early->place.header->bytes &&
                            early->op->attribute(kStampAttribute) == known.stamp) {
                          ahead->known = std::move(known.entries);
                          result = 0;
                        }
                      }
                      if (known.header != nullptr && result >= 0)
                        cache.Count(ahead->known != nullptr);
                      ahead->failed = result < 0;
                      done(std::move(ahead));
                    });
  return true;
}

}  // namespace stator::kv_rados
