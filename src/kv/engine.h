// The kv contract: the promises of a storage engine to the layers above it. Keys and values are
// bytes; the contract knows no item and no table.
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

// Groups of tablets whose keys live differently. RocksDB keeps each space in its own column family.
enum class Space : uint8_t {
  kCatalog = 0,  // few small keys, read at start
  kItems = 1,    // items and index entries
  kLog = 2,      // queues: appended at one end, trimmed by range deletes at the other
};

struct Tablet {
  Space space = Space::kItems;
  uint32_t id = 0;  // unique within the space, never reused
  auto operator<=>(const Tablet&) const = default;
};

// Every value begins with the commit stamp of the batch that wrote it: 8 bytes, little-endian.
// Writers leave room, the engine fills it in. The stamp is the value's version: it changes with
// every write and is never reused, not after a delete, not after a restart.
inline constexpr size_t kStampBytes = 8;
// Returns the stamp of a value, or 0, which no batch ever has, if the value is too short for one.
uint64_t StampOf(std::string_view value);
// Overwrites the stamp of a value. The value must have at least kStampBytes (CheckBatch).
void SetStamp(std::string* value, uint64_t stamp);
// Writes the stamp into a key at Put::key_stamp_offset. The key must have the room (CheckBatch).
void SetKeyStamp(std::string* key, size_t offset, uint64_t stamp);

// Whether a read may wait for a disk or a network.
enum class Tier {
  kMemory,  // never waits; kWouldBlock if the answer is not in memory
  kAny,     // may wait
  // Never waits, and may return a stale value: one that the key once had, with its stamp, and that
  // another process may have replaced. For writes that guard what they read. kGuardFailed if other
  // processes change the key too often to trust the cache. Where no other process writes, the same
  // as kMemory.
  kGuarded,
};

struct Capabilities {
  bool atomic_across_tablets = false;  // one batch (and one MultiGet) may span tablets
  // No other process writes to the store: a batch may omit fences, and guards on keys whose latch
  // the caller holds.
  bool exclusive = false;
  bool blocking = false;  // every call may wait for a network: never call it from an I/O loop
  bool durable = false;   // an acknowledged batch survives a crash of the process
  // A Scan sees one state of the store from its first key to its last. If false, it sees one state
  // for a stretch of keys and perhaps a later state for the next stretch, never an earlier one.
  bool scans_of_one_state = true;
  uint64_t max_tablet_bytes = UINT64_MAX;
  // Batches take effect, and call `done`, in the order that Apply promises, and everything that a
  // batch writes carries the stamp of its outcome. If false, this holds only for batches on one
  // unit. The primary unit of a batch that spans units is the unit of its first guard (else of its
  // first put, else of its first delete). For such a batch:
  //  - keys outside the primary unit get stamps of their own;
  //  - counters outside the primary unit receive their adds a little later, even after a put or
  //    delete of the counter by a batch that came in between;
  //  - a later batch that does not name the batch in `after` may overtake it;
  //  - kGuardFailed may also report a conflict with another writer: read again and retry;
  //  - if the batch is refused, the keys that it names may have new stamps.
  bool in_order = true;
};

struct Point {
  Tablet tablet;
  std::string_view key;
};

// The result of Engine::ReadAhead: data that a later Scan consumes. Not thread-safe. After the
// engine is destroyed, an Ahead may only be destroyed.
class Ahead {
 public:
  virtual ~Ahead() = default;
  // The approximate size of the keys and values read ahead.
  virtual size_t bytes() const = 0;
};

// Keys in [begin, end); an empty `end` means the end of the tablet.
struct Range {
  Tablet tablet;
  std::string_view begin;
  std::string_view end;
  bool reverse = false;
  // Hints: about how many keys, and bytes of keys and values, the caller will visit; 0: unknown. An
  // engine that reads over a network sizes its first request by them. The hints do not change which
  // keys are visited.
  size_t expected_keys = 0;
  size_t expected_bytes = 0;
  // The result of ReadAhead for exactly this range, or null. The first Scan consumes it and does
  // not wait for the part of the range that it covers; later Scans ignore it.
  Ahead* ahead = nullptr;
};

// The outcome of a batch, for batches that are computed from it before it is durable.
struct BatchFate {
  // True once the batch was refused or its outcome is unknown. Set by the caller of Apply, in the
  // batch's `done`, or earlier by the engine.
  std::atomic<bool> failed = false;
  std::atomic<uint64_t> stamp = 0;  // set by the engine before it looks at later batches
};
using FatePtr = std::shared_ptr<const BatchFate>;

// A condition of a batch: `key` has a value with stamp `stamp`, or is absent if `stamp` is 0.
struct Guard {
  Tablet tablet;
  std::string key;
  uint64_t stamp = 0;
  // If set, the expected stamp is the one of this batch, which this process handed to the engine
  // earlier. Batch::after must name the batch too.
  FatePtr left_by = nullptr;
  uint64_t expected() const {
    return left_by == nullptr ? stamp : left_by->stamp.load(std::memory_order_acquire);
  }
};

struct Put {
  Tablet tablet;
  std::string key;
  std::string value;  // its first kStampBytes are overwritten with the commit stamp
  // Where in the key to write the stamp, 8 bytes big-endian; -1: nowhere.
  int key_stamp_offset = -1;
};

struct Delete {
  Tablet tablet;
  std::string key;
};

// Adds `delta` to a counter. A counter is a value of a stamp and a 64-bit little-endian integer; an
// absent counter counts as 0.
struct Add {
  Tablet tablet;
  std::string key;
  int64_t delta = 0;
};

inline constexpr size_t kCounterBytes = kStampBytes + 8;
std::string EncodeCounter(uint64_t stamp, int64_t count);
// Returns the number in a counter's value; kCorruption if the value is not a counter.
Result<int64_t> CounterOf(std::string_view value);

// Deletes every key of [begin, end) in the tablet. An empty `end` means the end of the tablet, so
// two empty bounds delete all keys.
struct DeleteRange {
  Tablet tablet;
  std::string begin;
  std::string end;
};

// A condition of a batch: the tablet's fence is at most `most`. A tablet's fence is a number that
// starts at 0 and only rises (Engine::RaiseFence).
struct Fence {
  Tablet tablet;
  uint64_t most = 0;
};
// The fence of a dropped tablet: all its batches and reads are refused for good.
inline constexpr uint64_t kDroppedFence = UINT64_MAX;

// The keys that an engine can change in one operation: a tablet, or one part of it.
//
// The units of a tablet with parts are ranges of its keys. In kItems the first byte of a key (its
// kind) does not count, so that keys of several kinds with the same 16 bytes behind it (a hash)
// stay in one unit. The key FF k K x, where x has 16 bytes, is in the unit of K. An engine may
// divide a unit at any time and never joins units. A put with key_stamp_offset belongs to the unit
// of its key with the highest stamp (FF..).
struct Unit {
  Tablet tablet;
  // The name of the part; opaque. Empty for counters in kItems whose first byte is 02: such a
  // counter is in all units at once. An Add to it is applied in the unit of the rest of its batch,
  // and a read returns the sum over all units, which is not of one state. Once a tablet has several
  // units, such a counter cannot be guarded, put or deleted.
  std::string part;
  auto operator<=>(const Unit&) const = default;
};

// Changes that are applied together or not at all. At most one of puts, deletes and adds names the
// same key. Range deletes are applied first. Keys whose first byte is FF belong to engines.
struct Batch {
  // Batches that this one was computed from before they were durable. If one of them has failed
  // when this batch's turn comes, this batch is refused with kUnavailable. An engine calls `done`
  // of a refused batch before it looks at later batches.
  std::vector<FatePtr> after;
  std::shared_ptr<BatchFate> fate;  // the outcome of this batch; null if no batch will ask for it
  // How long the engine may hold this batch back to send it with later batches of the same unit. An
  // empty batch flushes it.
  int64_t may_wait_micros = 0;
  std::vector<Fence> fences;  // kFenced if one does not hold; exclusive engines ignore them
  std::vector<Guard> guards;
  std::vector<DeleteRange> range_deletes;
  std::vector<Put> puts;
  std::vector<Delete> deletes;
  std::vector<Add> adds;

  // True if the batch changes and guards nothing. Fences do not count: a batch of fences alone is a
  // barrier.
  bool empty() const {
    return guards.empty() && range_deletes.empty() && puts.empty() && deletes.empty() &&
           adds.empty();
  }
};

// Returns whether a batch in `after` has failed.
bool IsVoid(const Batch& batch);
// Returns the error with which engines refuse a void batch.
Error VoidBatchError();
// Returns kInternal if a put has no room for a stamp that it asks for. Engines refuse such a batch.
Status CheckBatch(const Batch& batch);

// Receives the stamp of the batch (for an empty batch, that of the last batch before it), or an
// error:
//  - kGuardFailed, kUnavailable: nothing was applied;
//  - kCorruption: data that the batch depends on is damaged; nothing was applied;
//  - kFenced, and without atomic_across_tablets kSpansUnits: only from engines that are not
//    exclusive; nothing was applied;
//  - kOutcomeUnknown: the batch may or may not have been applied.
using ApplyDone = UniqueFunction<void(Result<uint64_t>)>;

// Messages among the processes of one store. A message may be lost, so correctness must not depend
// on one; messages only make reactions faster. Thread-safe.
class Bulletin {
 public:
  virtual ~Bulletin() = default;
  // Sends a message to every process, the caller's included, and waits until all of them have
  // acknowledged it; it waits about three seconds for a process that does not answer. An error if
  // the message could not be sent, or if a process did not answer. Blocks.
  virtual Status Announce(std::string_view message) = 0;
  // Receives messages, on a thread that it may keep for a while. Must call `acknowledge` once for
  // each message.
  using Listener =
      std::function<void(std::string_view message, UniqueFunction<void()> acknowledge)>;
  // Replaces the listener; null removes it. After a call with null returns, no call of the old
  // listener is under way.
  virtual void Listen(Listener listener) = 0;
};

class FeatureKeeper;  // kv/features.h
class Pinner;         // kv/pin.h
class Reclaimer;      // kv/reclaim.h
class Rewinder;       // kv/rewind.h

// A store of keys and values. Thread-safe.
class Engine {
 public:
  virtual ~Engine() = default;

  virtual Capabilities capabilities() const = 0;

  // Reads one key into *value, stamp included, and returns whether it exists. Sees durable state
  // only. Errors: kWouldBlock (not with Tier::kAny), kCorruption, kUnavailable, kFenced for a
  // dropped tablet.
  virtual Result<bool> Get(Tablet tablet, std::string_view key, Tier tier, std::string* value) = 0;

  // Asynchronous Get with Tier::kAny. Calls `done` with the value, or nullopt if the key is absent,
  // on an engine thread, which `done` must not block, or inline. Engines without a network always
  // answer inline.
  using GetDone = UniqueFunction<void(Result<std::optional<std::string>>)>;
  virtual void GetLater(Tablet tablet, std::string_view key, GetDone done);
  // Like GetLater. May answer inline with a stale value of the key: at most as old as the bound
  // that the engine was opened with. The value is never older than a finished write of this process
  // to the key, or than an earlier answer of this process to a read of the key (answers of scans do
  // not count).
  virtual void GetRecent(Tablet tablet, std::string_view key, GetDone done) {
    GetLater(tablet, key, std::move(done));
  }

  // Reads several keys from one state: of one unit, or of the whole store with
  // atomic_across_tablets. values->at(i) belongs to points[i]. Errors as of Get; kSpansUnits where
  // UnitOf says.
  virtual Status MultiGet(std::span<const Point> points, Tier tier,
                          std::vector<std::optional<std::string>>* values) = 0;

  // Reads as MultiGet does, and calls visit(i, value) for each point in order, with nullopt for an
  // absent key, until it returns false. Engines of one machine hold the values of a few points at a
  // time, others all. The views are valid during the call only.
  using VisitPoint = FunctionRef<bool(size_t i, std::optional<std::string_view> value)>;
  virtual Status VisitTogether(std::span<const Point> points, Tier tier, VisitPoint visit);

  // Calls visit(key, value) for the keys of the range in order (descending if `reverse`) until it
  // returns false. All keys are of one state (but see Capabilities::scans_of_one_state). The views
  // are valid during the call only. Errors as of Get; some keys may have been visited before an
  // error.
  virtual Status Scan(const Range& range, Tier tier,
                      FunctionRef<bool(std::string_view key, std::string_view value)> visit) = 0;

  // Reads the first keys of a range asynchronously, for a later Scan (Range::ahead). Calls `done`
  // with the result, which is empty after an error, on an engine thread, which `done` must not
  // block, or inline. If the engine cannot read ahead, it calls `done` with null, inline. The range
  // may be destroyed once `done` begins.
  using AheadDone = UniqueFunction<void(std::unique_ptr<Ahead>)>;
  virtual void ReadAhead(const Range&, AheadDone done) { done(nullptr); }

  // Queues a batch and returns; never waits. Calls `done` exactly once, when the batch is durable
  // and visible, or refused. An empty batch without `after` is done when all earlier batches are.
  // Order: batches take effect, and call `done`, in the order of the calls; with
  // atomic_across_tablets all batches, else those on one unit. But a batch of at most 64 KB may
  // overtake larger ones, unless it names one of them in `after`, directly or through others.
  // Units: without atomic_across_tablets a batch names one unit only. Exception: a batch of nothing
  // but range deletes of one tablet may span its units. Each unit then applies it for itself, so
  // kOutcomeUnknown may mean that some units have applied it and others have not.
  // Errors: see ApplyDone. After kOutcomeUnknown from a failed write of the log the engine refuses
  // writes with kUnavailable until it is opened again; reads continue.
  // Threads: `done` runs on an engine thread, one call after the other, or inline for a refusal
  // that needs no I/O. It must not read from a `blocking` engine.
  virtual void Apply(Batch batch, ApplyDone done) = 0;
  // Hint: the caller has drawn this key at random and no other process knows it, so it is absent. A
  // guard on its absence then needs no read while no other process writes to the key's unit.
  virtual void NoteUnused(Tablet, std::string_view) {}

  // Returns the unit that holds a key, as far as this process knows; kWouldBlock if the answer must
  // be read and the tier may not wait. Without atomic_across_tablets a batch or MultiGet that names
  // several units is refused with kSpansUnits.
  virtual Result<Unit> UnitOf(Tablet tablet, std::string_view, Tier) { return Unit{tablet, {}}; }
  // Returns true if a batch on one tablet is known to span units, false if it does not or if that
  // is unknown. Never waits.
  virtual bool SpansUnits(const Batch&) const { return false; }
  // Raises a tablet's fence; a fence below the current one changes nothing. kDroppedFence drops the
  // tablet: reads are refused too (kFenced), and the engine may remove its keys. Blocks. May be
  // repeated after any error. Exclusive engines have no fences and do nothing.
  virtual Status RaiseFence(Tablet, uint64_t) { return OkStatus(); }
  // Returns the store's bulletin, or null if only one process can use the store.
  virtual Bulletin* bulletin() { return nullptr; }

  // Abilities of some engines only. Each returns a part of the engine, or null without the ability.
  virtual FeatureKeeper* feature_keeper() { return nullptr; }
  virtual Pinner* pinner() { return nullptr; }
  virtual Reclaimer* reclaimer() { return nullptr; }
  virtual Rewinder* rewinder() { return nullptr; }

  // Returns OK, or the reason why the engine takes no writes.
  virtual Status Health() const = 0;
  // Returns the approximate size of a tablet on disk (or in memory), in bytes.
  virtual uint64_t ApproximateBytes(Tablet tablet) const = 0;
  // Returns gauges for /metrics, by name.
  virtual std::map<std::string, double> Statistics() const = 0;
  // Writes a consistent copy of the store into a new directory; kUnavailable if the engine cannot.
  virtual Status Checkpoint(const std::string& directory) = 0;
};

// Applies a batch and waits for its outcome. For startup, background work and tests; never from a
// `done`.
Result<uint64_t> ApplyAndWait(Engine& engine, Batch batch);

}  // namespace stator::kv
