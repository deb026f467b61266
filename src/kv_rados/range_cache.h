// What reads of ranges brought that came more than once, for the next that ask for the same. It may
// be old: a read that finds some here tells its operation the stamp of the part that they are of,
// and the OSD says whether that is still the part's, or sends what is there now. So what is
// answered is never old, and what has not changed is neither read nor sent again. Internal to the
// room.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lru_list.h"
#include "base/mutex.h"
#include "kv_rados/cluster.h"
#include "kv_rados/part.h"

namespace stator::kv_rados {

// What one operation brought of a range, from one state of a part. Not changed once it is shared.
class Entries {
 public:
  bool empty() const { return entries_.empty(); }
  size_t size() const { return entries_.size(); }
  std::string_view key(size_t i) const {
    return std::string_view(keys_).substr(entries_[i].begin, entries_[i].size);
  }
  std::string_view value(size_t i) const { return entries_[i].value; }
  // What they take up in memory, more or less.
  size_t bytes() const { return keys_.size() + value_bytes_ + entries_.size() * kEntryBytes; }

  void Reserve(size_t count) { entries_.reserve(count); }
  // The next key, which is none of theirs until Add.
  Result<std::string_view> Decode(std::string_view cell);
  // Adds an entry. The first form uses the key that was decoded last. The views point into `owner`.
  void Add(std::string_view value);
  void Add(std::string_view key, std::string_view value);

  std::shared_ptr<const ReadOp> owner;  // of the values
  bool more = false;                    // keys of the range behind them, in the order of the read
  std::string next;  // where those begin, or in reverse end; only if there are some

 private:
  // The memory of an entry besides its key and value: librados keeps a tree node and a list of
  // buffers for each.
  static constexpr size_t kEntryBytes = 200;
  struct Entry {
    size_t begin, size;  // of the key
    std::string_view value;
  };

  std::string keys_;  // one behind the other
  size_t end_ = 0;    // of those that were added
  size_t value_bytes_ = 0;
  std::vector<Entry> entries_;
};
using EntriesPtr = std::shared_ptr<const Entries>;

// Keeps the results of reads of ranges, in bounded memory. Evicts the least recently used first.
// Thread-safe.
class RangeCache {
 public:
  explicit RangeCache(size_t max_bytes) : max_bytes_(max_bytes) {}

  // The keys of a part in [begin, end), in their order.
  struct Place {
    const Part& part;
    std::string_view begin, end;
  };
  // What stands at a place, as it was under a header and at a stamp of the part (as its object has
  // it).
  struct Known {
    EntriesPtr entries;
    HeaderPtr header;
    std::string stamp;
  };
  // Returns the cached range of a place. Its entries are null if none is cached, or if the cached
  // range has clearly fewer than `keys` keys although more follow. Sets *again to whether the place
  // was asked for recently: then its result is worth caching (Note).
  Known Find(const Place& place, size_t keys, bool* again);
  void Note(const Place& place, Known known);
  // Switches the cache off for good: Find knows nothing from now on. For OSDs that do not say why
  // they refused an operation.
  void SwitchOff() { off_.store(true, std::memory_order_relaxed); }
  // Counts whether a cached range was still current (`hit`).
  void Count(bool hit) { (hit ? hits_ : misses_).fetch_add(1, std::memory_order_relaxed); }

  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  size_t bytes() const;

 private:
  struct Entry {
    std::string name;
    Known known;
  };
  using Handle = LruList<Entry>::Handle;
  static std::string NameOf(const Place& place);

  const size_t max_bytes_;
  std::array<std::atomic<uint32_t>, 4096> asked_ =
      {};  // a part of the hash of the last place that fell here
  std::atomic<uint64_t> hits_ = 0, misses_ = 0;
  std::atomic<bool> off_ = false;
  mutable Mutex mutex_;
  LruList<Entry> lru_ GUARDED_BY(mutex_);
  // Views the entries' names.
  std::unordered_map<std::string_view, Handle> index_ GUARDED_BY(mutex_);
};

}  // namespace stator::kv_rados
