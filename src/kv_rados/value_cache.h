// A cache of the values that this process has read and written lately. It serves the reads of
// writes that guard what they read (kv::Tier::kGuarded). Another process may have changed a value
// since; then the guard is refused and the cache forgets the keys. A refusal costs more than a
// read. So for tablets that other processes change often, entries older than kYoungMicros are not
// used.
//
// The cache also serves reads that may be stale (Engine::GetRecent). For them each entry has the
// latest time at which its value is known to have been current. Such a read returns nothing older
// than what this process has written to the key, or has returned from a read of it. Internal to the
// room.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/lru_list.h"
#include "base/mutex.h"
#include "kv/engine.h"

namespace stator::kv_rados {

// Bounded; what was used least recently goes first. Thread-safe.
class ValueCache {
 public:
  // `ticks`: now, in microseconds.
  ValueCache(size_t max_bytes, std::function<int64_t()> ticks);

  // Larger values are not kept.
  static constexpr size_t kMaxValueBytes = 64 << 10;

  // A moment. A read takes it before it is sent, so that it does not replace what was written
  // meanwhile.
  struct Moment {
    uint64_t writes = 0;  // of this process, so far
    int64_t ticks = 0;    // in microseconds
  };
  Moment Now() const {
    const int64_t ticks = ticks_();
    return {now_.load(std::memory_order_acquire), ticks};
  }

  // While others change much of a tablet, what was noted longer ago is doubted.
  static constexpr int64_t kYoungMicros = 20'000;

  enum class Known {
    kNo,
    kYes,      // *value is set, to none if the key is absent
    kDoubted,  // something is, but others change much of the tablet
  };
  Known Find(kv::Tablet tablet, std::string_view key, std::optional<std::string>* value);
  // A value that the key had at most `max_age_micros` ago, or a newer one. False if none is known.
  // Sets *ask if the caller should read the key soon, so that the next calls find it too; one of
  // several callers is told so.
  bool FindRecent(kv::Tablet tablet, std::string_view key, int64_t max_age_micros,
                  std::optional<std::string>* value, bool* ask);
  // Returns the size of the key's cached value, if it has this stamp.
  std::optional<size_t> SizeOf(kv::Tablet tablet, std::string_view key, uint64_t stamp);

  // NoteRead caches the result of a read that began at `began`, NoteWritten the value that a write
  // has left. nullopt: the key is absent.
  void NoteRead(kv::Tablet tablet, std::string_view key, std::optional<std::string_view> value,
                Moment began);
  // `arrived`: ticks from before the write was sent.
  void NoteWritten(kv::Tablet tablet, std::string_view key, std::optional<std::string> value,
                   int64_t arrived = INT64_MIN);
  void Forget(kv::Tablet tablet, std::string_view key);
  // Notes that another process has written the key on behalf of this one. The answers of reads that
  // were sent before are then not cached.
  void NoteElsewhere(kv::Tablet tablet, std::string_view key);
  // Notes that a write with these guards was refused, perhaps because cached values of their keys
  // were stale.
  void NoteRefused(const std::vector<kv::Guard>& guards);
  // Forgets the keys in [begin, end); an empty `end` means the end of the tablet. Visits every
  // cached entry. Does nothing for tablets in Space::kLog, which are trimmed all the time, so their
  // cached values may be stale afterwards.
  void ForgetRange(kv::Tablet tablet, std::string_view begin, std::string_view end);

  uint64_t hits() const { return hits_.load(std::memory_order_relaxed); }
  uint64_t recent_hits() const { return recent_hits_.load(std::memory_order_relaxed); }
  uint64_t misses() const { return misses_.load(std::memory_order_relaxed); }
  size_t bytes() const;

 private:
  struct Entry {
    kv::Tablet tablet;
    std::string key;
    std::optional<std::string> value = std::nullopt;
    uint64_t known_since = 0;   // Moment::writes
    int64_t noted = INT64_MIN;  // ticks, and so the following
    // The value was the key's then, or later.
    std::optional<int64_t> checked = std::nullopt;
    int64_t floor = INT64_MIN;  // what was sent then, or before, does not set `checked`
    int64_t asked = INT64_MIN;  // when FindRecent last asked for a read
    bool known = true;          // false: nothing but `floor` counts
  };
  using Handle = LruList<Entry>::Handle;
  struct Place {
    kv::Tablet tablet;
    std::string_view key;
    bool operator==(const Place&) const = default;
  };
  struct Hash {
    size_t operator()(const Place& place) const;
  };
  struct Shard {
    mutable Mutex mutex;
    LruList<Entry> lru GUARDED_BY(mutex);
    std::unordered_map<Place, Handle, Hash> index GUARDED_BY(mutex);  // views the entries' keys
    int64_t floor GUARDED_BY(mutex) = INT64_MIN;                      // of the entries that went
  };

  static size_t BytesOf(const Entry& entry);
  Shard& ShardOf(const Place& place);
  // Stores a value in the cache. Moves it from `owned` if that is not null, else copies it.
  void Note(const Place& place, std::optional<std::string_view> value, std::string* owned,
            Moment known_since, bool is_read);
  // Makes FindRecent ignore the entry until a read that is sent after `now` has its answer.
  static void Doubt(Entry& entry, int64_t now);
  // Sets `checked` and `floor` for a value that takes the place of the entry's, by a read or write
  // that was sent at `sent`.
  static void Check(Entry& entry, std::optional<std::string_view> value, bool same, int64_t sent,
                    int64_t now);
  // Returns the entry of the place, which it adds if there is none.
  static Handle EntryOf(Shard& shard, const Place& place) REQUIRES(shard.mutex);
  static void SetValue(Shard& shard, Handle entry, std::optional<std::string> value)
      REQUIRES(shard.mutex);
  static void Remove(Shard& shard, Handle entry) REQUIRES(shard.mutex);
  void Evict(Shard& shard) REQUIRES(shard.mutex);

  // Notes whether a cached value of the tablet turned out to be stale (`changed`) or still current.
  // The statistic is not exact: several tablets share one counter.
  void Doubt(kv::Tablet tablet, bool changed);
  bool InDoubt(kv::Tablet tablet) {
    return DoubtOf(tablet).load(std::memory_order_relaxed) > kDoubtful;
  }
  std::atomic<uint32_t>& DoubtOf(kv::Tablet tablet) {
    return doubts_[(tablet.id * 3 + static_cast<size_t>(tablet.space)) % doubts_.size()];
  }
  // `doubts_` are moving averages, from 0 to kAlways, of how often a cached value was stale. A
  // stale value weighs four times as much as a current one, so kDoubtful is reached when about six
  // in a hundred are stale.
  static constexpr uint32_t kAlways = 65536, kDoubtful = kAlways / 5;

  static constexpr size_t kShards = 16;
  const size_t max_shard_bytes_;
  const std::function<int64_t()> ticks_;
  std::array<std::atomic<uint32_t>, 64> doubts_ = {};
  std::atomic<uint64_t> now_ = 1;
  std::atomic<uint64_t> hits_ = 0, misses_ = 0, recent_hits_ = 0;
  std::array<Shard, kShards> shards_;
};

}  // namespace stator::kv_rados
