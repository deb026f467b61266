#include "link/ownership.h"

#include <optional>
#include <utility>

#include "base/fnv.h"

namespace stator::link {
uint64_t Ownership::Weight(const kv::Unit& unit, std::string_view process) {
  uint64_t hash = Fnv1a(process);
  hash = Fnv1a(std::to_string(static_cast<int>(unit.tablet.space)) + "/" +
                   std::to_string(unit.tablet.id) + "/",
               hash);
  hash = Fnv1a(unit.part, hash);
  // FNV-1a alone leaves the high bits of short texts alike.
  hash = (hash ^ (hash >> 33)) * 0xff51afd7ed558ccd;
  hash = (hash ^ (hash >> 33)) * 0xc4ceb9fe1a85ec53;
  return hash ^ (hash >> 33);
}

Ownership::Part* Ownership::Find(const kv::Unit& unit) {
  const auto found = parts_.find(unit);
  return found == parts_.end() ? nullptr : &found->second;
}

Ownership::Part* Ownership::FindOrAdd(const kv::Unit& unit) {
  if (Part* const found = Find(unit); found != nullptr) return found;
  if (parts_.size() >= kMostParts) return nullptr;
  Part* const added = &parts_[unit];
  count_.store(parts_.size(), std::memory_order_relaxed);
  return added;
}

void Ownership::SetOthers(std::vector<std::string> others, bool self_may) {
  const MutexLock lock(mutex_);
  others_ = std::move(others);
  self_may_ = self_may;
}

void Ownership::Lost(const kv::Unit& unit, int64_t now) {
  const MutexLock lock(mutex_);
  if (others_.empty()) return;
  Part* const part = FindOrAdd(unit);
  if (part == nullptr) return;
  part->used = now;
  if (now - part->lost_since > kWindowMicros) {
    part->lost = 0;
    part->lost_since = now;
  }
  if (++part->lost >= kLostRaces) part->contended_until = now + kWindowMicros;
}

void Ownership::NoteSource(Part& part, std::string_view source, int64_t now) {
  if (part.last_at != 0 && part.last_source != source) {
    part.other_source = std::exchange(part.last_source, std::string(source));
    part.other_at = part.last_at;
  } else if (part.last_at == 0) {
    part.last_source = source;
  }
  part.last_at = now;
}

const std::string& Ownership::Best(const kv::Unit& unit) const {
  const std::string* best = self_may_ || others_.empty() ? &self_ : &others_.front();
  for (const std::string& other : others_) {
    if (Weight(unit, other) > Weight(unit, *best)) best = &other;
  }
  return *best;
}

Ownership::Owner Ownership::OwnerOf(std::span<const kv::Unit> units, int64_t now) {
  const MutexLock lock(mutex_);
  std::optional<size_t> decides;
  for (size_t i = 0; i < units.size(); ++i) {
    Part* const part = Find(units[i]);
    if (part == nullptr) continue;
    part->used = now;
    if (now < part->contended_until && (!decides || units[i] < units[*decides])) decides = i;
  }
  if (decides) {
    if (const std::string& best = Best(units[*decides]); best != self_) return {best, *decides};
  }
  for (const kv::Unit& unit : units) {
    if (Part* const part = Find(unit); part != nullptr) NoteSource(*part, {}, now);
  }
  return {};
}

void Ownership::Told(const kv::Unit& unit, bool contended, int64_t now) {
  const MutexLock lock(mutex_);
  Part* const part = Find(unit);
  if (part == nullptr) return;
  part->contended_until = contended ? now + kWindowMicros : 0;
  if (!contended) part->lost = 0;
}

bool Ownership::NoteForwarded(const kv::Unit& unit, std::string_view asker, int64_t now) {
  const MutexLock lock(mutex_);
  Part* const part = FindOrAdd(unit);
  if (part == nullptr) return true;
  part->used = now;
  if (part->first_forwarded == 0) part->first_forwarded = now;
  NoteSource(*part, asker, now);
  if (now - part->first_forwarded < kWindowMicros) return true;
  return part->other_at != 0 && now - part->other_at < kWindowMicros;
}

void Ownership::Forget(int64_t now) {
  const MutexLock lock(mutex_);
  std::erase_if(parts_, [now](const auto& each) {
    return now - each.second.used > 2 * kWindowMicros && now >= each.second.contended_until;
  });
  count_.store(parts_.size(), std::memory_order_relaxed);
}

}  // namespace stator::link
