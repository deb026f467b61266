// The catalog of a store that no other process writes. Internal to the room.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "table/catalog.h"
#include "table/definition_account.h"

namespace stator::table {

// What it shows is what is stored: a change is shown when its batch is durable. A change beside
// which no write may go by the version before holds the gate of the table meanwhile.
class LocalCatalog final : public Catalog {
 public:
  explicit LocalCatalog(Parts parts)
      : Catalog(parts), space_(parts.space), change_clock_(parts.change_clock) {}

  Status Load() override;
  void Create(TableDescriptor descriptor, Done done, Check check) override;
  void Alter(std::string name, Alteration asked) override;
  void Drop(std::string name, Check check, Done done) override;
  void AlterStream(stream::StreamPtr stream, ChangeStream change,
                   std::vector<kv::DeleteRange> ranges, StreamDone done) override;
  void RemoveStream(stream::StreamPtr stream, StreamDone done) override;

 private:
  // A change of a table on its way into the catalog.
  struct Running : Alteration {
    TablePtr current;
    std::shared_ptr<Table> next;
    std::vector<stream::StreamDescriptor> streams;  // next versions of those that change
  };
  void Commit(std::shared_ptr<Running> alteration, bool held);
  void Unpublish(const std::string& name);
  // Puts an entry for the tablets that the batch drops, if their space has to be given back, and
  // returns them; once the batch is applied they go to GiveBack.
  std::vector<kv::Tablet> MarkDropped(kv::Batch* batch) const;
  void GiveBack(std::vector<kv::Tablet> dropped);

  SpaceReclaimer& space_;
  history::ChangeClock& change_clock_;
  DefinitionBound bound_;        // under the catalog's latch
  uint32_t next_tablet_id_ = 1;  // of tables, global indexes and streams; under the catalog's latch
};

}  // namespace stator::table
