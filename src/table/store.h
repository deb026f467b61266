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
#include "table/catalog.h"
#include "table/delayed_tasks.h"
#include "table/descriptor.h"
#include "table/expiry.h"
#include "table/gate.h"
#include "table/history.h"
#include "table/index_entries.h"
#include "table/latch.h"
#include "table/past.h"
#include "table/space_reclaimer.h"
#include "table/table.h"
#include "table/table_name.h"
#include "table/token_ledger.h"

namespace stator::table {

// What a write does with one of its items.
struct Change {
  // kExpire deletes like kDelete, but as time to live (which stream records show). kReindex leaves
  // the item as it is, and adds its missing entries to indexes that are being built.
  enum Kind { kNone, kPut, kDelete, kExpire, kReindex };
  Kind kind = kNone;
  std::string item;  // encoded; for kPut
  // The changes of index entries, if the body has derived them to know their cost. The write uses
  // them if they were derived from the same version of the table and the same old image; otherwise
  // it derives them itself.
  EntryChanges entries = {};

  // Derives `entries`, unless the table has no indexes or nothing changes. `kind` and `item` must
  // have their final values.
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
// Decides whether the body of a write runs on another thread. Called under the latches, before the
// body. Returns false if the body may run on this thread. Otherwise it arranges that `run` is
// called once, on any thread, and returns true, or it returns the error that refuses the write.
using WriteDetour = std::function<Result<bool>(const std::vector<model::ItemView>& old_items,
                                               UniqueFunction<void()> run)>;

// The maximum size of an item collection: the items of one partition key value with their entries
// in local indexes. Only for tables with local indexes.
inline constexpr int64_t kMaxCollectionBytes = int64_t{10} << 30;

// Payload of kItemCollectionTooLarge: the index of the target whose collection is too large.
struct TargetPayload : ErrorPayload {
  explicit TargetPayload(size_t target) : target(target) {}
  size_t target;
};

struct TableCounts {
  int64_t items = 0;
  int64_t bytes = 0;
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
  TablePtr Find(std::string_view name) const { return catalog_->Find(name); }
  // All tables by name: the default account's first, then those of each other account.
  std::vector<TablePtr> List() const { return catalog_->List(); }
  // At most `most` tables of an account, empty for the default, by name from the one after `after`
  // on, a name as clients know it. Takes time in the number of tables that it returns.
  std::vector<TablePtr> ListOf(std::string_view account, std::string_view after = {},
                               size_t most = SIZE_MAX) const {
    return catalog_->ListOf(account, after, most);
  }
  // Returns at most `most` tables of an account that have insights, or a global index with
  // insights, by name from `from` on. Takes time in the number of tables that it returns.
  std::vector<TablePtr> ListWithInsights(std::string_view account, std::string_view from,
                                         size_t most) const {
    return catalog_->ListWithInsights(account, from, most);
  }
  // Shows `observer` what tables there are, and whatever becomes of them from now on. Null: nobody
  // any more; then no call is under way. Requests may be.
  void Observe(CatalogObserver* observer) { catalog_->Observe(observer); }

  using CatalogDone = Catalog::Done;
  // Creates the table `descriptor` describes; the store chooses its tablet. kResourceInUse if the
  // name is taken. `check`, if any, may refuse while no other change of the catalog runs.
  using CheckDescriptor = Catalog::Check;
  void Create(TableDescriptor descriptor, CatalogDone done, CheckDescriptor check = nullptr) {
    catalog_->Create(std::move(descriptor), std::move(done), std::move(check));
  }
  // Applies `change` to the current descriptor. kResourceNotFound, or the error of `change`; then
  // nothing is changed. `change`, like the checks, may run again, on a descriptor that another
  // process has changed meanwhile.
  using ChangeDescriptor = Catalog::Change;
  // Global indexes that the change adds get their tablets here, and so does time to live. When it
  // adds or takes away indexes (time to live is one), the writes under way finish under the old
  // set, others wait for the change to be durable, and only then `done` hears of it; a new
  // index that is kCreating is then filled, one that is kDeleting removed, in the background, also
  // after a restart. The stream follows the descriptor in the same way: it is made and closed with
  // stream_view_type, and its shards follow the partitions.
  void Alter(std::string name, ChangeDescriptor change, CatalogDone done) {
    AlterAndDelete(std::move(name), std::move(change), {}, std::move(done));
  }
  // Alters the table like Alter, and deletes `ranges` in the same batch.
  void AlterAndDelete(std::string name, ChangeDescriptor change,
                      std::vector<kv::DeleteRange> ranges, CatalogDone done) {
    catalog_->Alter(std::move(name), {.change = std::move(change),
                                      .ranges = std::move(ranges),
                                      .change_stream = nullptr,
                                      .done = std::move(done)});
  }
  // Calls `task` while no write of the table is under way and none begins, so that every change
  // with a time up to now is durable; then `done`. A write that waits for another of its items is
  // not under way. `task` must not block. kResourceNotFound. Not where several processes share the
  // store.
  using QuietTask = Catalog::QuietTask;
  void WhileQuiet(std::string name, QuietTask task, UniqueFunction<void(Status)> done) {
    catalog_->WhileQuiet(std::move(name), std::move(task), std::move(done));
  }
  // Deletes the records of the table's change log of all days before `day`. Moments before
  // `since_micros` can then not be restored any more. Does nothing if the table's log is not in the
  // tablet `log_tablet_id` any more.
  void TrimChangeLog(std::string name, uint32_t log_tablet_id, int64_t day, int64_t since_micros,
                     CatalogDone done) {
    catalog_->TrimChangeLog(std::move(name), log_tablet_id, day, since_micros, std::move(done));
  }
  // Removes the table, its items and its indexes; waits for running writes, and refuses those that
  // still wait for an item. `check` may refuse. Answers with the last version.
  void Drop(std::string name, CheckDescriptor check, CatalogDone done) {
    catalog_->Drop(std::move(name), std::move(check), std::move(done));
  }

  // Gives back the disk of tablets that were dropped.
  SpaceReclaimer& space() { return space_; }

  // --- Several processes ---

  // Whether other processes may write the store. If not, the next two do nothing.
  bool shared() const { return shared_; }
  // Takes over what other processes have made of the catalog. Waits for the engine: not for a
  // loop's or an engine's thread.
  Status Refresh() { return catalog_->Refresh(); }
  // Does Refresh, and finishes the catalog changes that dead processes have left unfinished. Call
  // it about every second.
  Status CatchUp() { return catalog_->CatchUp(); }
  // Sets the predicate that says whether this process does the background work of a table: it fills
  // indexes and deletes expired items. It is called before each piece of work. It may be true in
  // several processes at once: that does no harm. Null, which is the default: always true.
  using WorkPredicate = Catalog::WorkPredicate;
  void SetWorkPredicate(WorkPredicate may_work) { catalog_->SetWorkPredicate(std::move(may_work)); }
  bool MayWork(const Table& table) const { return catalog_->MayWork(table); }
  // Call it when the engine's fence of a table is above the fence of this version, and the catalog
  // has no newer version: a process has raised the fence and died, or has not stored its version
  // yet. Accepts the engine's fence, so that writes go on.
  Status AcceptFence(const TableDescriptor& table) { return catalog_->AcceptFence(table); }
  // Sets the listener for those messages of the engine's bulletin that are not for the store. (The
  // store listens to the others.)
  void ListenTo(kv::Bulletin::Listener listener) { catalog_->ListenTo(std::move(listener)); }
  // Ends what the store does by itself, and every write that waits to run again. To be called
  // before the engine goes, if that is done before the store goes. Idempotent.
  void Stop();

  // --- Streams, of tables that are gone too ---

  // Null if there is no such stream, or no longer.
  stream::StreamPtr FindStream(std::string_view table_name, std::string_view label) const {
    return catalog_->FindStream(table_name, label);
  }
  // First the streams that clients see, then the hidden ones; each by table name in the order of
  // List, then by label.
  std::vector<stream::StreamPtr> ListStreams() const { return catalog_->ListStreams(); }
  // Returns those of the tables of an account, empty for the default, in the order of ListStreams.
  std::vector<stream::StreamPtr> ListStreamsOf(std::string_view account) const {
    return catalog_->ListStreamsOf(account);
  }
  // Returns at most `most` streams that clients see, by table name and label, from the one after
  // `after` on: of one table, or of all tables of an account, empty for the default. Takes time in
  // the number of streams that it returns.
  std::vector<stream::StreamPtr> StreamPage(std::string_view account,
                                            const std::optional<std::string>& table,
                                            const std::optional<StreamPlace>& after,
                                            size_t most) const {
    return catalog_->StreamPage(account, table, after, most);
  }
  // Succeeds the shards of the table's stream that were opened at `opened_before` or earlier. Does
  // nothing if there are none.
  void RotateShards(std::string name, int64_t opened_before, CatalogDone done) {
    catalog_->RotateShards(std::move(name), opened_before, std::move(done));
  }
  // Applies `change`, which leaves open shards as they are, and deletes ranges in the same batch.
  // OK if the stream is gone.
  using ChangeStream = Catalog::ChangeStream;
  void AlterStream(stream::StreamPtr stream, ChangeStream change,
                   std::vector<kv::DeleteRange> ranges, WriteDone done) {
    catalog_->AlterStream(std::move(stream), std::move(change), std::move(ranges), std::move(done));
  }
  // Takes a disabled stream and its records away. OK if it is gone already; kResourceInUse if it is
  // enabled.
  void RemoveStream(stream::StreamPtr stream, WriteDone done) {
    catalog_->RemoveStream(std::move(stream), std::move(done));
  }

  // --- Items ---

  // Reads the durable image of an item. False if there is none. kWouldBlock with Tier::kMemory,
  // kCorruption, kUnavailable. With `past`, the image of that moment; so in ScanTablet.
  Result<bool> Get(const Table& table, std::string_view key, kv::Tier tier, std::string* item,
                   const Past* past = nullptr);
  // Reads the durable image of an item as it is now, without a waiting thread: by Engine::GetLater,
  // or if `recent` by Engine::GetRecent. `done` gets the value.
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
  // Visits the entries of any tablet, such as those of an index, as Scan visits items.
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
  // Entries and bytes of an index of the table as of the last durable write.
  Result<TableCounts> IndexCounts(const Table& table, const IndexDescriptor& index);
  // Bytes of the items with the partition key value of `item_key` and of their entries in local
  // indexes. Of tables with local indexes only.
  Result<int64_t> CollectionBytes(const Table& table, std::string_view item_key, kv::Tier tier);
  // Another limit than kMaxCollectionBytes. Before the first write.
  void LimitCollections(int64_t bytes) { max_collection_bytes_ = bytes; }
  int64_t max_collection_bytes() const { return max_collection_bytes_; }
  // Returns true while an index is being filled or removed. Work that waits because its table is
  // damaged does not count.
  bool BuildsIndexes() const;
  // Returns the tables whose index work has failed because the table is damaged: table name to
  // error message. The work is tried again from time to time.
  std::map<std::string, std::string> DamagedTables() const;

  // Internal to the room.
  Catalog& catalog() { return *catalog_; }
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
  Store(kv::Engine& engine, const Clock& clock, WorkerPool& workers);

  kv::Engine& engine_;
  const Clock& clock_;
  WorkerPool& workers_;
  const bool shared_;
  bool stopped_ = false;  // of Stop alone
  DelayedTasks tasks_;
  LatchTable latches_;
  TokenLedger tokens_;
  int64_t max_collection_bytes_ = kMaxCollectionBytes;
  History history_;
  history::ChangeClock change_clock_;
  SpaceReclaimer space_;
  std::unique_ptr<IndexBuilder> builder_;  // its thread, which Stop ends, uses the rest
  std::unique_ptr<Catalog> catalog_;
};

}  // namespace stator::table
