#include "kv_rados/range_cache.h"

#include <utility>

namespace stator::kv_rados {
namespace {

// One place takes no more of the whole than this part.
constexpr size_t kShare = 32;
constexpr size_t kPlaceBytes = 400;  // of a place beside its entries: list, index, name

void AppendBytes(uint32_t number, std::string* out) {
  out->append(reinterpret_cast<const char*>(&number), sizeof number);
}

}  // namespace

Result<std::string_view> Entries::Decode(std::string_view cell) {
  keys_.resize(end_);
  TRY(AppendKeyOfCell(cell, &keys_));
  return std::string_view(keys_).substr(end_);
}

void Entries::Add(std::string_view value) {
  entries_.push_back({end_, keys_.size() - end_, value});
  value_bytes_ += value.size();
  end_ = keys_.size();
}

void Entries::Add(std::string_view key, std::string_view value) {
  keys_.resize(end_);
  keys_.append(key);
  Add(value);
}

// Returns the name of a place in the cache. It is used only in this process.
std::string RangeCache::NameOf(const Place& place) {
  std::string name;
  name.reserve(16 + place.begin.size() + place.end.size());
  name.push_back(static_cast<char>(place.part.tablet.space));
  AppendBytes(place.part.tablet.id, &name);
  AppendBytes(place.part.number, &name);
  AppendBytes(static_cast<uint32_t>(place.begin.size()), &name);
  name.append(place.begin);
  name.append(place.end);
  return name;
}

RangeCache::Known RangeCache::Find(const Place& place, size_t keys, bool* again) {
  *again = false;
  if (off_.load(std::memory_order_relaxed)) return {};
  const std::string name = NameOf(place);
  const size_t hash = std::hash<std::string>()(name);
  std::atomic<uint32_t>& asked = asked_[hash % asked_.size()];
  const auto mark = static_cast<uint32_t>(hash >> 32);
  *again = asked.load(std::memory_order_relaxed) == mark;
  if (!*again) asked.store(mark, std::memory_order_relaxed);
  MutexLock lock(mutex_);
  const auto found = index_.find(name);
  if (found == index_.end()) return {};
  *again = true;
  lru_.Use(found->second);
  const Known& known = found->second->known;
  // `keys` is an estimate of the keys that have the wanted bytes, and changes all the time. So an
  // entry with 7/8 of them is enough.
  return known.entries->more && 8 * known.entries->size() < 7 * keys ? Known() : known;
}

void RangeCache::Note(const Place& place, Known known) {
  std::string name = NameOf(place);
  const size_t bytes = kPlaceBytes + 2 * name.size() + known.entries->bytes();
  // The entry is allocated, and removed entries are destroyed, without the lock.
  LruList<Entry> made, gone;
  const Handle entry = made.Add({std::move(name), std::move(known)}, bytes);
  MutexLock lock(mutex_);
  const auto remove = [this, &gone](Handle one) REQUIRES(mutex_) {
    index_.erase(one->name);
    lru_.MoveTo(gone, one);
  };
  if (const auto found = index_.find(entry->name); found != index_.end()) remove(found->second);
  if (bytes > max_bytes_ / kShare) return;
  while (lru_.charge() + bytes > max_bytes_) remove(lru_.oldest());
  made.MoveTo(lru_, entry);
  index_.emplace(entry->name, entry);
}

size_t RangeCache::bytes() const {
  MutexLock lock(mutex_);
  return lru_.charge();
}

}  // namespace stator::kv_rados
