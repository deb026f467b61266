#include "server/transaction_sweep.h"

#include <map>

#include "fleet/records.h"
#include "server/heat_histories.h"
#include "server/shares.h"
#include "table/catalog_entry.h"
#include "table/token_ledger.h"

namespace stator::server {

std::vector<NamedTablet> TabletsOf(const table::CatalogSnapshot& catalog) {
  std::vector<NamedTablet> tablets = {{table::kCatalogTablet, "catalog"},
                                      {kHeatTablet, "histories of heat"},
                                      {fleet::kFleetTablet, "processes"},
                                      {kSharesTablet, "capacity of processes"},
                                      {table::kLedgerTablet, "tokens of transactions"}};
  std::map<std::string, uint32_t> owners;
  for (const auto& [stamp, d] : catalog.tables) {
    owners[d.name] = d.tablet_id;
    tablets.push_back({d.tablet(), "items of " + d.name, d.tablet_id});
    for (const table::IndexDescriptor& index : d.indexes) {
      if (index.is_global()) tablets.push_back({d.TabletOf(index), "index " + index.name + " of " + d.name, d.tablet_id});
    }
    if (d.expiry) tablets.push_back({d.expiry->tablet(), "expiry of " + d.name, d.tablet_id});
  }
  for (const auto& [stamp, stream] : catalog.streams) {
    const auto owner = owners.find(stream.table_name);
    tablets.push_back({stream.tablet(), "stream " + stream.label + " of " + stream.table_name,
                       owner == owners.end() ? 0 : owner->second});
  }
  return tablets;
}

Status SweepTransactions(kv_tx::TransactionEngine& engine, const std::function<bool(uint32_t owner)>& is_mine) {
  ASSIGN_OR_RETURN(const table::CatalogSnapshot catalog, table::ReadCatalog(engine));
  for (const NamedTablet& each : TabletsOf(catalog)) {
    if (!is_mine(each.owner) || engine.Sweep(each.tablet)) continue;
    return Error(ErrorCode::kUnavailable, "Transactions are left in the tablet of " + each.purpose + ".");
  }
  return OkStatus();
}

}  // namespace stator::server
