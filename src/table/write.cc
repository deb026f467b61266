// The course of a write: write_operation.h.
#include <utility>

#include "table/guarded_write.h"
#include "table/local_write.h"
#include "table/store.h"
#include "table/write_with.h"

namespace stator::table {
namespace {

void StartWrite(Store& store, WriteCall call) {
  if (store.shared()) {
    (new GuardedWrite(store, std::move(call)))->Start();
  } else {
    (new LocalWrite(store, std::move(call)))->Start();
  }
}

}  // namespace

void Change::DeriveEntries(const Table& table, model::ItemView old_item) {
  if (kind == kNone || table.descriptor.indexes.empty()) return;
  entries = ChangesOfEntries(table.descriptor, old_item,
                             kind == kReindex ? old_item
                             : kind == kPut   ? model::ItemView(item)
                                              : model::ItemView());
}

void Store::Write(std::vector<WriteTarget> targets, WriteBody body, WriteDone done,
                  std::shared_ptr<TokenUse> token, WriteDetour detour, kv::FatePtr permit) {
  StartWrite(*this, {.targets = std::move(targets),
                     .body = std::move(body),
                     .done = std::move(done),
                     .token = std::move(token),
                     .detour = std::move(detour),
                     .permit = std::move(permit)});
}

void WriteWith(Store& store, std::vector<WriteTarget> targets, WriteBody body, BatchExtra extra,
               WriteDone done, WriteDetour detour) {
  StartWrite(store, {.targets = std::move(targets),
                     .body = std::move(body),
                     .done = std::move(done),
                     .detour = std::move(detour),
                     .extra = std::move(extra)});
}

}  // namespace stator::table
