// For tests.
#pragma once

#include <thread>

#include "kv_tx/transaction_engine.h"
#include "table/store.h"

namespace stator::table::test {

// Until counters have what was added to them and queues have no undecided key, before which they
// end for readers, also where processes have died since.
inline void SettleTransactions(kv_tx::TransactionEngine& engine, Store& store) {
  const auto sweep = [&engine](kv::Tablet tablet) {
    while (!engine.Sweep(tablet, 0)) std::this_thread::yield();
  };
  for (const TablePtr& table : store.List()) {
    const TableDescriptor& d = table->descriptor;
    sweep(d.tablet());
    for (const IndexDescriptor& index : d.indexes) sweep(d.TabletOf(index));
    if (d.expiry) sweep(d.expiry->tablet());
    if (const stream::StreamPtr stream = store.FindStream(d.name, d.stream_label))
      sweep(stream->tablet());
  }
}

}  // namespace stator::table::test
