// The kv contract: what a storage engine promises to the layers above. Bytes only; no item, no
// table.
//
// A tablet is a set of keys in bytewise order that the engine stores together and changes
// atomically. Memory, RocksDB, RADOS and the fault-injecting wrapper pass one conformance suite
// (kv/conformance.h).
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/unique_function.h"

namespace stator::kv {

// Families of keys with different lives. RocksDB keeps each in a column family of its own.
enum class Space : uint8_t {
  kCatalog = 0,  // few, small, read at start
  kItems = 1,    // items and index entries
  kLog = 2,      // queues that delete behind themselves, trimmed by ranges
};

struct Tablet {
  Space space = Space::kItems;
  uint32_t id = 0;  // unique within the space, never reused
  auto operator<=>(const Tablet&) const = default;
};

// Every value begins with the commit stamp of the batch that wrote it: 8 bytes, little-endian.
// Writers leave room, the engine fills it in. It is the value's version: it changes with every
// write and is never reused, not after a delete, not after a restart.
inline constexpr size_t kStampBytes = 8;
// The stamp of a value; 0, which no batch ever has, when it is too short to hold one.
uint64_t StampOf(std::string_view value);
// Writes `stamp` where StampOf and Put::key_stamp_offset say. The string has the room (CheckBatch).
void SetStamp(std::string* value, uint64_t stamp);
void SetKeyStamp(std::string* key, size_t offset, uint64_t stamp);

// Whether a read may wait for a disk or a network.
enum class Tier {
  kMemory,  // answer kWouldBlock rather than wait
  kAny,
  // As kMemory, but what is answered may have been replaced meanwhile by another process (it did
  // stand there once, with its stamp): for writes that guard what they read. kGuardFailed: it may
  // be known, but is replaced too often. Without other writers: as kMemory.
  kGuarded,
};

struct Capabilities {
  bool atomic_across_tablets = false;  // one batch (and one Read) may span tablets
  bool exclusive = false;  // no other process writes: guards on keys whose latch is held may be
                           // left out, and fences
  bool blocking = false;   // every call may wait for a network: never call it from an I/O loop
  bool durable = false;    // an acknowledged batch survives a crash of the process
  // A Scan sees one state from its first key to its last. Without it, it sees one state for a
  // stretch of keys and perhaps a later one for the next; it never goes back.
  bool scans_of_one_state = true;
  uint64_t max_tablet_bytes = UINT64_MAX;
  // Batches take effect, and are done, in the order of the calls, and all that one writes has the
  // stamp of its outcome. Without it this holds for batches on one unit. Of others, keys in other
  // units than that of the first guard (put, delete) get stamps of their own, counters there get
  // what is added a little later (also after a put or delete of them that came in between), batches
  // that do not name it in `after` may overtake it, and kGuardFailed may also say that somebody
  // else was in the way: read again and try again. A batch that was refused may have given the keys
  // that it names new stamps.
  bool in_order = true;
};

struct Point {
  Tablet tablet;
  std::string_view key;
};

// What an engine has read already for a Scan that is to come (Engine::ReadAhead). Not thread-safe;
// once the engine is gone it may only be destroyed.
class Ahead {
 public:
  virtual ~Ahead() = default;
  // About how many bytes of keys and values it has.
  virtual size_t bytes() const = 0;
};

// Keys in [begin, end); an empty `end` means the end of the tablet.
struct Range {
  Tablet tablet;
  std::string_view begin;
  std::string_view end;
  bool reverse = false;
  // About how many keys, or how many bytes of keys and values, the caller will want; 0: nobody
  // knows. An engine that reads over a network asks for so many at once; what is visited does not
  // depend on it.
  size_t expected_keys = 0;
  size_t expected_bytes = 0;
  // What was read ahead for this very range, or null. A Scan takes it and does not wait for that
  // much; another Scan with it is as if it were not there.
  Ahead* ahead = nullptr;
};

// What becomes of a batch, for those that are computed from it before it is durable.
struct BatchFate {
  // Set by whoever applied it, in its `done` (or by the engine, before), when it was refused or its
  // outcome is unknown.
  std::atomic<bool> failed = false;
  std::atomic<uint64_t> stamp = 0;  // set by the engine, before it looks at batches that came later
};
using FatePtr = std::shared_ptr<const BatchFate>;

// Holds if `key` has a value with stamp `stamp`; 0 means that the key is absent.
struct Guard {
  Tablet tablet;
  std::string key;
  uint64_t stamp = 0;
  // If set, the stamp is that of this batch, which was handed to the engine before (by this
  // process). Name it in Batch::after too.
  FatePtr left_by = nullptr;
  uint64_t expected() const {
    return left_by == nullptr ? stamp : left_by->stamp.load(std::memory_order_acquire);
  }
};

struct Put {
  Tablet tablet;
  std::string key;
  std::string value;  // its first kStampBytes are overwritten with the commit stamp
  int key_stamp_offset =
      -1;  // where in the key to write the stamp, 8 bytes big-endian; -1: nowhere
};

struct Delete {
  Tablet tablet;
  std::string key;
};

// Adds `delta` to a counter: a value of a stamp and a 64-bit little-endian integer; an absent one
// counts as 0.
struct Add {
  Tablet tablet;
  std::string key;
  int64_t delta = 0;
};

inline constexpr size_t kCounterBytes = kStampBytes + 8;
std::string EncodeCounter(uint64_t stamp, int64_t count);
// kCorruption when the value is no counter.
Result<int64_t> CounterOf(std::string_view value);

// Deletes every key of [begin, end) in the tablet; an empty `end`: to the end of the tablet; both
// empty: all of it.
struct DeleteRange {
  Tablet tablet;
  std::string begin;
  std::string end;
};

// A tablet's fence is a number, 0 at first, that only rises (Engine::RaiseFence). Holds if it is at
// most `most`.
struct Fence {
  Tablet tablet;
  uint64_t most = 0;
};
// Of a tablet that is gone for good: neither written to nor read.
inline constexpr uint64_t kDroppedFence = UINT64_MAX;

// What an engine changes in one operation of its own: a tablet, or a part of one.
//
// With parts a tablet's units are ranges of its keys, without the first byte (the kind) of keys in
// kItems, so that keys of several kinds with the same 16 bytes behind it (a hash) stay in one unit;
// the key FF k K x, where x has 16 bytes, is in the unit of K. Units are divided while they are
// used, never joined. A put with key_stamp_offset is in the unit of its key with the highest stamp
// (FF..).
struct Unit {
  Tablet tablet;
  // Which one; opaque. Empty: any of them, of counters in kItems whose first byte is 02: an Add to
  // one is applied in the unit of the rest of its batch, and a read gives the sum of all units, not
  // of one state. They cannot be guarded, put or deleted one by one once there are several units.
  std::string part;
  auto operator<=>(const Unit&) const = default;
};

// All or nothing. Within one batch a key is named by at most one of puts, deletes and adds, and
// range deletes come first. Keys whose first byte is FF belong to engines.
struct Batch {
  // Batches that this one was computed from before they were durable: if one of them has failed
  // when this batch's turn comes, it is refused with kUnavailable. An engine calls `done` of a
  // refused batch before it looks at later batches.
  std::vector<FatePtr> after;
  std::shared_ptr<BatchFate> fate;  // this one's; null: nobody asks
  // Nobody is in a hurry: an engine whose operations cost much may keep it so long, to send it with
  // later ones on its unit or once an empty batch has come.
  int64_t may_wait_micros = 0;
  std::vector<Fence> fences;  // refused with kFenced, of engines that are not exclusive
  std::vector<Guard> guards;
  std::vector<DeleteRange> range_deletes;
  std::vector<Put> puts;
  std::vector<Delete> deletes;
  std::vector<Add> adds;

  // Says nothing about fences: a batch that has nothing else is a barrier.
  bool empty() const {
    return guards.empty() && range_deletes.empty() && puts.empty() && deletes.empty() &&
           adds.empty();
  }
};

// True when a batch that it was computed from has failed.
bool IsVoid(const Batch& batch);
// The refusal of a void batch.
Error VoidBatchError();
// kInternal when a put has no room for a stamp that it asks for. Engines refuse such a batch.
Status CheckBatch(const Batch& batch);

// The stamp of the batch (of the last batch before it, for an empty one), or kGuardFailed (nothing
// was applied), kUnavailable (nothing was applied), kCorruption (what the batch depends on is
// damaged; nothing was applied) or kOutcomeUnknown. Where several processes write also kFenced and,
// without atomic_across_tablets, kSpansUnits (nothing was applied).
using ApplyDone = UniqueFunction<void(Result<uint64_t>)>;

// Messages among the processes of one store. They make things fast, never right: one may be lost.
// Thread-safe.
class Bulletin {
 public:
  virtual ~Bulletin() = default;
  // Hands a message to every process, this one too, and waits until all have acknowledged it, but
  // not longer than about three seconds for one that does not answer. An error if it could not be
  // sent, or not all answered.
  virtual Status Announce(std::string_view message) = 0;
  // What hears messages, on a thread that it may keep for a while; it must call `acknowledge` once.
  // Null: nobody any more; then no call is under way.
  using Listener =
      std::function<void(std::string_view message, UniqueFunction<void()> acknowledge)>;
  virtual void Listen(Listener listener) = 0;
};

// Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual Capabilities capabilities() const = 0;

  // Reads one key into *value (stamp included) and says whether it exists. Sees durable state only.
  // kWouldBlock (Tier::kMemory only), kCorruption, kUnavailable.
  virtual Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) = 0;

  // As Get with Tier::kAny, for callers that have better things to do than wait: `done` gets the
  // value, or none if the key does not exist, on a thread of the engine, which must not wait there;
  // or inline, as everything is where the engine answers without a network.
  using GetDone = UniqueFunction<void(Result<std::optional<std::string>>)>;
  virtual void GetLater(Tablet tablet, std::string_view key, GetDone done);

  // Reads several keys from one state (of one tablet, or of all with atomic_across_tablets).
  // values->at(i) belongs to points[i].
  virtual Status MultiGet(std::span<const Point> points, Tier tier,
                          std::vector<std::optional<std::string>>* values) = 0;

  // Calls visit(key, value) for the keys of the range in order (descending when reverse), from one
  // state (see Capabilities::scans_of_one_state), until it returns false. The views are valid
  // during the call only. With an error some keys may have been visited already.
  virtual Status Scan(const Range& range, Tier tier,
                      FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;

  // Reads what a Scan of the range would begin with, for callers that have better things to do than
  // wait. `done` gets it, perhaps empty after an error, on a thread of the engine, which must not
  // wait there, or inline; or null, always inline: nothing can be read ahead. The range need not
  // outlive the beginning of `done`.
  using AheadDone = UniqueFunction<void(std::unique_ptr<Ahead>)>;
  virtual void ReadAhead(const Range&, AheadDone done) { done(nullptr); }

  // Queues a batch; never waits for it. Batches take effect, and are done, in the order of the
  // calls: those of one unit, or all with atomic_across_tablets, without which a batch names one
  // unit only (except that one with nothing but range deletes of one tablet may span its units;
  // each applies it for itself, so kOutcomeUnknown may mean that some have and some have not).
  // `done` runs exactly once, on a thread of the engine (where a `blocking` one must not be read),
  // one after the other (or inline: a refusal, no I/O), when the batch is durable and visible, or
  // refused. An empty batch is a barrier: it is done when everything before it is. After
  // kOutcomeUnknown from a failed log write the engine refuses writes with kUnavailable until it is
  // opened again; reads go on.
  virtual void Apply(Batch batch, ApplyDone done) = 0;
  // The caller has drawn this key at random and told nobody yet: it is not there. An engine that
  // remembers so need not look when a guard asks for that, as long as nobody else writes where it
  // would be.
  virtual void NoteUnused(Tablet, std::string_view) {}

  // The unit that holds a key, as far as this process knows; kWouldBlock if the tier may not wait.
  // A batch that names several is refused with kSpansUnits unless atomic_across_tablets; so is a
  // MultiGet.
  virtual Result<Unit> UnitOf(Tablet tablet, std::string_view, Tier) { return Unit{tablet, {}}; }
  // True if a batch that names one tablet is known to span units; false if not, or if that is not
  // known. Never waits.
  virtual bool SpansUnits(const Batch&) const { return false; }
  // Raises a tablet's fence, to which it is a no-op to name a lower one; with kDroppedFence reads
  // are refused as well (kFenced), and all keys of the tablet may be removed, for nobody will ever
  // see them. Waits; may be repeated after any error. Engines that are exclusive have no fences and
  // do nothing.
  virtual Status RaiseFence(Tablet, uint64_t) { return OkStatus(); }
  // Null where no other process can be.
  virtual Bulletin* bulletin() { return nullptr; }

  // OK, or why the engine takes no writes.
  virtual Status Health() const = 0;
  // Approximate bytes on disk (or in memory) of a tablet.
  virtual uint64_t ApproximateBytes(Tablet tablet) const = 0;
  // Gauges for /metrics, by name.
  virtual std::map<std::string, double> Statistics() const = 0;
  // Writes a consistent copy of the store into a new directory. kUnavailable where the engine
  // cannot.
  virtual Status Checkpoint(const std::string& directory) = 0;
};

// Applies and waits for the outcome. For startup, background work and tests; never from a `done`.
Result<uint64_t> ApplyAndWait(Engine& engine, Batch batch);

}  // namespace stator::kv
