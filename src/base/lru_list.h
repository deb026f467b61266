// Entries in the order of their last use, and the bytes that they are charged for: the part that
// bounded caches have in common. The cache keeps its own index of handles, and removes oldest()
// while charge() is above its bound.
#pragma once

#include <cstdint>
#include <iterator>
#include <list>
#include <utility>

namespace stator {

// `Entry` is an aggregate. Not thread-safe.
template <typename Entry>
class LruList {
 public:
  struct Charged : Entry {
    uint64_t charge = 0;
  };
  // Stays valid, and so do references to the entry, until the entry is removed.
  using Handle = typename std::list<Charged>::iterator;

  // Adds an entry as the one used last.
  Handle Add(Entry entry, uint64_t charge) {
    entries_.push_front(Charged{std::move(entry), charge});
    charge_ += charge;
    return entries_.begin();
  }
  // Makes the entry the one used last.
  void Use(Handle entry) { entries_.splice(entries_.begin(), entries_, entry); }
  // Replaces what the entry is charged for. Its place in the order stays.
  void SetCharge(Handle entry, uint64_t charge) {
    charge_ += charge - entry->charge;
    entry->charge = charge;
  }
  void Remove(Handle entry) {
    charge_ -= entry->charge;
    entries_.erase(entry);
  }
  // Moves the entry, as the one used last, to `other`. Allocates and frees nothing, so a cache can
  // do both without its lock.
  void MoveTo(LruList& other, Handle entry) {
    charge_ -= entry->charge;
    other.charge_ += entry->charge;
    other.entries_.splice(other.entries_.begin(), entries_, entry);
  }

  // The entry whose last use is the longest ago. Must not be called on an empty list.
  Handle oldest() { return std::prev(entries_.end()); }
  bool empty() const { return entries_.empty(); }
  // The sum of what all entries are charged for.
  uint64_t charge() const { return charge_; }
  // The entry used last is the first.
  Handle begin() { return entries_.begin(); }
  Handle end() { return entries_.end(); }

 private:
  std::list<Charged> entries_;
  uint64_t charge_ = 0;
};

}  // namespace stator
