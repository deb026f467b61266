#include "table/history.h"

#include <algorithm>

#include "table/item_value.h"

namespace stator::table {
namespace {

// What a change costs beside its key and its item, about: map node, queue entries, the shared
// string.
constexpr size_t kOverheadBytes = 192;

}  // namespace

void History::Keep(std::map<std::string, int64_t, std::less<>> ages) {
  MutexLock lock(mutex_);
  ages_ = std::move(ages);
  max_age_ = 0;
  for (const auto& [table, age] : ages_) max_age_ = std::max(max_age_, age);
  keeping_.store(!ages_.empty(), std::memory_order_relaxed);
  Trim();
}

bool History::KeepsTable(std::string_view table) const {
  MutexLock lock(mutex_);
  return ages_.contains("*") || ages_.contains(table);
}

int64_t History::Now() {
  now_ = std::max(now_, clock_.NowMicros());
  return now_;
}

size_t History::SizeOf(const Place& place, const Change& change) {
  return kOverheadBytes + place.second.size() +
         (change.before != nullptr ? change.before->size() : 0);
}

History::Recording History::Record(std::vector<Before> changes) {
  Recording recording;
  recording.reserve(changes.size());
  MutexLock lock(mutex_);
  for (Before& change : changes) {
    Place place(change.tablet, std::move(change.key));
    const auto at = changes_.try_emplace(std::move(place)).first;
    at->second.push_back({++last_number_, kPending, std::move(change.item)});
    bytes_ += SizeOf(at->first, at->second.back());
    recording.emplace_back(at, last_number_);
  }
  return recording;
}

void History::Settle(const Recording& recording, std::optional<uint64_t> stamp) {
  if (recording.empty()) return;
  MutexLock lock(mutex_);
  if (!stamp) {
    for (const auto& [place, number] : recording) {
      std::deque<Change>& chain = place->second;
      const auto change = Find(&chain, number);
      // What a change that never was has replaced is what the next one replaces.
      if (change + 1 != chain.end()) {
        bytes_ -= SizeOf(place->first, change[1]);
        change[1].before = change->before;
        bytes_ += SizeOf(place->first, change[1]);
      }
      Erase(place, number);
    }
    return;
  }
  // An engine may report independent batches out of order. Give this batch a time that is not later
  // than those of batches with higher stamps.
  int64_t time = Now();
  auto behind = settled_.end();
  while (behind != settled_.begin() && (behind - 1)->stamp > *stamp) {
    --behind;
    time = behind->time;
  }
  std::vector<Settled> settled;
  settled.reserve(recording.size());
  for (const auto& [place, number] : recording) {
    Find(&place->second, number)->time = time;
    settled.push_back({*stamp, time, place, number});
  }
  settled_.insert(behind, settled.begin(), settled.end());
  Trim();
}

std::deque<History::Change>::iterator History::Find(std::deque<Change>* chain, uint64_t number) {
  return std::find_if(chain->begin(), chain->end(),
                      [number](const Change& change) { return change.number == number; });
}

void History::Erase(Changes::iterator place, uint64_t number) {
  const auto change = Find(&place->second, number);
  bytes_ -= SizeOf(place->first, *change);
  place->second.erase(change);
  if (place->second.empty()) changes_.erase(place);
}

void History::Trim() {
  int64_t oldest = Now() - max_age_;
  if (!moments_.empty()) oldest = std::min(oldest, *moments_.begin());
  while (!settled_.empty() && (settled_.front().time <= oldest || bytes_ > max_bytes_)) {
    Erase(settled_.front().place, settled_.front().number);
    settled_.pop_front();
  }
}

std::shared_ptr<const History::Moment> History::MomentAgo(int64_t age) {
  MutexLock lock(mutex_);
  const int64_t time = Now() - age;
  moments_.insert(time);
  Trim();
  return std::shared_ptr<const Moment>(new Moment(*this, time));
}

History::Moment::~Moment() {
  MutexLock lock(history_.mutex_);
  history_.moments_.erase(history_.moments_.find(time_));
}

size_t History::size() const {
  MutexLock lock(mutex_);
  size_t size = 0;
  for (const auto& [place, changes] : changes_) size += changes.size();
  return size;
}

std::optional<History::Found> History::First(kv::Tablet tablet, std::string_view begin,
                                             std::string_view end, bool reverse,
                                             int64_t time) const {
  MutexLock lock(mutex_);
  auto low = changes_.lower_bound(PlaceView(tablet, begin));
  auto high = low;
  if (end.empty()) {
    high = tablet.id == UINT32_MAX
               ? changes_.end()
               : changes_.lower_bound(PlaceView({tablet.space, tablet.id + 1}, ""));
  } else if (begin < end) {
    high = changes_.lower_bound(PlaceView(tablet, end));
  }
  const auto found = [time](const auto& entry) -> std::optional<Found> {
    for (const Change& change : entry.second) {
      if (change.time > time) return Found{entry.first.second, change.before};
    }
    return std::nullopt;
  };
  while (low != high) {
    if (reverse) {
      --high;
      if (auto at = found(*high)) return at;
    } else {
      if (auto at = found(*low)) return at;
      ++low;
    }
  }
  return std::nullopt;
}

// Each read asks the engine first and the history afterwards: then every change that the engine
// showed is in the history. In the other order a change between the two could be missed.

Result<bool> History::Moment::Get(kv::Engine& engine, kv::Tablet tablet, std::string_view key,
                                  kv::Tier tier, std::string* item) const {
  ASSIGN_OR_RETURN(const bool found, engine.Get(tablet, key, tier, item));
  const std::string end = std::string(key) + '\0';
  if (const auto before = history_.First(tablet, key, end, false, time_)) {
    if (before->item == nullptr) return false;
    *item = *before->item;
    return true;
  }
  if (!found) return false;
  ASSIGN_OR_RETURN(const std::string_view bytes, DecodeItemValue(*item));
  item->erase(0, item->size() - bytes.size());
  return true;
}

Status History::Moment::Scan(
    kv::Engine& engine, const kv::Range& range, kv::Tier tier,
    FunctionRef<bool(std::string_view key, model::ItemView item)> visit) const {
  // What is left to visit: [begin, end).
  std::string begin(range.begin);
  std::string end(range.end);
  bool stopped = false;
  const auto pass = [&](std::string_view key) {
    if (range.reverse) {
      end.assign(key);
    } else {
      begin.assign(key);
      begin.push_back('\0');
    }
  };
  // Visits the keys that have changed since the moment, from the last visited key up to `bound`,
  // which is included if it is a key. Returns true if `bound` itself was one of them, or `visit`
  // stopped.
  const auto changed_until = [&](std::optional<std::string_view> bound) {
    std::string low = begin;
    std::string high = end;
    if (bound && range.reverse) low.assign(*bound);
    if (bound && !range.reverse) high = std::string(*bound) + '\0';
    while (const auto found = history_.First(range.tablet, low, high, range.reverse, time_)) {
      pass(found->key);
      (range.reverse ? high : low) = range.reverse ? end : begin;
      stopped = found->item != nullptr && !visit(found->key, model::ItemView(*found->item));
      if (stopped || (bound && found->key == *bound)) return true;
      // An empty end would be that of the tablet.
      if (range.reverse && high.empty()) break;
    }
    return false;
  };
  Status bad;
  TRY(engine.Scan(range, tier, [&](std::string_view key, std::string_view value) {
    if (changed_until(key)) return !stopped;
    Result<std::string_view> bytes = DecodeItemValue(value);
    if (!bytes.ok()) {
      bad = std::move(bytes).error();
      stopped = true;
      return false;
    }
    pass(key);
    stopped = !visit(key, model::ItemView(*bytes));
    return !stopped;
  }));
  TRY(std::move(bad));
  if (!stopped) changed_until(std::nullopt);
  return OkStatus();
}

}  // namespace stator::table
