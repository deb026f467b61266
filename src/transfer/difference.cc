#include "transfer/difference.h"

#include <algorithm>
#include <charconv>
#include <memory>
#include <utility>

#include "base/pump.h"
#include "history/change_log.h"
#include "table/item_value.h"

namespace stator::transfer {
namespace {

constexpr uint64_t kSeekBytes = 256;  // what a seek counts as
constexpr int64_t kMostCounted = 10'000;

struct Found {
  std::string item_key;
  int64_t micros = 0;
};

// Returns the first record in the range of the log, or the last one; nullopt: there is none.
Result<std::optional<Found>> FirstRecord(kv::Engine& engine, kv::Tablet log,
                                         const std::string& begin, const std::string& end,
                                         bool reverse, uint64_t* read_bytes) {
  std::optional<Found> found;
  Status decoded;
  kv::Range range{log, begin, end, reverse};
  range.expected_keys = 1;
  TRY(engine.Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
    Result<history::Record> record = history::DecodeRecord(key, value);
    if (!record.ok()) {
      decoded = std::move(record).error();
    } else {
      found.emplace();
      found->item_key = std::move(record->item_key);
      found->micros = record->micros;
      *read_bytes += value.size();
    }
    return false;
  }));
  TRY(decoded);
  *read_bytes += kSeekBytes;
  return found;
}

// The items with a change in the window, in one day of the log.
class ChangedInDay {
 public:
  ChangedInDay(kv::Engine& engine, kv::Tablet log, int64_t day, int64_t from, int64_t to,
               std::string_view begin)
      : engine_(engine), log_(log), day_(day), from_(from), to_(to), position_(begin) {}

  // Seeks the next item until it is known, or until the seeks have taken more than `most`; one at
  // least.
  Status Settle(uint64_t most) {
    const std::string end = history::FirstKeyOfDay(day_ + 1);
    while (!known_) {
      if (read_bytes_ > most) return OkStatus();
      ASSIGN_OR_RETURN(const std::optional<Found> found,
                       FirstRecord(engine_, log_, history::FirstKeyOf(day_, position_, 0), end,
                                   false, &read_bytes_));
      if (!found) {
        ended_ = known_ = true;
        break;
      }
      position_ = found->item_key;
      known_ = found->micros > from_ && found->micros <= to_;
      if (found->micros <= from_) {
        ASSIGN_OR_RETURN(
            const std::optional<Found> later,
            FirstRecord(engine_, log_, history::FirstKeyOf(day_, position_, from_ + 1),
                        history::FirstKeyOf(day_, position_, to_ + 1), false, &read_bytes_));
        known_ = later.has_value();
      }
      if (!known_) position_.push_back('\0');
    }
    return OkStatus();
  }
  uint64_t read_bytes() const { return read_bytes_; }
  bool known() const { return known_; }
  // After Settle.
  bool ended() const { return ended_; }
  // The item, or where to go on if it is not known.
  const std::string& position() const { return position_; }
  void Pop() {
    position_.push_back('\0');
    known_ = false;
  }

 private:
  kv::Engine& engine_;
  const kv::Tablet log_;
  const int64_t day_;
  const int64_t from_;
  const int64_t to_;
  std::string position_;
  uint64_t read_bytes_ = 0;
  bool known_ = false;
  bool ended_ = false;
};

// Returns the time of the item's last change in the window.
Result<int64_t> LastChange(kv::Engine& engine, kv::Tablet log, const std::string& key, int64_t from,
                           int64_t to, uint64_t* read_bytes) {
  for (int64_t day = history::DayOf(to); day >= history::DayOf(from); --day) {
    ASSIGN_OR_RETURN(const std::optional<Found> found,
                     FirstRecord(engine, log, history::FirstKeyOf(day, key, from + 1),
                                 history::FirstKeyOf(day, key, to + 1), true, read_bytes));
    if (found) return found->micros;
  }
  return from;
}

// A position in the changes of an item: the time and the stamp of the next one.
struct ChangePlace {
  int64_t micros = 0;
  uint64_t stamp = 0;
};

std::string TextOf(const ChangePlace& place) {
  return std::to_string(place.micros) + "." + std::to_string(place.stamp);
}

Result<ChangePlace> PlaceIn(std::string_view text, int64_t from) {
  ChangePlace place{from + 1, 0};
  if (text.empty()) return place;
  const char* const end = text.data() + text.size();
  const auto [dot, bad] = std::from_chars(text.data(), end, place.micros);
  if (bad == std::errc() && dot != end && *dot == '.') {
    const auto [stop, worse] = std::from_chars(dot + 1, end, place.stamp);
    if (worse == std::errc() && stop == end && place.micros > from) return place;
  }
  return ValidationError("the position is none of this history");
}

Result<std::string> ItemNow(table::Store& store, const table::Table& table,
                            const std::string& key) {
  std::string item;
  ASSIGN_OR_RETURN(const bool found, store.Get(table, key, kv::Tier::kAny, &item));
  if (!found) item.clear();
  return item;
}

Undone::Outcome OutcomeFor(const ItemChange& change, std::string_view now) {
  if (now == change.before) return Undone::Outcome::kAlready;
  if (now != change.after) return Undone::Outcome::kConflict;
  return change.before.empty() ? Undone::Outcome::kDelete : Undone::Outcome::kPut;
}

// The page's writes, all at once.
Status WriteBack(table::Store& store, const table::TablePtr& table,
                 const std::vector<ItemChange>& changes, std::vector<Undone>* items) {
  Pump pump;
  size_t left = changes.size();
  for (size_t i = 0; i < changes.size(); ++i) {
    const ItemChange& change = changes[i];
    // The body may run again, and on any thread; the last run counts.
    auto outcome = std::make_shared<Undone::Outcome>(Undone::Outcome::kConflict);
    std::vector<table::WriteTarget> targets;
    targets.push_back({table, change.key});
    store.Write(
        std::move(targets),
        [&change, outcome](
            const std::vector<model::ItemView>& old_items) -> Result<std::vector<table::Change>> {
          std::vector<table::Change> writes(1);
          *outcome = OutcomeFor(change, old_items[0].encoded());
          if (*outcome == Undone::Outcome::kDelete) writes[0].kind = table::Change::kDelete;
          if (*outcome == Undone::Outcome::kPut) {
            writes[0].kind = table::Change::kPut;
            writes[0].item = change.before;
          }
          return writes;
        },
        [&pump, &left, outcome, undone = &(*items)[i]](Status written) {
          pump.Post([&left, outcome, undone, written = std::move(written)] {
            undone->outcome = written.ok() ? *outcome : Undone::Outcome::kFailed;
            if (!written.ok()) undone->error = written.error().message();
            --left;
          });
        });
  }
  pump.RunUntil([&left] { return left == 0; });
  return OkStatus();
}

// Returns a time such that every change up to it is durable and every later change is after it.
Result<int64_t> EndOfChanges(table::Store& store, const table::Table& table) {
  Pump pump;
  std::optional<Status> outcome;
  int64_t end = 0;
  store.WhileQuiet(
      table.descriptor.name,
      [&](const table::TablePtr& found) -> Status {
        if (found->descriptor.table_id != table.descriptor.table_id)
          return Error(ErrorCode::kResourceNotFound, "the table is gone");
        end = store.change_clock().At(store.clock().NowMicros());
        // Later changes of this microsecond become ones of the next.
        store.change_clock().At(end + 1);
        return OkStatus();
      },
      [&](Status quiet) {
        pump.Post([&outcome, quiet = std::move(quiet)]() mutable { outcome = std::move(quiet); });
      });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  TRY(std::move(*outcome));
  return end;
}

}  // namespace

Error PageIsLeft() {
  return Error(ErrorCode::kUnavailable, "The client closed its side of the connection");
}

Result<DifferencePage> ReadDifference(table::Store& store, const table::Table& table,
                                      const table::LoggedMoment& from,
                                      const table::LoggedMoment& to, std::string_view begin,
                                      const PageLimits& limits) {
  const kv::Tablet log = table.descriptor.change_log->tablet();
  std::vector<ChangedInDay> days;
  for (int64_t day = history::DayOf(from.last_micros()); day <= history::DayOf(to.last_micros());
       ++day) {
    days.emplace_back(store.engine(), log, day, from.last_micros(), to.last_micros(), begin);
  }
  DifferencePage page;
  const uint64_t read_before = from.read_bytes() + to.read_bytes();
  uint64_t read_bytes = 0;
  size_t image_bytes = 0;
  for (size_t read_items = 0;; ++read_items) {
    if (limits.IsLeft()) return PageIsLeft();
    // The lowest key at which any day has a change. If it cannot be read within the limits, the
    // page ends before it.
    const ChangedInDay* first = nullptr;
    uint64_t read = read_bytes + from.read_bytes() + to.read_bytes() - read_before;
    for (ChangedInDay& day : days) {
      TRY(day.Settle(limits.read_bytes / days.size()));
      read += day.read_bytes();
      if (day.ended()) continue;
      if (first == nullptr || day.position() < first->position() ||
          (day.position() == first->position() && !day.known()))
        first = &day;
    }
    if (first == nullptr) break;
    const bool full = page.changes.size() >= limits.changes || image_bytes >= limits.image_bytes ||
                      read > limits.read_bytes;
    if (!first->known() || (full && read_items > 0)) {
      page.next = first->position();
      break;
    }
    ItemChange change;
    change.key = first->position();
    for (ChangedInDay& day : days) {
      if (!day.ended() && day.known() && day.position() == change.key) day.Pop();
    }
    ASSIGN_OR_RETURN(change.before, from.ItemAt(change.key));
    ASSIGN_OR_RETURN(change.after, to.ItemAt(change.key));
    if (change.before == change.after) continue;
    ASSIGN_OR_RETURN(change.micros, LastChange(store.engine(), log, change.key, from.last_micros(),
                                               to.last_micros(), &read_bytes));
    image_bytes += limits.SizeOf(change.before) + limits.SizeOf(change.after);
    page.changes.push_back(std::move(change));
  }
  return page;
}

Result<DifferencePage> ReadVersions(table::Store& store, const table::Table& table,
                                    std::string_view key, const table::LoggedMoment& from,
                                    const table::LoggedMoment& to, std::string_view begin,
                                    const PageLimits& limits) {
  const kv::Tablet log = table.descriptor.change_log->tablet();
  ASSIGN_OR_RETURN(const ChangePlace first, PlaceIn(begin, from.last_micros()));
  DifferencePage page;
  size_t image_bytes = 0;
  bool full = false;
  ChangePlace next;
  for (int64_t day = history::DayOf(first.micros); day <= history::DayOf(to.last_micros()) && !full;
       ++day) {
    const std::string low = history::FirstKeyOf(day, key, first.micros);
    const std::string high = history::FirstKeyOf(day, key, to.last_micros() + 1);
    kv::Range range{log, low, high};
    range.expected_keys = limits.changes;
    Status decoded;
    TRY(store.engine().Scan(
        range, kv::Tier::kAny, [&](std::string_view log_key, std::string_view value) {
          Result<history::Record> record = history::DecodeRecord(log_key, value);
          if (!record.ok()) {
            decoded = std::move(record).error();
            return false;
          }
          if (limits.IsLeft()) {
            decoded = PageIsLeft();
            return false;
          }
          const ChangePlace place{record->micros, record->stamp};
          if (place.micros == first.micros && place.stamp < first.stamp) return true;
          // The image that a change left is the one that the next change replaced.
          if (!page.changes.empty()) page.changes.back().after = std::string(record->before);
          if (page.changes.size() >= limits.changes || image_bytes >= limits.image_bytes) {
            full = true;
            next = place;
            return false;
          }
          ItemChange change;
          change.key = key;
          change.before = std::string(record->before);
          change.micros = record->micros;
          image_bytes += 2 * limits.SizeOf(change.before);
          page.changes.push_back(std::move(change));
          return true;
        }));
    TRY(decoded);
  }
  if (full) {
    page.next = TextOf(next);
  } else if (!page.changes.empty()) {
    ASSIGN_OR_RETURN(page.changes.back().after, to.ItemAt(key));
  }
  return page;
}

Result<UndoPage> UndoChanges(table::Store& store, const table::TablePtr& table,
                             const table::LoggedMoment& from, const table::LoggedMoment& to,
                             std::string_view begin, const PageLimits& limits, bool apply) {
  ASSIGN_OR_RETURN(DifferencePage difference,
                   ReadDifference(store, *table, from, to, begin, limits));
  UndoPage page;
  page.next = std::move(difference.next);
  page.items.resize(difference.changes.size());
  for (size_t i = 0; i < page.items.size(); ++i) {
    page.items[i].key = difference.changes[i].key;
    if (apply) continue;
    ASSIGN_OR_RETURN(const std::string now, ItemNow(store, *table, page.items[i].key));
    page.items[i].outcome = OutcomeFor(difference.changes[i], now);
  }
  if (apply) TRY(WriteBack(store, table, difference.changes, &page.items));
  return page;
}

Result<int64_t> ForgetItem(table::Store& store, const table::TablePtr& table,
                           const std::string& key) {
  const auto& log = table->descriptor.change_log;
  if (!log) return Error(ErrorCode::kResourceNotFound, "the table has no change log");
  ASSIGN_OR_RETURN(const int64_t end, EndOfChanges(store, *table));
  ASSIGN_OR_RETURN(const std::shared_ptr<const table::LoggedMoment> moment,
                   table::LoggedMoment::Open(store, table, end));
  ASSIGN_OR_RETURN(const std::string item, moment->ItemAt(key));
  if (!item.empty()) {
    return ValidationError(
        "The item exists: delete it first, or the past would show what it is now");
  }
  kv::Batch batch;
  int64_t records = 0;
  for (int64_t day = log->first_day > 0 ? log->first_day : history::DayOf(log->since_micros);
       day <= history::DayOf(end); ++day) {
    kv::DeleteRange range;
    range.tablet = log->tablet();
    range.begin = history::FirstKeyOf(day, key, 0);
    range.end = history::FirstKeyOf(day, key, end + 1);
    bool any = false;
    TRY(store.engine().Scan({range.tablet, range.begin, range.end}, kv::Tier::kAny,
                            [&](std::string_view, std::string_view) {
                              any = true;
                              return ++records < kMostCounted;
                            }));
    if (any) batch.range_deletes.push_back(std::move(range));
  }
  if (batch.range_deletes.empty()) return int64_t{0};
  Result<uint64_t> applied = kv::ApplyAndWait(store.engine(), std::move(batch));
  if (!applied.ok()) return std::move(applied).error();
  return records;
}

}  // namespace stator::transfer
