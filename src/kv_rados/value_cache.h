// What this process has read and written lately, for writes that guard what they read
// (kv::Tier::kGuarded). Another process may have changed it since; then the guard is refused and
// the keys are forgotten. That costs more than a read does, so where others turn out to change much
// of it, what is not quite new is not used.
//
// The same serves reads that may be a little old (Engine::GetRecent). For them each value has the
// time up to which it is known to have been the key's. Such a read gives nothing older than what
// this process has written, or has returned from a read of the key, before. Internal to the room.
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
  // The size of the key's value, if it is known and has the stamp.
  std::optional<size_t> SizeOf(kv::Tablet tablet, std::string_view key, uint64_t stamp);

  // What a read that began at `began` saw, and what a write has left; none: absent.
  void NoteRead(kv::Tablet tablet, std::string_view key, std::optional<std::string_view> value,
                Moment began);
  // `arrived`: ticks from before the write was sent.
  void NoteWritten(kv::Tablet tablet, std::string_view key, std::optional<std::string> value,
                   int64_t arrived = INT64_MIN);
  void Forget(kv::Tablet tablet, std::string_view key);
  // Another process has written the key for this one: reads that were sent before do not count.
  void NoteElsewhere(kv::Tablet tablet, std::string_view key);
  // A write was refused of which these were the guards. Perhaps because what was known of their
  // keys was no longer so.
  void NoteRefused(const std::vector<kv::Guard>& guards);
  // The keys of [begin, end), an empty `end`: to the end of the tablet. Looks at all that is kept;
  // not for queues, which are trimmed all the time: what is known of their keys may be wrong after
  // it.
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
  // Takes the value from `owned` if that is not null, else copies it.
  void Note(const Place& place, std::optional<std::string_view> value, std::string* owned,
            Moment known_since, bool is_read);
  // FindRecent does not find the entry until a read that is sent after `now` has its answer.
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

  // Counts whether what was remembered of the tablet still held. Unlike the entries this need not
  // be exact: tablets share places.
  void Doubt(kv::Tablet tablet, bool changed);
  bool InDoubt(kv::Tablet tablet) {
    return DoubtOf(tablet).load(std::memory_order_relaxed) > kDoubtful;
  }
  std::atomic<uint32_t>& DoubtOf(kv::Tablet tablet) {
    return doubts_[(tablet.id * 3 + static_cast<size_t>(tablet.space)) % doubts_.size()];
  }
  // A moving mean of how often it did not, in 65536ths. A change weighs four times as much, so this
  // is where six in a hundred are.
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
