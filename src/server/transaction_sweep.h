// Brings in order what processes that died in the middle of a transaction have left (kv_tx), where nobody happens to come by.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "kv_tx/transaction_engine.h"
#include "table/catalog_snapshot.h"

namespace stator::server {

// A tablet of the store, and what it is for: of a table, of nothing else.
struct NamedTablet {
  kv::Tablet tablet = {};
  std::string purpose;       // such as "items of music", for people
  uint32_t owner = 0;        // tablet of the items of the table that it belongs to; 0: of none
};
// All that the catalog names, and those that every store has.
std::vector<NamedTablet> TabletsOf(const table::CatalogSnapshot& catalog);

// Goes through those tablets for which `is_mine(owner)`. Waits. An error ends it: the store does not answer, or only with trouble.
Status SweepTransactions(kv_tx::TransactionEngine& engine, const std::function<bool(uint32_t owner)>& is_mine);

}  // namespace stator::server
