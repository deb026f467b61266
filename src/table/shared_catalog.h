// The catalog on an engine that several processes write.
//
// What a process has in memory is the catalog of some version, and the version is an entry of the
// catalog: every change is made on what is in memory, writes a new version and is guarded by the
// old one. If it is refused another process was faster; then what it has done is read, and the
// change is made on that.
//
// A change beside which nobody may write by an older version of the table first raises the fence of
// the table's tablet. From then on writes are refused, in all processes; they read the catalog
// again and go on when it knows the new fence. Nothing says that the process which raised a fence
// still lives: so whoever finds that the catalog does not follow writes the fence there himself,
// and if the other one lives after all, it is refused and begins again.
//
// Tablets that are given up are named in the catalog until they are empty, so that anybody can
// finish that.
//
// Internal to the room.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/random.h"
#include "table/catalog.h"
#include "table/catalog_snapshot.h"
#include "table/definition_account.h"

namespace stator::table {

class SharedCatalog final : public Catalog {
 public:
  explicit SharedCatalog(Parts parts) : Catalog(parts), change_names_(SystemSeed()) {}

  Status Load() override;
  void Create(TableDescriptor descriptor, Done done, Check check) override;
  void Alter(std::string name, Alteration asked) override;
  void Drop(std::string name, Check check, Done done) override;
  void AlterStream(stream::StreamPtr stream, ChangeStream change,
                   std::vector<kv::DeleteRange> ranges, StreamDone done) override;
  void RemoveStream(stream::StreamPtr stream, StreamDone done) override;
  Status Refresh() override;
  Status CatchUp() override;
  void SetWorkPredicate(WorkPredicate may_work) override;
  bool MayWork(const Table& table) const override;
  Status AcceptFence(const TableDescriptor& table) override;
  void ListenTo(kv::Bulletin::Listener listener) override;
  void StopListening() override;

 private:
  // These wait.
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
  Result<CatalogEdit> EditOfCreate(TableDescriptor* descriptor, Check& check);
  Result<std::optional<CatalogEdit>> EditOfAlteration(const std::string& name,
                                                      Alteration& alteration,
                                                      TableDescriptor* altered);
  Result<CatalogEdit> EditOfDrop(const std::string& name, Check& check, TablePtr* last);
  // Runs `change` on a worker when no other change of this process is under way.
  void ChangeOnWorker(UniqueFunction<void()> change);
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

  // Under mutex_:
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
  SeededRandom change_names_;  // this and the next: under the catalog's latch
  DefinitionBound bound_;
};

}  // namespace stator::table
