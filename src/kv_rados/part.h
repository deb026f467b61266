// One part of a tablet as this process knows it, and the header of its object. Internal to the
// room.
//
// The header is the authority on what a part holds and who may write to it; every operation
// compares it. A process learns it with its first operation on the part, and anew when an operation
// was refused. Headers never come back: with every change `epoch` rises.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mutex.h"
#include "kv_rados/cluster.h"
#include "kv_rados/layout.h"

namespace stator::kv_rados {

// How large the values were that this process read or wrote lately: writes rarely read again what
// they replace. Of all parts together, however many there are; at most 4 MB. Thread-safe.
class SeenSizes {
 public:
  // A value that was read or written.
  struct Seen {
    uint64_t place;  // the hash of the key and of its part
    uint64_t stamp;  // 0: it is gone
    size_t bytes;
  };

  SeenSizes();
  void Note(std::span<const Seen> seen);
  // Returns the size of the key's value at this stamp (nullopt: when it was last seen); nullopt if
  // it was not seen, or is forgotten.
  std::optional<size_t> Find(uint64_t place, std::optional<uint64_t> stamp) const;

  static constexpr size_t kSlots = 1 << 18;

 private:
  struct Slot {
    uint32_t place;  // what of it the slot's number does not say, as far as it fits
    uint32_t bytes;
    uint64_t stamp;
  };
  static constexpr size_t kMutexes = 64;

  static uint32_t RestOf(uint64_t place) { return static_cast<uint32_t>(place / kSlots); }
  Slot& SlotOf(uint64_t place) const { return slots_.get()[place % kSlots]; }
  Mutex& MutexOf(uint64_t place) const { return mutexes_[place % kMutexes]; }

  mutable std::array<Mutex, kMutexes>
      mutexes_;  // each guards the slots whose number is its own modulo theirs
  const std::unique_ptr<Slot, void (*)(void*)>
      slots_;  // memory that is not used before something is noted there
};

// A header as operations compare it, and what it says.
struct KnownHeader {
  std::string bytes;
  PartHeader header;
};
using HeaderPtr = std::shared_ptr<const KnownHeader>;

// Thread-safe.
class Part {
 public:
  // `seen`: that of the process.
  Part(kv::Tablet tablet, uint32_t number,
       std::shared_ptr<SeenSizes> seen = std::make_shared<SeenSizes>())
      : tablet(tablet),
        number(number),
        object(PartObject(tablet, number)),
        hash_(std::hash<std::string>()(object)),
        seen_(std::move(seen)) {}

  const kv::Tablet tablet;
  const uint32_t number;
  const std::string object;

  // Returns the header as last read. Null: it was not read yet, or the object was found to have
  // another one.
  HeaderPtr header() const;
  // Stores a header that was read from the object, unless a later one is known. Returns the later
  // of the two. kCorruption: the part's object has no header, a damaged one, or another part's;
  // kUnavailable: it is of a newer format.
  Result<HeaderPtr> Learn(std::string_view bytes) const;
  // Forgets the header, because an operation that compared it was refused.
  void Forget(const HeaderPtr& header) const;

  void NoteBytes(size_t bytes) const;
  // Returns the number of keys for which a read of about `bytes` bytes asks.
  size_t KeysFor(size_t bytes) const;
  // Returns the approximate bytes of `keys` keys.
  size_t BytesOf(size_t keys) const { return keys * MeanBytes(); }
  // SeenOf returns a key's size in the form of SeenSizes; NoteSeen notes it there.
  SeenSizes::Seen SeenOf(std::string_view key, uint64_t stamp, size_t bytes) const {
    return {PlaceOf(key), stamp, bytes};
  }
  void NoteSeen(std::span<const SeenSizes::Seen> seen) const { seen_->Note(seen); }
  void NoteSeen(std::string_view key, uint64_t stamp, size_t bytes) const {
    const SeenSizes::Seen seen = SeenOf(key, stamp, bytes);
    seen_->Note({&seen, 1});
  }
  std::optional<size_t> SeenBytes(std::string_view key, std::optional<uint64_t> stamp) const {
    return seen_->Find(PlaceOf(key), stamp);
  }

 private:
  uint64_t PlaceOf(std::string_view key) const;
  size_t MeanBytes() const;

  const uint64_t hash_;  // of the object's name
  const std::shared_ptr<SeenSizes> seen_;
  mutable Mutex mutex_;
  mutable HeaderPtr header_ GUARDED_BY(mutex_);
  // A running mean of the stored bytes of a key and its value, as reads saw them; 0: none was seen.
  // It only sizes reads.
  mutable std::atomic<uint32_t> mean_bytes_ = 0;
};
using PartPtr = std::shared_ptr<const Part>;

// The header that stands in the object now. Errors as Part::Learn and Cluster::ErrorOf; a missing
// object is kCorruption.
Result<HeaderPtr> ReadHeader(Cluster& cluster, const Part& part);
// Replaces the header if it is still `from`; `to` gets the next epoch. Null if it is not, which
// *may* mean that this call did it and the answer was lost: read it again. kOutcomeUnknown when
// nothing is heard until the deadline; a late one does no harm.
Result<HeaderPtr> ReplaceHeader(Cluster& cluster, const Part& part, const HeaderPtr& from,
                                PartHeader to);

// What is told to those who go by an older fence, and to all whose tablet was dropped.
Error FencedError(const PartHeader& header);

// What one read of a long range aims at.
inline constexpr size_t kReadBytes = 1 << 20;

// Visits the part's counters, and its keys whose routes lie in the range of `header` (the object
// may still have keys that the part has given up). `visit` gets the bytes that the key takes and
// the stamp of its value. The keys are not read from one state. Returns false if the object is
// missing or has another header than `header`. Blocks. kCorruption, kUnavailable.
Result<bool> WalkPart(Cluster& cluster, const Part& part, const HeaderPtr& header,
                      FunctionRef<void(std::string_view key, size_t bytes, uint64_t stamp)> visit);

}  // namespace stator::kv_rados
