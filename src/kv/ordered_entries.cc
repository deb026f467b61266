#include "kv/ordered_entries.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <new>
#include <utility>

#include "base/prefetch.h"

namespace stator::kv {
namespace {

// How far a scan prefetches values; it prefetches the entries themselves twice as far. With values
// of a kilobyte this hides the memory latency behind the visit of one entry.
constexpr int kValuesAhead = 3;
constexpr int kEntriesAhead = 2 * kValuesAhead;
constexpr size_t kEntryBytes = 128;  // covers most entries with their keys

// Prefetches ahead of a scan. The distance grows with the number of entries visited, so a scan of
// one entry prefetches little in vain.
template <typename Iterator, typename Touch>
class Ahead {
 public:
  Ahead(Iterator at, Iterator last, int distance, Touch touch)
      : at_(at), last_(last), distance_(distance), touch_(touch) {}
  // Called before each step of the scan.
  void Step() {
    for (int i = 0; i < (led_ < distance_ ? 2 : 1) && at_ != last_; ++i, ++at_, ++led_)
      touch_(*at_);
    --led_;
  }

 private:
  Iterator at_;
  const Iterator last_;
  const int distance_;
  int led_ = 0;  // entries between the scan and the prefetch
  const Touch touch_;
};

}  // namespace

OrderedEntries::~OrderedEntries() {
  for (const Slot& slot : tree_) FreeEntry(slot.entry);
}

void OrderedEntries::Swap(OrderedEntries* other) {
  tree_.swap(other->tree_);
  index_.Swap(&other->index_);
  std::swap(bytes_, other->bytes_);
}

OrderedEntries::Head OrderedEntries::HeadOf(std::string_view key) {
  unsigned char first[sizeof(Head)] = {};
  if (!key.empty()) std::memcpy(first, key.data(), std::min(key.size(), sizeof first));
  Head head = 0;
  for (const unsigned char byte : first) head = head << 8 | byte;
  return head;
}

OrderedEntries::Entry* OrderedEntries::MakeEntry(std::string_view key, std::string value) {
  void* const room = ::operator new(sizeof(Entry) + key.size());
  Entry* const entry = new (room) Entry{std::move(value), key.size()};
  if (!key.empty()) std::memcpy(static_cast<char*>(room) + sizeof(Entry), key.data(), key.size());
  return entry;
}

void OrderedEntries::FreeEntry(Entry* entry) {
  entry->~Entry();
  ::operator delete(entry);
}

const std::string* OrderedEntries::Find(std::string_view key) const {
  Entry* const* const found = index_.Find(key);
  return found == nullptr ? nullptr : &(*found)->value;
}

void OrderedEntries::Put(std::string_view key, std::string value) {
  bytes_ += value.size();
  if (Entry** const found = index_.Find(key); found != nullptr) {
    bytes_ -= (*found)->value.size();
    (*found)->value = std::move(value);
    return;
  }
  bytes_ += key.size();
  Entry* const entry = MakeEntry(key, std::move(value));
  tree_.insert({HeadOf(key), entry});
  index_.Insert(entry->key(), entry);
}

void OrderedEntries::Erase(std::string_view key) {
  Entry** const found = index_.Find(key);
  if (found == nullptr) return;
  Entry* const entry = *found;
  bytes_ -= entry->key_bytes + entry->value.size();
  tree_.erase(tree_.find(Sought{HeadOf(key), key}));
  index_.Erase(key);
  FreeEntry(entry);
}

void OrderedEntries::EraseRange(std::string_view begin, std::string_view end) {
  if (!end.empty() && begin >= end) return;
  const auto first = LowerBound(begin);
  const auto last = end.empty() ? tree_.end() : LowerBound(end);
  for (auto it = first; it != last; ++it) {
    bytes_ -= it->entry->key_bytes + it->entry->value.size();
    index_.Erase(it->entry->key());
    FreeEntry(it->entry);
  }
  tree_.erase(first, last);
}

OrderedEntries::Tree::const_iterator OrderedEntries::LowerBound(std::string_view key) const {
  const Head head = HeadOf(key);
  // Finds the place by heads alone, without reading a key. This is usually enough, because most
  // scans begin before the first key of some prefix.
  const auto first = tree_.lower_bound(head);
  if (first == tree_.end() || first->head != head || first->entry->key() >= key) return first;
  return tree_.lower_bound(Sought{head, key});
}

template <typename Iterator, typename Outside>
void OrderedEntries::Walk(Iterator at, Iterator last, Outside outside,
                          FunctionRef<bool(std::string_view key, std::string_view value)> visit) {
  const auto touch_entry = [](const Slot& slot) { Prefetch(slot.entry, kEntryBytes); };
  const auto touch_value = [](const Slot& slot) {
    Prefetch(slot.entry->value.data(), slot.entry->value.size());
  };
  Ahead entries(at, last, kEntriesAhead, touch_entry);
  Ahead values(at, last, kValuesAhead, touch_value);
  for (; at != last; ++at) {
    entries.Step();
    values.Step();
    const std::string_view key = at->entry->key();
    if (outside(key) || !visit(key, at->entry->value)) return;
  }
}

void OrderedEntries::Scan(
    std::string_view begin, std::string_view end, bool reverse,
    FunctionRef<bool(std::string_view key, std::string_view value)> visit) const {
  if (!end.empty() && begin >= end) return;
  // Searches once. The end of the range is recognized on the way: a second search costs more than a
  // few comparisons of keys.
  if (!reverse) {
    Walk(
        LowerBound(begin), tree_.end(),
        [&](std::string_view key) { return !end.empty() && key >= end; }, visit);
  } else {
    Walk(
        std::make_reverse_iterator(end.empty() ? tree_.end() : LowerBound(end)), tree_.rend(),
        [&](std::string_view key) { return key < begin; }, visit);
  }
}

}  // namespace stator::kv
