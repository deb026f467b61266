#include "kv_rados/value_cache.h"

#include "kv_rados/routing.h"

namespace stator::kv_rados {
namespace {

constexpr size_t kEntryBytes = 200;  // of an entry beside its key and value: list, index, strings

// Returns true if values of this key may be cached. Counters are not cached: every part has its
// own, and writes add to it. The engine's own keys (first byte FF) are not cached either: they are
// written once.
bool IsKept(kv::Tablet tablet, std::string_view key) {
  return (key.empty() || key[0] != '\xff') && RouteOf(tablet.space, key).has_value();
}

// Returns true if two values of one key are from the same write. Only their stamps are compared:
// every write has its own.
bool IsSame(std::string_view value, std::string_view other) {
  const uint64_t stamp = kv::StampOf(value);
  return stamp != 0 && stamp == kv::StampOf(other) && value.size() == other.size();
}

}  // namespace

ValueCache::ValueCache(size_t max_bytes, std::function<int64_t()> ticks)
    : max_shard_bytes_(max_bytes / kShards), ticks_(std::move(ticks)) {}

void ValueCache::Doubt(kv::Tablet tablet, bool changed) {
  std::atomic<uint32_t>& doubt = DoubtOf(tablet);
  const uint32_t before = doubt.load(std::memory_order_relaxed);
  if (before == 0 && !changed) return;
  doubt.store(changed ? before + (kAlways - before) / 16 : before - (before + 63) / 64,
              std::memory_order_relaxed);
}

size_t ValueCache::Hash::operator()(const Place& place) const {
  const size_t tablet =
      (static_cast<size_t>(place.tablet.id) << 2 | static_cast<size_t>(place.tablet.space)) *
      0x9e3779b97f4a7c15u;
  return std::hash<std::string_view>()(place.key) ^ tablet;
}

ValueCache::Shard& ValueCache::ShardOf(const Place& place) {
  return shards_[(Hash()(place) >> 32) % shards_.size()];
}

size_t ValueCache::BytesOf(const Entry& entry) {
  return kEntryBytes + entry.key.size() + (entry.value ? entry.value->size() : 0);
}

void ValueCache::SetValue(Shard& shard, Handle entry, std::optional<std::string> value) {
  entry->value = std::move(value);
  shard.lru.SetCharge(entry, BytesOf(*entry));
}

void ValueCache::Remove(Shard& shard, Handle entry) {
  shard.floor = std::max({shard.floor, entry->floor, entry->noted});
  shard.index.erase({entry->tablet, entry->key});
  shard.lru.Remove(entry);
}

void ValueCache::Evict(Shard& shard) {
  while (shard.lru.charge() > max_shard_bytes_) Remove(shard, shard.lru.oldest());
}

ValueCache::Known ValueCache::Find(kv::Tablet tablet, std::string_view key,
                                   std::optional<std::string>* value) {
  const Place place{tablet, key};
  Shard& shard = ShardOf(place);
  Known known = Known::kNo;
  {
    MutexLock lock(shard.mutex);
    const auto found = shard.index.find(place);
    if (found != shard.index.end() && found->second->known) {
      known = InDoubt(tablet) && ticks_() - found->second->noted > kYoungMicros ? Known::kDoubted
                                                                                : Known::kYes;
      shard.lru.Use(found->second);
      if (known == Known::kYes) *value = found->second->value;
    }
  }
  if (known == Known::kYes) Doubt(tablet, false);  // until the guard is refused
  (known == Known::kYes ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed);
  return known;
}

void ValueCache::NoteRefused(const std::vector<kv::Guard>& guards) {
  for (const kv::Guard& guard : guards) {
    const Place place{guard.tablet, guard.key};
    Shard& shard = ShardOf(place);
    MutexLock lock(shard.mutex);
    const auto found = shard.index.find(place);
    if (found == shard.index.end()) continue;
    if (!found->second->known) continue;
    const std::optional<std::string>& value = found->second->value;
    if ((value ? kv::StampOf(*value) : 0) == guard.expected()) return Doubt(guard.tablet, true);
  }
}

std::optional<size_t> ValueCache::SizeOf(kv::Tablet tablet, std::string_view key, uint64_t stamp) {
  const Place place{tablet, key};
  Shard& shard = ShardOf(place);
  MutexLock lock(shard.mutex);
  const auto found = shard.index.find(place);
  if (found == shard.index.end()) return std::nullopt;
  const std::optional<std::string>& value = found->second->value;  // none if it is not known
  return value && kv::StampOf(*value) == stamp ? std::optional(value->size()) : std::nullopt;
}

void ValueCache::NoteRead(kv::Tablet tablet, std::string_view key,
                          std::optional<std::string_view> value, Moment began) {
  if (IsKept(tablet, key)) Note({tablet, key}, value, nullptr, began, true);
}

void ValueCache::NoteWritten(kv::Tablet tablet, std::string_view key,
                             std::optional<std::string> value, int64_t arrived) {
  if (!IsKept(tablet, key)) return;
  Note({tablet, key}, value, value ? &*value : nullptr,
       {now_.fetch_add(1, std::memory_order_acq_rel) + 1, arrived}, false);
}

bool ValueCache::FindRecent(kv::Tablet tablet, std::string_view key, int64_t max_age_micros,
                            std::optional<std::string>* value, bool* ask) {
  const Place place{tablet, key};
  Shard& shard = ShardOf(place);
  MutexLock lock(shard.mutex);
  const auto found = shard.index.find(place);
  if (found == shard.index.end()) return false;
  Entry& entry = *found->second;
  const int64_t now = ticks_();
  if (!entry.known || !entry.checked || *entry.checked < now - max_age_micros) return false;
  *ask = *entry.checked < now - max_age_micros / 2 && entry.asked < now - max_age_micros / 2;
  if (*ask) entry.asked = now;
  shard.lru.Use(found->second);
  *value = entry.value;
  recent_hits_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

ValueCache::Handle ValueCache::EntryOf(Shard& shard, const Place& place) {
  if (const auto found = shard.index.find(place); found != shard.index.end()) return found->second;
  Entry made{.tablet = place.tablet, .key = std::string(place.key), .floor = shard.floor};
  const size_t bytes = BytesOf(made);
  const Handle entry = shard.lru.Add(std::move(made), bytes);
  shard.index.emplace(Place{place.tablet, entry->key}, entry);
  return entry;
}

void ValueCache::NoteElsewhere(kv::Tablet tablet, std::string_view key) {
  if (!IsKept(tablet, key)) return;
  const Place place{tablet, key};
  Shard& shard = ShardOf(place);
  MutexLock lock(shard.mutex);
  const Handle entry = EntryOf(shard, place);
  SetValue(shard, entry, std::nullopt);
  entry->known = false;
  Doubt(*entry, ticks_());
  Evict(shard);
}

void ValueCache::Doubt(Entry& entry, int64_t now) {
  entry.checked.reset();
  entry.floor = now;
}

// Notes how recent the value of an entry is known to be. Of two values the one with the higher
// stamp is newer. A value and "absent" cannot be compared by stamps: their order is known only if
// one operation was sent after the other had been answered.
void ValueCache::Check(Entry& entry, std::optional<std::string_view> value, bool same, int64_t sent,
                       int64_t now) {
  const bool by_stamp = value && entry.value;
  if (!same && !by_stamp) {
    if (sent <= entry.noted) {
      Doubt(entry, now);
    } else {
      entry.checked.reset();
    }
  }
  if (sent > entry.floor) entry.checked = std::max(entry.checked.value_or(sent), sent);
}

void ValueCache::Note(const Place& place, std::optional<std::string_view> value, std::string* owned,
                      Moment known_since, bool is_read) {
  const auto taken = [&]() -> std::optional<std::string> {
    if (!value) return std::nullopt;
    return owned != nullptr ? std::move(*owned) : std::string(*value);
  };
  if (value && value->size() > kMaxValueBytes) return NoteElsewhere(place.tablet, place.key);
  const int64_t now = ticks_();
  Shard& shard = ShardOf(place);
  MutexLock lock(shard.mutex);
  auto found = shard.index.find(place);
  if (found == shard.index.end() || !found->second->known) {
    if (found != shard.index.end() && is_read && known_since.ticks <= found->second->floor) return;
    const Handle entry = EntryOf(shard, place);
    entry->known = true;
    entry->known_since = known_since.writes;
    entry->noted = now;
    if (known_since.ticks > entry->floor) entry->checked = known_since.ticks;
    if (value) SetValue(shard, entry, taken());
  } else {
    Entry& entry = *found->second;
    if (value && entry.value && kv::StampOf(*entry.value) > kv::StampOf(*value)) return;
    if (entry.known_since > known_since.writes) {
      // The read was answered with this, which may be newer than what was written meanwhile.
      if (value || entry.value) Doubt(entry, now);
      return;
    }
    shard.lru.Use(found->second);
    const bool same = value && entry.value ? IsSame(*value, *entry.value) : !value && !entry.value;
    if (is_read && now - entry.noted > kYoungMicros) Doubt(place.tablet, !same);
    Check(entry, value, same, known_since.ticks, now);
    entry.known_since = known_since.writes;
    entry.noted = now;
    if (same) return;
    SetValue(shard, found->second, taken());
  }
  Evict(shard);
}

void ValueCache::Forget(kv::Tablet tablet, std::string_view key) {
  const Place place{tablet, key};
  Shard& shard = ShardOf(place);
  {
    MutexLock lock(shard.mutex);
    if (shard.index.find(place) == shard.index.end()) return;
  }
  NoteElsewhere(tablet, key);
}

void ValueCache::ForgetRange(kv::Tablet tablet, std::string_view begin, std::string_view end) {
  if (tablet.space == kv::Space::kLog) return;
  for (Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (Handle entry = shard.lru.begin(); entry != shard.lru.end();) {
      const Handle next = std::next(entry);
      if (entry->tablet == tablet && entry->key >= begin && (end.empty() || entry->key < end))
        Remove(shard, entry);
      entry = next;
    }
  }
}

size_t ValueCache::bytes() const {
  size_t bytes = 0;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    bytes += shard.lru.charge();
  }
  return bytes;
}

}  // namespace stator::kv_rados
