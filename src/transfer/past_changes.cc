#include "transfer/past_changes.h"

#include <deque>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "history/change_log.h"
#include "table/item_value.h"

namespace stator::transfer {
namespace {

// Bounds the records that a day holds at a time, but for one.
constexpr size_t kStretchBytes = 256 << 10;

// The records of a day that are in the window, in their order.
class DayOfWindow {
 public:
  struct Entry {
    std::string item_key;
    std::string before;
    int64_t micros = 0;
  };

  DayOfWindow(kv::Engine& engine, kv::Tablet tablet, int64_t day, int64_t from, int64_t to)
      : engine_(engine),
        tablet_(tablet),
        next_(history::FirstKeyOfDay(day)),
        end_(history::FirstKeyOfDay(day + 1)),
        from_(from),
        to_(to) {}

  // Reads on if nothing is left. False at the end.
  Result<bool> Has() {
    while (entries_.empty() && more_) TRY(ReadOn());
    return !entries_.empty();
  }
  const Entry& front() const { return entries_.front(); }
  void Pop() { entries_.pop_front(); }

 private:
  Status ReadOn() {
    size_t bytes = 0;
    Status decoded;
    kv::Range range{tablet_, next_, end_};
    range.expected_bytes = kStretchBytes;
    more_ = false;
    std::string next;
    TRY(engine_.Scan(range, kv::Tier::kAny, [&](std::string_view key, std::string_view value) {
      if (bytes >= kStretchBytes) {
        more_ = true;
        next = key;
        return false;
      }
      bytes += key.size() + value.size();
      Result<history::Record> record = history::DecodeRecord(key, value);
      if (!record.ok()) {
        decoded = std::move(record).error();
        return false;
      }
      if (record->micros > from_ && record->micros <= to_) {
        entries_.push_back(
            {std::move(record->item_key), std::string(record->before), record->micros});
      }
      return true;
    }));
    next_ = std::move(next);
    return decoded;
  }

  kv::Engine& engine_;
  const kv::Tablet tablet_;
  std::string next_;
  const std::string end_;
  const int64_t from_;
  const int64_t to_;
  std::deque<Entry> entries_;
  bool more_ = true;
};

// Returns what the item was before its first change after a moment; nothing: there was none.
Result<std::optional<std::string>> BeforeFirstChange(table::Store& store, kv::Tablet tablet,
                                                     const std::string& item_key,
                                                     int64_t moment_micros) {
  const int64_t last = history::DayOf(store.change_clock().At(store.clock().NowMicros()));
  for (int64_t day = history::DayOf(moment_micros); day <= last; ++day) {
    const std::string begin = history::FirstKeyOf(day, item_key, moment_micros + 1);
    const std::string end = history::FirstKeyOfDay(day + 1);
    kv::Range range{tablet, begin, end};
    range.expected_keys = 1;
    std::optional<std::string> before;
    Status decoded;
    TRY(store.engine().Scan(range, kv::Tier::kAny,
                            [&](std::string_view key, std::string_view value) {
                              Result<history::Record> record = history::DecodeRecord(key, value);
                              if (!record.ok()) {
                                decoded = std::move(record).error();
                              } else if (record->item_key == item_key) {
                                before = std::string(record->before);
                              }
                              return false;
                            }));
    TRY(decoded);
    if (before) return before;
  }
  return std::optional<std::string>();
}

// Returns the item at a moment. It is read first and its changes then: one that comes between is
// among them.
Result<std::string> ItemAt(table::Store& store, const table::Table& table,
                           const std::string& item_key, int64_t moment_micros) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found,
                   store.engine().Get(table.descriptor.tablet(), item_key, kv::Tier::kAny, &value));
  ASSIGN_OR_RETURN(
      std::optional<std::string> before,
      BeforeFirstChange(store, table.descriptor.change_log->tablet(), item_key, moment_micros));
  if (before) return *std::move(before);
  if (!found) return std::string();
  ASSIGN_OR_RETURN(const std::string_view item, table::DecodeItemValue(value));
  return std::string(item);
}

}  // namespace

Status ReadPastChanges(table::Store& store, const table::Table& table, int64_t from_micros,
                       int64_t to_micros, FunctionRef<Status(const PastChange&)> visit) {
  const auto& log = table.descriptor.change_log;
  if (!log) return Error(ErrorCode::kResourceNotFound, "the table has no change log");
  std::vector<DayOfWindow> days;
  for (int64_t day = history::DayOf(from_micros); day <= history::DayOf(to_micros); ++day)
    days.emplace_back(store.engine(), log->tablet(), day, from_micros, to_micros);
  for (;;) {
    std::string key;
    bool any = false;
    for (DayOfWindow& day : days) {
      ASSIGN_OR_RETURN(const bool has, day.Has());
      if (!has || (any && day.front().item_key >= key)) continue;
      key = day.front().item_key;
      any = true;
    }
    if (!any) return OkStatus();
    PastChange change;
    std::optional<std::string> before;
    for (DayOfWindow& day : days) {
      for (;;) {
        ASSIGN_OR_RETURN(const bool has, day.Has());
        if (!has || day.front().item_key != key) break;
        if (!before) before = day.front().before;
        change.last_micros = day.front().micros;
        day.Pop();
      }
    }
    ASSIGN_OR_RETURN(const std::string after, ItemAt(store, table, key, to_micros));
    if (before->empty() && after.empty()) continue;
    change.key = key;
    change.before = *before;
    change.after = after;
    TRY(visit(change));
  }
}

}  // namespace stator::transfer
