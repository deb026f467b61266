#include "table/logged_moment.h"

#include <algorithm>
#include <deque>
#include <utility>
#include <vector>

#include "history/change_log.h"
#include "table/item_value.h"

namespace stator::table {
namespace {

// Bounds of what is buffered at a time: items in bytes, and records of a day in bytes and in
// number. One item or record may exceed them.
constexpr size_t kStretchBytes = 256 << 10;
constexpr size_t kDayStretchBytes = 32 << 10;
constexpr size_t kDayStretchRecords = 256;
// The records of one item, in number and in bytes, that are skipped one by one before the reader
// seeks to the next item.
constexpr int kPassedRecords = 8;
constexpr size_t kPassedBytes = 64 << 10;
// The bytes that a seek counts as. It takes as long as reading a few KB.
constexpr uint64_t kSeekBytes = 4 << 10;

}  // namespace

// The records of a day about a range of items: for each item that has some, whether one is after
// the moment, and the image that the first of these replaced.
class LoggedMoment::Day {
 public:
  struct Entry {
    std::string item_key;
    std::optional<std::string> before;  // of the first change after the moment; empty: no item
  };

  // Reads about the items in [begin, end).
  Day(kv::Engine& engine, kv::Tablet log, int64_t day, std::string_view begin, std::string_view end,
      bool reverse, int64_t last_micros, uint64_t* read_bytes)
      : engine_(engine),
        log_(log),
        day_(day),
        begin_(history::FirstKeyOf(day, begin, 0)),
        end_(end.empty() ? history::FirstKeyOfDay(day + 1) : history::FirstKeyOf(day, end, 0)),
        reverse_(reverse),
        last_micros_(last_micros),
        read_bytes_(*read_bytes) {}

  // Reads on if nothing is left. False at the end.
  Result<bool> Has() {
    while (entries_.empty() && more_) TRY(reverse_ ? ReadBack() : ReadOn());
    return !entries_.empty();
  }
  Entry& front() { return entries_.front(); }
  void Pop() { entries_.pop_front(); }

 private:
  // Some items in rising order, each of them whole.
  Status ReadOn() {
    more_ = false;
    size_t bytes = 0, records = 0, passed_bytes = 0;
    int passed = 0;
    bool cut = false;  // there may be more records of the last item
    std::string next;
    Status decoded;
    kv::Range range{log_, begin_, end_};
    range.expected_bytes = kDayStretchBytes;
    TRY(engine_.Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
      Result<history::Record> record = history::DecodeRecord(key, value);
      if (!record.ok()) {
        decoded = std::move(record).error();
        return false;
      }
      const bool same = !entries_.empty() && record->item_key == entries_.back().item_key;
      if (!same && (bytes >= kDayStretchBytes || records >= kDayStretchRecords)) {
        more_ = true;
        next = key;
        return false;
      }
      bytes += key.size() + value.size();
      ++records;
      passed = same ? passed + 1 : 0;
      passed_bytes = same ? passed_bytes + value.size() : 0;
      if (!same) entries_.push_back({std::move(record->item_key), std::nullopt});
      Entry& entry = entries_.back();
      if (record->micros > last_micros_ && !entry.before)
        entry.before = std::string(record->before);
      if (passed < kPassedRecords && passed_bytes < kPassedBytes) return true;
      more_ = cut = true;
      next = history::FirstKeyOf(day_, entry.item_key + '\0', 0);
      return false;
    }));
    TRY(decoded);
    read_bytes_ += bytes + kSeekBytes;
    begin_ = std::move(next);
    return cut && !entries_.back().before ? Seek(&entries_.back()) : OkStatus();
  }

  // Seeks the first change of the entry's item after the moment.
  Status Seek(Entry* entry) {
    const std::string begin = history::FirstKeyOf(day_, entry->item_key, last_micros_ + 1);
    const std::string end = history::FirstKeyOf(day_, entry->item_key + '\0', 0);
    kv::Range range{log_, begin, end};
    range.expected_keys = 1;
    Status decoded;
    TRY(engine_.Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
      Result<history::Record> record = history::DecodeRecord(key, value);
      if (!record.ok()) {
        decoded = std::move(record).error();
      } else {
        entry->before = std::string(record->before);
        read_bytes_ += value.size();
      }
      return false;
    }));
    read_bytes_ += kSeekBytes;
    return decoded;
  }

  // Some items in falling order, each of them whole. The records of an item come latest first: of
  // those after the moment the last one that comes counts.
  Status ReadBack() {
    more_ = false;
    size_t bytes = 0, records = 0, passed_bytes = 0;
    int passed = 0;
    bool cut = false;    // there may be more records of the last item
    bool after = false;  // the last record is after the moment
    Status decoded;
    kv::Range range{log_, begin_, end_, true};
    range.expected_bytes = kDayStretchBytes;
    TRY(engine_.Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
      Result<history::Record> record = history::DecodeRecord(key, value);
      if (!record.ok()) {
        decoded = std::move(record).error();
        return false;
      }
      const bool same = !entries_.empty() && record->item_key == entries_.back().item_key;
      if (!same && (bytes >= kDayStretchBytes || records >= kDayStretchRecords)) {
        more_ = true;
        return false;
      }
      bytes += key.size() + value.size();
      ++records;
      passed = same ? passed + 1 : 0;
      passed_bytes = same ? passed_bytes + value.size() : 0;
      if (!same) entries_.push_back({std::move(record->item_key), std::nullopt});
      after = record->micros > last_micros_;
      if (after) entries_.back().before = std::string(record->before);
      if (passed < kPassedRecords && passed_bytes < kPassedBytes) return true;
      more_ = cut = true;
      return false;
    }));
    TRY(decoded);
    read_bytes_ += bytes + kSeekBytes;
    if (more_) end_ = history::FirstKeyOf(day_, entries_.back().item_key, 0);
    return cut && after ? Seek(&entries_.back()) : OkStatus();
  }

  kv::Engine& engine_;
  const kv::Tablet log_;
  const int64_t day_;
  std::string begin_;  // what is left to read: [begin_, end_)
  std::string end_;
  const bool reverse_;
  const int64_t last_micros_;
  uint64_t& read_bytes_;
  std::deque<Entry> entries_;
  bool more_ = true;
};

Error PastIsOver() {
  return Error(ErrorCode::kValidation,
               "The moment is before the earliest one that can be restored, or point-in-time "
               "recovery was turned off meanwhile");
}

Result<std::shared_ptr<const LoggedMoment>> LoggedMoment::Open(Store& store, TablePtr table,
                                                               int64_t last_micros) {
  if (!table->descriptor.change_log)
    return Error(ErrorCode::kResourceNotFound, "the table has no change log");
  return std::shared_ptr<const LoggedMoment>(
      new LoggedMoment(store, std::move(table), last_micros));
}

Result<bool> LoggedMoment::HasMark(kv::Tier tier) const {
  ASSIGN_OR_RETURN(const int64_t mark, history::ReadMark(store_.engine(), log(), tier));
  return mark != 0;
}

int64_t LoggedMoment::LastDay() const {
  return history::DayOf(store_.change_clock().At(store_.clock().NowMicros()));
}

// Checks, after a read, that the table and its change log still cover the moment. If they do, the
// read saw all records: a log is given up together with its mark, and a day is trimmed only when no
// moment of it can be restored.
Status LoggedMoment::CheckThere(kv::Tier tier) const {
  const TablePtr now = store_.Find(table_->descriptor.name);
  if (now == nullptr || now->descriptor.table_id != table_->descriptor.table_id) {
    return Error(ErrorCode::kResourceNotFound, "Requested resource not found: Table: " +
                                                   std::string(ShownName(table_->descriptor.name)) +
                                                   " not found");
  }
  const auto& present = now->descriptor.change_log;
  if (!present || present->tablet_id != log().tablet_id) return PastIsOver();
  const int64_t earliest = present->EarliestAt(store_.clock().NowMicros());
  if (history::DayOf(last_micros_) < std::max(history::DayOf(earliest), present->first_day))
    return PastIsOver();
  if (!*had_mark_) return OkStatus();
  ASSIGN_OR_RETURN(const bool has, HasMark(tier));
  return has ? OkStatus() : Status(PastIsOver());
}

Result<bool> LoggedMoment::Get(kv::Engine& engine, kv::Tablet tablet, std::string_view key,
                               kv::Tier tier, std::string* item) const {
  if (!had_mark_) {
    ASSIGN_OR_RETURN(had_mark_, HasMark(tier));
  }
  ASSIGN_OR_RETURN(bool found, engine.Get(tablet, key, tier, item));
  if (found) {
    ASSIGN_OR_RETURN(const std::string_view bytes, DecodeItemValue(*item));
    read_bytes_ += item->size();
    item->erase(0, item->size() - bytes.size());
  }
  const int64_t last_day = LastDay();
  bool changed = false;
  for (int64_t day = history::DayOf(last_micros_); day <= last_day && !changed; ++day) {
    const std::string begin = history::FirstKeyOf(day, key, last_micros_ + 1);
    const std::string end = history::FirstKeyOf(day, std::string(key) + '\0', 0);
    kv::Range range{log().tablet(), begin, end};
    range.expected_keys = 1;
    Status decoded;
    TRY(engine.Scan(range, tier, [&](std::string_view log_key, std::string_view value) {
      Result<history::Record> record = history::DecodeRecord(log_key, value);
      if (!record.ok()) {
        decoded = std::move(record).error();
      } else {
        changed = true;
        found = !record->before.empty();
        item->assign(record->before);
        read_bytes_ += value.size();
      }
      return false;
    }));
    TRY(decoded);
    read_bytes_ += kSeekBytes;
  }
  TRY(CheckThere(tier));
  return found;
}

Result<std::string> LoggedMoment::ItemAt(std::string_view key) const {
  std::string item;
  ASSIGN_OR_RETURN(const bool found,
                   Get(store_.engine(), table_->descriptor.tablet(), key, kv::Tier::kAny, &item));
  if (!found) item.clear();
  return item;
}

Status LoggedMoment::Scan(
    kv::Engine& engine, const kv::Range& range, kv::Tier tier,
    FunctionRef<bool(std::string_view key, model::ItemView item)> visit) const {
  if (tier != kv::Tier::kAny) return Error(ErrorCode::kWouldBlock, "");
  if (!had_mark_) {
    ASSIGN_OR_RETURN(had_mark_, HasMark(tier));
  }
  // The keys that are left to visit: [begin, end).
  std::string begin(range.begin);
  std::string end(range.end);
  const size_t most_items = range.expected_keys > 0 ? range.expected_keys + 1 : SIZE_MAX;
  bool stopped = false;
  bool whole = false;  // the stretch is the last one
  while (!stopped && !whole && begin < end) {
    std::deque<std::pair<std::string, std::string>> items;
    size_t bytes = 0;
    whole = true;
    Status bad;
    kv::Range stretch{range.tablet, begin, end, range.reverse};
    stretch.expected_keys = range.expected_keys;
    stretch.expected_bytes = kStretchBytes;
    TRY(engine.Scan(stretch, tier, [&](std::string_view key, std::string_view value) {
      if (bytes >= kStretchBytes || items.size() >= most_items) return whole = false;
      const Result<std::string_view> item = DecodeItemValue(value);
      if (!item.ok()) {
        bad = item.error();
        return false;
      }
      bytes += key.size() + value.size();
      items.emplace_back(key, *item);
      return true;
    }));
    TRY(std::move(bad));
    read_bytes_ += bytes + kSeekBytes;
    std::string low = begin, high = end;
    if (!whole && range.reverse) low = items.back().first;
    if (!whole && !range.reverse) high = items.back().first + '\0';
    (range.reverse ? end : begin) = range.reverse ? low : high;

    std::vector<Day> days;
    const int64_t last_day = LastDay();
    for (int64_t day = history::DayOf(last_micros_); day <= last_day; ++day) {
      days.emplace_back(engine, log().tablet(), day, low, high, range.reverse, last_micros_,
                        &read_bytes_);
    }
    const auto is_before = [&range](const std::string& a, const std::string& b) {
      return range.reverse ? b < a : a < b;
    };
    while (!stopped) {
      const std::string* first = items.empty() ? nullptr : &items.front().first;
      for (Day& day : days) {
        ASSIGN_OR_RETURN(const bool has, day.Has());
        if (has && (first == nullptr || is_before(day.front().item_key, *first)))
          first = &day.front().item_key;
      }
      if (first == nullptr) break;
      const std::string key = *first;
      std::string item;
      if (!items.empty() && items.front().first == key) {
        item = std::move(items.front().second);
        items.pop_front();
      }
      bool changed = false;
      for (Day& day : days) {
        ASSIGN_OR_RETURN(const bool has, day.Has());
        if (!has || day.front().item_key != key) continue;
        if (!changed && day.front().before) {
          item = *std::move(day.front().before);
          changed = true;
        }
        day.Pop();
      }
      stopped = !visit(key, item.empty() ? model::ItemView() : model::ItemView(item));
    }
  }
  return CheckThere(tier);
}

}  // namespace stator::table
