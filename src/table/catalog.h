// The catalog of a store: which tables and streams there are, and how that changes. Internal to the
// room: other rooms use the Store, whose methods of the same names say what is returned.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/result.h"
#include "base/unique_function.h"
#include "history/change_clock.h"
#include "kv/engine.h"
#include "stream/stream.h"
#include "table/definition_account.h"
#include "table/delayed_tasks.h"
#include "table/descriptor.h"
#include "table/latch.h"
#include "table/space_reclaimer.h"
#include "table/stream_index.h"
#include "table/table.h"
#include "table/table_index.h"

namespace stator::table {

class IndexBuilder;

// Thread-safe. Shows what there is, and lets one change after the other run. LocalCatalog makes the
// changes where no other process writes the store, SharedCatalog where others do.
class Catalog {
 public:
  // Of the store, which outlives the catalog.
  struct Parts {
    kv::Engine& engine;
    const Clock& clock;
    DelayedTasks& tasks;
    LatchTable& latches;
    SpaceReclaimer& space;
    history::ChangeClock& change_clock;
    IndexBuilder& builder;
  };

  explicit Catalog(Parts parts);
  virtual ~Catalog() = default;
  Catalog(const Catalog&) = delete;
  Catalog& operator=(const Catalog&) = delete;

  // --- Tables and streams ---

  TablePtr Find(std::string_view name) const;
  std::vector<TablePtr> List() const;
  std::vector<TablePtr> ListOf(std::string_view account, std::string_view after, size_t most) const;
  std::vector<TablePtr> ListWithInsights(std::string_view account, std::string_view from,
                                         size_t most) const;
  void Observe(CatalogObserver* observer);
  stream::StreamPtr FindStream(std::string_view table_name, std::string_view label) const;
  std::vector<stream::StreamPtr> ListStreams() const;
  std::vector<stream::StreamPtr> ListStreamsOf(std::string_view account) const;
  std::vector<stream::StreamPtr> StreamPage(std::string_view account,
                                            const std::optional<std::string>& table,
                                            const std::optional<StreamPlace>& after,
                                            size_t most) const;

  // --- Changes ---

  using Done = UniqueFunction<void(Result<TablePtr>)>;
  using Check = UniqueFunction<Status(const TableDescriptor& descriptor)>;
  using Change = UniqueFunction<Status(TableDescriptor* descriptor)>;
  using ChangeStream = UniqueFunction<void(stream::StreamDescriptor* stream)>;
  using StreamDone = UniqueFunction<void(Status)>;
  using QuietTask = UniqueFunction<Status(const TablePtr& table)>;
  struct Alteration {
    Change change;
    std::vector<kv::DeleteRange> ranges;  // deleted in the same batch
    ChangeStream change_stream;           // if set: what happens to the enabled stream besides
    Done done;
  };

  // Reads the catalog, when the store opens.
  virtual Status Load() = 0;
  virtual void Create(TableDescriptor descriptor, Done done, Check check) = 0;
  virtual void Alter(std::string name, Alteration alteration) = 0;
  virtual void Drop(std::string name, Check check, Done done) = 0;
  virtual void AlterStream(stream::StreamPtr stream, ChangeStream change,
                           std::vector<kv::DeleteRange> ranges, StreamDone done) = 0;
  virtual void RemoveStream(stream::StreamPtr stream, StreamDone done) = 0;
  void RotateShards(std::string name, int64_t opened_before, Done done);
  void TrimChangeLog(std::string name, uint32_t log_tablet_id, int64_t day, int64_t since_micros,
                     Done done);
  void WhileQuiet(std::string name, QuietTask task, UniqueFunction<void(Status)> done);

  // --- Several processes; where there is one, there is nothing to do ---

  using WorkPredicate = std::function<bool(const Table& table)>;
  virtual Status Refresh() { return OkStatus(); }
  virtual Status CatchUp() { return OkStatus(); }
  virtual void SetWorkPredicate(WorkPredicate) {}
  virtual bool MayWork(const Table&) const { return true; }
  virtual Status AcceptFence(const TableDescriptor&) { return OkStatus(); }
  virtual void ListenTo(kv::Bulletin::Listener) {}
  // Hears no message any more.
  virtual void StopListening() {}

  // --- For SavedState, where no other process writes ---

  // Keeps out every other change. Waits for the one under way.
  class Lock {
   public:
    explicit Lock(Catalog& catalog);
    ~Lock() { catalog_.EndChange(); }
    Lock(const Lock&) = delete;
    Lock& operator=(const Lock&) = delete;

   private:
    Catalog& catalog_;
  };
  struct Swap {
    std::vector<TablePtr> gone;
    struct Version {
      TablePtr before;  // whose meters go on; null: new ones
      std::shared_ptr<Table> next;
    };
    std::vector<Version> tables;
    std::vector<stream::StreamPtr> gone_streams;
    std::vector<stream::StreamPtr> streams;
  };
  // Shows all of it to requests at once. Under a Lock.
  void Show(const Swap& swap);

 protected:
  // The stream that clients see, and the hidden one.
  enum class StreamKind { kShown, kHidden };
  // Runs `task` when no other change is under way; it must call EndChange.
  void BeginChange(UniqueFunction<void()> task);
  void EndChange();
  void Publish(std::shared_ptr<Table> table);
  // The version that a batch with this stamp has stored.
  void PublishStream(stream::StreamDescriptor stream, uint64_t stamp);
  // Returns what there is now, for DefinitionBound::Check.
  DefinitionBound::Held Held() const;
  // The next versions of the table's streams, of those that the change asks for.
  std::vector<stream::StreamDescriptor> NextStreams(const TableDescriptor& current,
                                                    TableDescriptor* next,
                                                    ChangeStream& change_stream);
  // Without a tablet. Its label goes into the table's descriptor.
  stream::StreamDescriptor NewStream(TableDescriptor* table, StreamKind kind);
  // The enabled streams of a table.
  std::vector<stream::StreamPtr> EnabledStreams(const TableDescriptor& table) const;
  // Gives the table what appends to its enabled streams.
  static void SetAppenders(std::span<const stream::StreamPtr> streams, Table* table);
  static Error NotFound(const std::string& table);
  static Error AlreadyExists(const std::string& table);

  kv::Engine& engine_;
  const Clock& clock_;
  DelayedTasks& tasks_;
  IndexBuilder& builder_;
  mutable std::shared_mutex mutex_;
  TableIndex tables_;                    // under mutex_
  StreamIndex streams_;                  // under mutex_
  CatalogObserver* observer_ = nullptr;  // under mutex_

 private:
  std::optional<stream::StreamDescriptor> NextStream(const TableDescriptor& current,
                                                     TableDescriptor* next, StreamKind kind,
                                                     ChangeStream& change_stream);

  LatchTable& latches_;
};

}  // namespace stator::table
