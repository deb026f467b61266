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

// Of this process only.
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

size_t RangeCache::BytesOf(const Entry& entry) {
  return kPlaceBytes + 2 * entry.name.size() + entry.known.entries->bytes();
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
  entries_.splice(entries_.begin(), entries_, found->second);
  const Known& known = found->second->known;
  // How many keys make so many bytes is known roughly, and changes a little all the time.
  return known.entries->more && 8 * known.entries->size() < 7 * keys ? Known() : known;
}

void RangeCache::Note(const Place& place, Known known) {
  std::list<Entry> entry;  // made, and what goes destroyed, without the lock
  entry.push_back({NameOf(place), std::move(known)});
  const size_t bytes = BytesOf(entry.front());
  std::list<Entry> gone;
  MutexLock lock(mutex_);
  const auto take_out = [this, &gone](std::list<Entry>::iterator one) REQUIRES(mutex_) {
    bytes_ -= BytesOf(*one);
    index_.erase(one->name);
    gone.splice(gone.begin(), entries_, one);
  };
  if (const auto found = index_.find(entry.front().name); found != index_.end())
    take_out(found->second);
  if (bytes > max_bytes_ / kShare) return;
  while (bytes_ + bytes > max_bytes_) take_out(std::prev(entries_.end()));
  bytes_ += bytes;
  entries_.splice(entries_.begin(), entry);
  index_.emplace(entries_.front().name, entries_.begin());
}

size_t RangeCache::bytes() const {
  MutexLock lock(mutex_);
  return bytes_;
}

}  // namespace stator::kv_rados
