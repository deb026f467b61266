#include "server/transaction_sweep.h"

#include <algorithm>
#include <chrono>
#include <map>
#include <utility>

#include "base/log.h"
#include "fleet/records.h"
#include "kv_tx/unfinished.h"
#include "server/heat_histories.h"
#include "server/shares.h"
#include "table/catalog_entry.h"
#include "table/ledger_tablet.h"

namespace stator::server {

std::vector<NamedTablet> TabletsOf(const table::CatalogSnapshot& catalog) {
  std::vector<NamedTablet> tablets = {{table::kCatalogTablet, "catalog"},
                                      {kHeatTablet, "histories of heat"},
                                      {fleet::kFleetTablet, "processes"},
                                      {kSharesTablet, "capacity of processes"},
                                      {table::kLedgerTablet, "tokens of requests"}};
  std::map<std::string, uint32_t> owners;
  for (const auto& [stamp, d] : catalog.tables) {
    owners[d.name] = d.tablet_id;
    tablets.push_back({d.tablet(), "items of " + d.name, d.tablet_id});
    for (const table::IndexDescriptor& index : d.indexes) {
      if (!index.is_global()) continue;
      tablets.push_back({d.TabletOf(index), "index " + index.name + " of " + d.name, d.tablet_id});
    }
    if (d.expiry) tablets.push_back({d.expiry->tablet(), "time to live of " + d.name, d.tablet_id});
  }
  for (const auto& [stamp, stream] : catalog.streams) {
    const auto owner = owners.find(stream.table_name);
    tablets.push_back({stream.tablet(), "stream " + stream.label + " of " + stream.table_name,
                       owner == owners.end() ? 0 : owner->second});
  }
  return tablets;
}

TransactionSweep::TransactionSweep(kv_tx::TransactionEngine& engine, const Clock& clock,
                                   IsMine is_mine, Options options)
    : engine_(engine), clock_(clock), is_mine_(std::move(is_mine)), options_(options) {}

void TransactionSweep::Start() {
  ticker_ = std::make_unique<Ticker>(std::chrono::microseconds(options_.interval_micros), [this] {
    const Status swept = Step();
    if (!swept.ok() && !std::exchange(failing_, true))
      LogWarn("transactions_not_swept", {{"error", swept.error().message()}});
    if (swept.ok()) failing_ = false;
  });
}

void TransactionSweep::Stop() {
  stopping_ = true;
  if (ticker_ != nullptr) ticker_->Stop();
}

Status TransactionSweep::StepOn(const NamedTablet& tablet, View* seen) {
  ASSIGN_OR_RETURN(const kv_tx::Unfinished found,
                   kv_tx::CountUnfinished(engine_.inner(), tablet.tablet));
  ++seen->tablets;
  double age = 0;
  if (found.units > 0) age = static_cast<double>(clock_.NowMicros() - found.oldest_micros) / 1e6;
  seen->unfinished += found.units;
  seen->oldest_seconds = std::max(seen->oldest_seconds, age);
  const bool old = found.units > 0 && age >= static_cast<double>(options_.older_than_seconds);
  if (!old && found.committed + found.aborted == 0) return OkStatus();
  if (!engine_.Sweep(tablet.tablet, options_.older_than_seconds)) {
    return Error(ErrorCode::kUnavailable, "Not all transactions in the tablet of " +
                                              tablet.purpose + " could be brought in order.");
  }
  return OkStatus();
}

Status TransactionSweep::Step() {
  ASSIGN_OR_RETURN(const table::CatalogSnapshot catalog, table::ReadCatalog(engine_));
  View seen;
  Status first;
  for (const NamedTablet& tablet : TabletsOf(catalog)) {
    if (stopping_) return OkStatus();
    if (!is_mine_(tablet.owner)) continue;
    Status status = StepOn(tablet, &seen);
    if (!status.ok() && first.ok()) first = std::move(status);
  }
  MutexLock lock(mutex_);
  seen.passes = view_.passes + 1;
  view_ = seen;
  return first;
}

TransactionSweep::View TransactionSweep::view() const {
  MutexLock lock(mutex_);
  return view_;
}

}  // namespace stator::server
