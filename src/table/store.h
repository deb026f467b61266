// Items on kv: the catalog of tables, reads, and writes under latches.
//
// Callbacks run on whatever thread finished the work: inline, a worker, or one of the engine's.
// None of them may block.
//
// On an engine that several processes write (kv::Capabilities::exclusive is false) a write guards
// what it read and runs again when somebody was faster, changes of the catalog go by its version,
// and tablets' fences keep out who goes by an old one (ADR 13).
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/executor.h"
#include "base/random.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "history/change_clock.h"
#include "kv/engine.h"
#include "model/value.h"
#include "stream/record.h"
#include "stream/stream.h"
#include "table/catalog_snapshot.h"
#include "table/delayed_tasks.h"
#include "table/descriptor.h"
#include "table/expiry.h"
#include "table/gate.h"
#include "table/history.h"
#include "table/index_entries.h"
#include "table/latch.h"
#include "table/meters.h"
#include "table/past.h"
#include "table/space_reclaimer.h"
#include "table/table_name.h"
#include "table/token_ledger.h"

namespace stator::table {

// One version of a table's definition. Immutable, except for the gate, which all versions share
// under which a write does the same (with the same indexes and the same open shards of the stream;
// where several processes share the store fences do what gates do elsewhere), and the mark, which
// those share that have the same tablet of expiry entries.
struct Table {
  explicit Table(TableDescriptor definition, std::shared_ptr<Gate> its_gate)
      : descriptor(std::move(definition)),
        gate(std::move(its_gate)),
        expiry_mark(std::make_shared<ExpiryMark>()),
        key_parts(model::IndexKeySchema::Of(descriptor.key_schema)) {}

  TableDescriptor descriptor;
  std::shared_ptr<Gate> gate;
  std::shared_ptr<ExpiryMark> expiry_mark;
  model::IndexKeySchema key_parts;                 // the key schema, as an index would have it
  std::shared_ptr<const stream::Appender> stream;  // null while no stream is enabled
  Meters meters;  // set by the store's CatalogObserver, if there is one

  const model::KeySchema& key_schema() const { return descriptor.key_schema; }
  // Of one of the descriptor's own global indexes. There must be meters.
  throughput::Meter& MeterOf(const IndexDescriptor& index) const {
    return *meters.indexes[static_cast<size_t>(&index - descriptor.indexes.data())];
  }
};
using TablePtr = std::shared_ptr<const Table>;

// What a write does with one of its items.
struct Change {
  // kExpire deletes as kDelete does, in the name of time to live. kReindex leaves the item as it is
  // and adds what entries of it are missing in indexes that are being built.
  enum Kind { kNone, kPut, kDelete, kExpire, kReindex };
  Kind kind = kNone;
  std::string item;  // encoded; for kPut
  // Of a body that has to know what they cost. The write takes them as they are if they are from
  // the version of the table and the very old image that it goes by, and derives them itself if
  // not.
  EntryChanges entries = {};

  // Sets `entries`, unless there are no indexes or nothing changes. Kind and item must be what they
  // are going to be.
  void DeriveEntries(const Table& table, model::ItemView old_item);
};

struct WriteTarget {
  TablePtr table;
  std::string key;  // EncodeItemKey
};

// A client's token under which a write is to happen once. Writes with one token run one after the
// other.
struct TokenUse {
  std::string token;
  std::optional<std::string> earlier;  // set before the body runs: the record that an earlier write
                                       // left; gone after 10 minutes
  std::optional<std::string>
      record;  // set by the body: to be left under the token, in the same batch as the items
};

// Decides, from the old images (ItemView() where there is none) in the order of the targets, what
// to do with each. It may run more than once and on any thread: it must not change anything but its
// own outputs.
using WriteBody =
    UniqueFunction<Result<std::vector<Change>>(const std::vector<model::ItemView>& old_items)>;
using WriteDone = UniqueFunction<void(Status)>;
// Asked, under the latches, before the body runs: returns false if the body may run on this thread,
// or true after it has seen to it that `run` is called once, on any thread.
using WriteDetour =
    std::function<bool(const std::vector<model::ItemView>& old_items, UniqueFunction<void()> run)>;

// What the items of one partition key value and their entries in local indexes may take together;
// in tables with local indexes.
inline constexpr int64_t kMaxCollectionBytes = int64_t{10} << 30;

// Of kItemCollectionTooLarge: which of the targets it was.
struct TargetPayload : ErrorPayload {
  explicit TargetPayload(size_t target) : target(target) {}
  size_t target;
};

struct TableCounts {
  int64_t items = 0;
  int64_t bytes = 0;
};

class IndexBuilder;

// Hears of each version of a table before any request sees it, and hangs its meters on it.
class CatalogObserver {
 public:
  virtual ~CatalogObserver() = default;
  // `next` takes the place of `before`, whose meters it has so far; null: of none, or of one that
  // this observer has not seen. Calls come one at a time, under a lock of the store: they must not
  // call it.
  virtual void OnVersion(const Table* before, Table* next) = 0;
};

// Thread-safe.
class Store {
 public:
  // Reads the catalog. The engine, clock and pool must outlive the store.
  static Result<std::unique_ptr<Store>> Open(kv::Engine& engine, const Clock& clock,
                                             WorkerPool& workers);
  ~Store();

  // --- Catalog ---

  // Null if there is no such table.
  TablePtr Find(std::string_view name) const;
  // All tables by name: the default account's first, then those of each other account.
  std::vector<TablePtr> List() const;
  // At most `most` tables of an account, empty for the default, by name from the one after `after`
  // on, a name as clients know it. Takes time in the number of tables that it returns.
  std::vector<TablePtr> ListOf(std::string_view account, std::string_view after = {},
                               size_t most = SIZE_MAX) const;
  // Shows `observer` what tables there are, and whatever becomes of them from now on. Null: nobody
  // any more; then no call is under way. Requests may be.
  void Observe(CatalogObserver* observer);

  using CatalogDone = UniqueFunction<void(Result<TablePtr>)>;
  // Creates the table `descriptor` describes; the store chooses its tablet. kResourceInUse if the
  // name is taken. `check`, if any, may refuse while no other change of the catalog runs.
  using CheckDescriptor = UniqueFunction<Status(const TableDescriptor& descriptor)>;
  void Create(TableDescriptor descriptor, CatalogDone done, CheckDescriptor check = nullptr);
  // Applies `change` to the current descriptor. kResourceNotFound, or the error of `change`, which
  // changes nothing then. Like the checks it may run again, on what another process has made of the
  // descriptor meanwhile.
  using ChangeDescriptor = UniqueFunction<Status(TableDescriptor* descriptor)>;
  // Global indexes that the change adds get their tablets here, and so does time to live. When it
  // adds or takes away indexes (time to live is one), the writes under way finish under the old
  // set, others wait for the change to be durable, and only then `done` hears of it; a new
  // index that is kCreating is then filled, one that is kDeleting removed, in the background, also
  // after a restart. The stream follows the descriptor in the same way: it is made and closed with
  // stream_view_type, and its shards follow the partitions.
  void Alter(std::string name, ChangeDescriptor change, CatalogDone done);
  // Calls `task` while no write of the table is under way and none begins, so that every change
  // with a time up to now is durable; then `done`. A write that waits for another of its items is
  // not under way. `task` must not block. kResourceNotFound. Not where several processes share the
  // store.
  using QuietTask = UniqueFunction<Status(const TablePtr& table)>;
  void WhileQuiet(std::string name, QuietTask task, UniqueFunction<void(Status)> done);
  // Deletes the records of the table's change log of the days before `day`, and forgets moments
  // before `since_micros`. Does nothing for another log than that of `log_tablet_id`.
  void TrimChangeLog(std::string name, uint32_t log_tablet_id, int64_t day, int64_t since_micros,
                     CatalogDone done);
  // Removes the table, its items and its indexes; waits for running writes, and refuses those that
  // still wait for an item. `check` may refuse. Answers with the last version.
  void Drop(std::string name, CheckDescriptor check, CatalogDone done);

  // Gives back the disk of tablets that were dropped.
  SpaceReclaimer& space() { return space_; }

  // --- Several processes ---

  // Whether other processes may write the store. If not, the next two do nothing.
  bool shared() const { return shared_; }
  // Takes over what other processes have made of the catalog. Waits for the engine: not for a
  // loop's or an engine's thread.
  Status Refresh();
  // The same, and finishes what processes that died have left undone. To be called about every
  // second.
  Status CatchUp();
  // Whether this process is to fill indexes and let items expire, or leaves that to another; asked
  // again and again. It is never wrong if several do. Until this is called, and with null: yes.
  using WorkPredicate = std::function<bool(const Table& table)>;
  void SetWorkPredicate(WorkPredicate may_work);
  bool MayWork(const Table& table) const;
  // Writes are refused by a fence that is above that of this version, and the catalog has no other:
  // lets them go on there, for who raised it has died, or will notice.
  Status AcceptFence(const TableDescriptor& table);
  // What hears the messages of the engine's bulletin that are not for the store, which listens
  // itself.
  void ListenTo(kv::Bulletin::Listener listener);
  // Ends what the store does by itself, and every write that waits to run again. To be called
  // before the engine goes, if that is done before the store goes. Idempotent.
  void Stop();

  // --- Streams, of tables that are gone too ---

  // Null if there is no such stream, or no longer.
  stream::StreamPtr FindStream(std::string_view table_name, std::string_view label) const;
  // By table name in the order of List, then by label.
  std::vector<stream::StreamPtr> ListStreams() const;
  // Returns those of the tables of an account, empty for the default, in the order of ListStreams.
  std::vector<stream::StreamPtr> ListStreamsOf(std::string_view account) const;
  // Succeeds the shards of the table's stream that were opened at `opened_before` or earlier. Does
  // nothing if there are none.
  void RotateShards(std::string name, int64_t opened_before, CatalogDone done);
  // Applies `change`, which leaves open shards as they are, and deletes ranges in the same batch.
  // OK if the stream is gone.
  using ChangeStream = UniqueFunction<void(stream::StreamDescriptor* stream)>;
  void AlterStream(stream::StreamPtr stream, ChangeStream change,
                   std::vector<kv::DeleteRange> ranges, WriteDone done);
  // Takes a disabled stream and its records away. OK if it is gone already; kResourceInUse if it is
  // enabled.
  void RemoveStream(stream::StreamPtr stream, WriteDone done);

  // --- Items ---

  // Reads the durable image of an item. False if there is none. kWouldBlock with Tier::kMemory,
  // kCorruption, kUnavailable. With `past`, the image of that moment; so in ScanTablet.
  Result<bool> Get(const Table& table, std::string_view key, kv::Tier tier, std::string* item,
                   const Past* past = nullptr);
  // The same, of the present and with Tier::kAny, by Engine::GetLater, or with `recent` by
  // Engine::GetRecent.
  void GetLater(const Table& table, std::string_view key, bool recent, kv::Engine::GetDone done);
  // Reads the durable images of items of any tables from one state; images->at(i) belongs to
  // items[i]. Returns the sum of their sizes (model::ItemView::size_bytes); from the item on with
  // which it exceeds `most_bytes` no image is kept, and *images is empty. Calls `keep` with the
  // bytes of each image before it is copied; its error is returned. Errors as Get, and
  // kTransactionConflict if others change them all the time.
  Result<size_t> GetTogether(std::span<const WriteTarget> items, kv::Tier tier, size_t most_bytes,
                             FunctionRef<Status(size_t bytes)> keep,
                             std::vector<std::optional<std::string>>* images);
  // Visits items with keys in [begin, end) in key order (descending when reverse) until `visit`
  // returns false.
  Status Scan(const Table& table, std::string_view begin, std::string_view end, bool reverse,
              kv::Tier tier, FunctionRef<bool(std::string_view key, model::ItemView item)> visit);
  // The same for the entries of an index, or whatever else the tablet holds.
  Status ScanTablet(const kv::Range& range, kv::Tier tier,
                    FunctionRef<bool(std::string_view key, model::ItemView item)> visit,
                    const Past* past = nullptr);

  // Reads the targets under latches, runs `body`, and applies what it says in one batch; `done`
  // when that is durable. Targets are distinct. An error of the body is handed to `done` (after
  // whatever it saw is durable) and nothing is applied. kResourceNotFound if a table is being
  // dropped. kTransactionConflict (several targets) or kUnavailable if other processes were faster
  // again and again. kItemCollectionTooLarge if a collection would grow beyond its limit, as far as
  // the writes that are durable tell. The body may share `token` and use it as TokenUse says.
  // `detour` is for bodies that may take long; null: the body runs where the write happens to be.
  // Nothing is applied once `permit` (kv/permit.h; may be null) has ended: kUnavailable.
  void Write(std::vector<WriteTarget> targets, WriteBody body, WriteDone done,
             std::shared_ptr<TokenUse> token = nullptr, WriteDetour detour = nullptr,
             kv::FatePtr permit = nullptr);

  // Items and bytes of the table as of the last durable write.
  Result<TableCounts> Counts(const Table& table);
  // The same of an index of the table.
  Result<TableCounts> IndexCounts(const Table& table, const IndexDescriptor& index);
  // Bytes of the items with the partition key value of `item_key` and of their entries in local
  // indexes. Of tables with local indexes only.
  Result<int64_t> CollectionBytes(const Table& table, std::string_view item_key, kv::Tier tier);
  // Another limit than kMaxCollectionBytes. Before the first write.
  void LimitCollections(int64_t bytes) { max_collection_bytes_ = bytes; }
  int64_t max_collection_bytes() const { return max_collection_bytes_; }
  // True while an index is being filled or removed. Work that waits because its table is damaged
  // does not count.
  bool BuildsIndexes() const;
  // Returns the tables whose index work has failed because the table is damaged: table name to
  // error message. The work is tried again from time to time.
  std::map<std::string, std::string> DamagedTables() const;

  kv::Engine& engine() { return engine_; }
  const Clock& clock() const { return clock_; }
  WorkerPool& workers() { return workers_; }
  LatchTable& latches() { return latches_; }
  TokenLedger& tokens() { return tokens_; }
  // The clock of what lives for some minutes and goes to clients: tokens and shard iterators.
  AgeClock& ages() { return tokens_.ages(); }
  DelayedTasks& tasks() { return tasks_; }
  History& history() { return history_; }
  history::ChangeClock& change_clock() { return change_clock_; }

 private:
  friend class IndexBuilder;

  // A change of a table on its way into the catalog.
  struct Alteration {
    ChangeDescriptor change;
    std::vector<kv::DeleteRange> ranges;  // deleted in the same batch
    ChangeStream change_stream;           // if set: what happens to the enabled stream besides
    std::shared_ptr<const Table> current;
    std::shared_ptr<Table> next;
    std::optional<stream::StreamDescriptor> stream;  // its next version, if it changes
    CatalogDone done;
  };

  Store(kv::Engine& engine, const Clock& clock, WorkerPool& workers);
  void AlterAndDelete(std::string name, ChangeDescriptor change,
                      std::vector<kv::DeleteRange> ranges, CatalogDone done);
  void StartAlteration(std::string name, std::shared_ptr<Alteration> alteration);
  void CommitAlteration(std::shared_ptr<Alteration> alteration, bool held);
  // The next version of the table's stream, if the change asks for one.
  std::optional<stream::StreamDescriptor> NextStream(const TableDescriptor& current,
                                                     TableDescriptor* next,
                                                     ChangeStream& change_stream);
  // Without a tablet. Its label goes into the table's descriptor.
  stream::StreamDescriptor NewStream(TableDescriptor* table);
  // The version that a batch with this stamp has stored.
  void PublishStream(stream::StreamDescriptor stream, uint64_t stamp);
  void LoadCatalog(CatalogSnapshot catalog);
  void Publish(std::shared_ptr<Table> table);
  void Unpublish(const std::string& name);
  // Puts an entry for the tablets that the batch drops, if their space has to be given back, and
  // returns them; once the batch is applied they go to GiveBack.
  std::vector<kv::Tablet> MarkDropped(kv::Batch* batch) const;
  void GiveBack(std::vector<kv::Tablet> dropped);
  // Runs `task` when no other catalog change is under way; it must call EndCatalogChange.
  void BeginCatalogChange(UniqueFunction<void()> task);
  void EndCatalogChange();

  // The catalog of a shared engine (shared_catalog.cc). These wait.
  struct CatalogEdit {
    std::vector<kv::Put> puts;
    std::vector<kv::Delete> deletes;
    std::vector<kv::DeleteRange> ranges;
    std::vector<kv::Tablet> dropped;  // given up for good
  };
  // Says from the catalog in memory what to change; nothing: nothing. Runs again if another process
  // was faster.
  using PrepareEdit = FunctionRef<Result<std::optional<CatalogEdit>>()>;
  Status EditCatalog(PrepareEdit prepare);
  struct Attempt {
    std::string name;
    std::string dropped_key;
    std::vector<kv::Tablet> dropped;
  };
  Status FinishEdit(const Attempt& attempt);
  void EmptyDropped(const Attempt& attempt);
  Result<CatalogEdit> EditOfCreate(TableDescriptor* descriptor, CheckDescriptor& check);
  Result<std::optional<CatalogEdit>> EditOfAlteration(const std::string& name,
                                                      Alteration& alteration,
                                                      TableDescriptor* altered);
  Result<CatalogEdit> EditOfDrop(const std::string& name, CheckDescriptor& check, TablePtr* last);
  // Runs `change` on a worker when no other change of this process is under way.
  void ChangeOnWorker(UniqueFunction<void()> change);
  void CreateShared(TableDescriptor descriptor, CatalogDone done, CheckDescriptor check);
  void AlterShared(std::string name, std::shared_ptr<Alteration> alteration);
  void DropShared(std::string name, CheckDescriptor check, CatalogDone done);
  void AlterStreamShared(stream::StreamPtr stream, ChangeStream change,
                         std::vector<kv::DeleteRange> ranges, WriteDone done);
  void RemoveStreamShared(stream::StreamPtr stream, WriteDone done);
  Result<uint32_t> ReserveTablets(uint32_t count);
  // Keeps out writes that go by this version of the table, or an older one.
  Status RaiseFence(const TableDescriptor& table);
  // Sets the stamps that separate the shards, to which nobody writes: those that are closed no
  // more, for the table has this fence now, those that are opened not yet.
  Status SettleShards(stream::StreamDescriptor* stream, uint64_t fence);
  Status FinishDrop(const std::string& key, const std::vector<kv::Tablet>& tablets);
  void Install(CatalogSnapshot catalog);
  void FindWork();
  void Listen();
  void Announce();

  kv::Engine& engine_;
  const Clock& clock_;
  WorkerPool& workers_;
  const bool shared_;
  DelayedTasks tasks_;
  LatchTable latches_;
  TokenLedger tokens_;
  int64_t max_collection_bytes_ = kMaxCollectionBytes;
  History history_;
  history::ChangeClock change_clock_;
  mutable std::shared_mutex catalog_mutex_;
  CatalogObserver* observer_ = nullptr;  // under catalog_mutex_
  using TablesByName = std::map<std::string, TablePtr, NameLess>;
  using StreamsByName =
      std::map<std::pair<std::string, std::string>, stream::StreamPtr, StreamNameLess>;
  TablesByName catalog_;         // under catalog_mutex_
  StreamsByName streams_;        // by table name and label; under catalog_mutex_
  uint32_t next_tablet_id_ = 1;  // of tables, global indexes and streams; under the catalog latch
  // Of a shared engine, under catalog_mutex_:
  uint64_t catalog_version_ = 0;
  std::map<std::string, uint64_t, std::less<>> table_stamps_;  // of the entries that are shown
  std::map<uint32_t, uint64_t> stream_stamps_;                 // the same, by tablet
  struct Leftover {
    int64_t since_ticks;
    std::vector<kv::Tablet> tablets;
  };
  std::map<std::string, Leftover> leftovers_;  // "dropped/" entries that were seen
  WorkPredicate may_work_;
  kv::Bulletin::Listener listener_;
  bool stopped_ = false;       // of Stop alone
  SeededRandom change_names_;  // of changes of the catalog
  SpaceReclaimer space_;
  std::unique_ptr<IndexBuilder> builder_;  // last: its thread uses the rest
};

}  // namespace stator::table
