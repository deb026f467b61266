#include "transfer/past_table.h"

#include <algorithm>
#include <deque>
#include <string>
#include <utility>

#include "history/change_log.h"
#include "table/item_value.h"
#include "table/key_encoding.h"

namespace stator::transfer {
namespace {

// The maximum number of bytes of keys and values that one source of the merge buffers. There is one
// source for each day of the change log, at most 37, and one for the items.
constexpr size_t kStretchBytes = 256 << 10;

Result<std::unique_ptr<kv::PinnedRange>> PinRange(kv::Pinner& pinner, kv::Tablet tablet,
                                                  const std::string& begin,
                                                  const std::string& end) {
  kv::Range range;
  range.tablet = tablet;
  range.begin = begin;
  range.end = end;
  range.expected_bytes = kStretchBytes;
  return pinner.Pin(range);
}

}  // namespace

// The items as they are at the moment of the pin, one at a time.
class PastTable::Items {
 public:
  explicit Items(std::unique_ptr<kv::PinnedRange> range) : range_(std::move(range)) {}

  // Reads on if nothing is left. False at the end.
  Result<bool> Has() {
    while (items_.empty() && more_) {
      ASSIGN_OR_RETURN(
          more_, range_->Next([this](std::string_view key, std::string_view value) -> Status {
            ASSIGN_OR_RETURN(const std::string_view item, table::DecodeItemValue(value));
            items_.emplace_back(key, item);
            return OkStatus();
          }));
    }
    return !items_.empty();
  }
  const std::string& key() const { return items_.front().first; }
  const std::string& item() const { return items_.front().second; }
  void Pop() { items_.pop_front(); }

 private:
  std::unique_ptr<kv::PinnedRange> range_;
  std::deque<std::pair<std::string, std::string>> items_;
  bool more_ = true;
};

// One day of the change log: for each item that changed on that day after the moment, its state
// before the first of these changes.
class PastTable::Day {
 public:
  Day(std::unique_ptr<kv::PinnedRange> range, int64_t moment_micros)
      : range_(std::move(range)), moment_micros_(moment_micros) {}

  Result<bool> Has() {
    while (before_.empty() && more_) {
      ASSIGN_OR_RETURN(more_, range_->Next([this](std::string_view key, std::string_view value) {
        return Take(key, value);
      }));
    }
    return !before_.empty();
  }
  const std::string& key() const { return before_.front().first; }
  const std::string& before() const { return before_.front().second; }
  void Pop() { before_.pop_front(); }

 private:
  Status Take(std::string_view key, std::string_view value) {
    ASSIGN_OR_RETURN(history::Record record, history::DecodeRecord(key, value));
    if (record.micros <= moment_micros_ || record.item_key == last_key_) return OkStatus();
    last_key_ = record.item_key;
    before_.emplace_back(std::move(record.item_key), record.before);
    return OkStatus();
  }

  std::unique_ptr<kv::PinnedRange> range_;
  const int64_t moment_micros_;
  std::string last_key_;
  std::deque<std::pair<std::string, std::string>> before_;  // absent items are empty
  bool more_ = true;
};

PastTable::PastTable() = default;
PastTable::~PastTable() = default;

Result<std::unique_ptr<PastTable>> PastTable::Pin(table::Store& store, const table::Table& table,
                                                  int64_t moment_micros) {
  kv::Pinner* const pinner = store.engine().pinner();
  const auto& log = table.descriptor.change_log;
  if (pinner == nullptr || !log)
    return Error(ErrorCode::kUnavailable, "The table has no change log that can be read.");
  std::unique_ptr<PastTable> past(new PastTable());
  // Pin the items before the log. A change between the two pins is then in the pinned log but not
  // among the pinned items. That does no harm: Read takes the value of the item from the log, as it
  // was before the change.
  ASSIGN_OR_RETURN(std::unique_ptr<kv::PinnedRange> items,
                   PinRange(*pinner, table.descriptor.tablet(), table::FirstKeyOfHash(0),
                            table::EndOfItemKeys()));
  past->items_ = std::make_unique<Items>(std::move(items));
  const int64_t last = history::DayOf(store.change_clock().At(store.clock().NowMicros()));
  for (int64_t day = history::DayOf(moment_micros); day <= last; ++day) {
    ASSIGN_OR_RETURN(std::unique_ptr<kv::PinnedRange> range,
                     PinRange(*pinner, log->tablet(), history::FirstKeyOfDay(day),
                              history::FirstKeyOfDay(day + 1)));
    past->days_.push_back(std::make_unique<Day>(std::move(range), moment_micros));
  }
  return past;
}

Status PastTable::Read(Visit visit) {
  for (;;) {
    // The first key that any of them has, and the first day that has it: the oldest image.
    const std::string* key = nullptr;
    const Day* oldest = nullptr;
    ASSIGN_OR_RETURN(const bool has_item, items_->Has());
    if (has_item) key = &items_->key();
    for (const std::unique_ptr<Day>& day : days_) {
      ASSIGN_OR_RETURN(const bool has, day->Has());
      if (!has) continue;
      if (key == nullptr || day->key() < *key || (oldest == nullptr && day->key() == *key)) {
        key = &day->key();
        oldest = day.get();
      }
    }
    if (key == nullptr) return OkStatus();
    const std::string& item = oldest != nullptr ? oldest->before() : items_->item();
    if (!item.empty()) TRY(visit(*key, item));
    const std::string passed = *key;
    if (has_item && items_->key() == passed) items_->Pop();
    for (const std::unique_ptr<Day>& day : days_) {
      ASSIGN_OR_RETURN(const bool has, day->Has());
      if (has && day->key() == passed) day->Pop();
    }
  }
}

}  // namespace stator::transfer
