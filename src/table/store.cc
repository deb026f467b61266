#include "table/store.h"

#include <utility>

#include "base/log.h"
#include "table/index_builder.h"
#include "table/item_value.h"
#include "table/key_encoding.h"
#include "table/local_catalog.h"
#include "table/shared_catalog.h"

namespace stator::table {
namespace {

Result<int64_t> ReadCounter(kv::Engine& engine, kv::Tablet tablet, std::string_view key,
                            kv::Tier tier = kv::Tier::kAny) {
  std::string value;
  ASSIGN_OR_RETURN(const bool found, engine.Get(tablet, key, tier, &value));
  if (!found) return int64_t{0};
  return kv::CounterOf(value);
}

std::unique_ptr<Catalog> MakeCatalog(bool shared, Catalog::Parts parts) {
  if (shared) return std::make_unique<SharedCatalog>(parts);
  return std::make_unique<LocalCatalog>(parts);
}

}  // namespace

Store::Store(kv::Engine& engine, const Clock& clock, WorkerPool& workers)
    : engine_(engine),
      clock_(clock),
      workers_(workers),
      shared_(!engine.capabilities().exclusive),
      tasks_(workers),
      tokens_(engine, clock),
      history_(clock),
      space_(engine),
      builder_(std::make_unique<IndexBuilder>(*this)),
      catalog_(MakeCatalog(shared_,
                           {engine, clock, tasks_, latches_, space_, change_clock_, *builder_})) {}

Store::~Store() { Stop(); }

void Store::Stop() {
  if (std::exchange(stopped_, true)) return;
  catalog_->StopListening();
  // The builder waits for its writes, and where others write these may wait in tasks_: for other
  // processes, or for a worker when there are none any more. There they end now.
  builder_->BeginStop();
  tasks_.Stop();
  builder_->Stop();
  space_.Stop();
}

Result<std::unique_ptr<Store>> Store::Open(kv::Engine& engine, const Clock& clock,
                                           WorkerPool& workers) {
  std::unique_ptr<Store> store(new Store(engine, clock, workers));
  // A damaged entry stops a repetition of its own request and nothing else.
  if (const Status read = store->tokens_.GoOn(); !read.ok()) {
    if (read.error().code() != ErrorCode::kCorruption) return read.error();
    LogError("token_ledger_damaged", {{"error", read.error().message()}});
  }
  TRY(store->catalog_->Load());
  return store;
}

Result<bool> Store::Get(const Table& table, std::string_view key, kv::Tier tier, std::string* item,
                        const Past* past) {
  if (past != nullptr) return past->Get(engine_, table.descriptor.tablet(), key, tier, item);
  ASSIGN_OR_RETURN(const bool found, engine_.Get(table.descriptor.tablet(), key, tier, item));
  if (!found) return false;
  ASSIGN_OR_RETURN(const std::string_view bytes, DecodeItemValue(*item));
  item->erase(0, item->size() - bytes.size());
  return true;
}

void Store::GetLater(const Table& table, std::string_view key, bool recent,
                     kv::Engine::GetDone done) {
  kv::Engine::GetDone take =
      [done = std::move(done)](Result<std::optional<std::string>> value) mutable {
        if (!value.ok() || !*value) return done(std::move(value));
        const Result<std::string_view> bytes = DecodeItemValue(**value);
        if (!bytes.ok()) return done(bytes.error());
        (*value)->erase(0, (*value)->size() - bytes->size());
        done(std::move(value));
      };
  const kv::Tablet tablet = table.descriptor.tablet();
  if (recent) {
    engine_.GetRecent(tablet, key, std::move(take));
  } else {
    engine_.GetLater(tablet, key, std::move(take));
  }
}

Result<size_t> Store::GetTogether(std::span<const WriteTarget> items, kv::Tier tier,
                                  size_t most_bytes, FunctionRef<Status(size_t bytes)> keep,
                                  std::vector<std::optional<std::string>>* images) {
  std::vector<kv::Point> points;
  points.reserve(items.size());
  for (const WriteTarget& item : items)
    points.push_back({item.table->descriptor.tablet(), item.key});
  images->assign(items.size(), std::nullopt);
  size_t sum = 0;
  Status bad;
  TRY(engine_.VisitTogether(points, tier, [&](size_t i, std::optional<std::string_view> value) {
    if (!value) return true;
    Result<std::string_view> bytes = DecodeItemValue(*value);
    if (!bytes.ok()) {
      bad = std::move(bytes).error();
      return false;
    }
    sum += model::ItemView(*bytes).size_bytes();
    if (sum > most_bytes) {
      images->clear();
      return true;
    }
    bad = keep(bytes->size());
    if (bad.ok()) images->at(i).emplace(*bytes);
    return bad.ok();
  }));
  TRY(std::move(bad));
  return sum;
}

Status Store::Scan(const Table& table, std::string_view begin, std::string_view end, bool reverse,
                   kv::Tier tier,
                   FunctionRef<bool(std::string_view key, model::ItemView item)> visit) {
  return ScanTablet({table.descriptor.tablet(), begin, end, reverse}, tier, visit);
}

Status Store::ScanTablet(const kv::Range& range, kv::Tier tier,
                         FunctionRef<bool(std::string_view key, model::ItemView item)> visit,
                         const Past* past) {
  if (past != nullptr) return past->Scan(engine_, range, tier, visit);
  Status bad;
  TRY(engine_.Scan(range, tier, [&](std::string_view key, std::string_view value) {
    Result<std::string_view> bytes = DecodeItemValue(value);
    if (!bytes.ok()) {
      bad = std::move(bytes).error();
      return false;
    }
    return visit(key, model::ItemView(*bytes));
  }));
  return bad;
}

Result<TableCounts> Store::Counts(const Table& table) {
  TableCounts counts;
  ASSIGN_OR_RETURN(counts.items,
                   ReadCounter(engine_, table.descriptor.tablet(), EncodeCounterKey("count")));
  ASSIGN_OR_RETURN(counts.bytes,
                   ReadCounter(engine_, table.descriptor.tablet(), EncodeCounterKey("bytes")));
  return counts;
}

Result<TableCounts> Store::IndexCounts(const Table& table, const IndexDescriptor& index) {
  const kv::Tablet tablet = table.descriptor.TabletOf(index);
  TableCounts counts;
  ASSIGN_OR_RETURN(counts.items,
                   ReadCounter(engine_, tablet, EncodeIndexCounterKey(index, "count")));
  ASSIGN_OR_RETURN(counts.bytes,
                   ReadCounter(engine_, tablet, EncodeIndexCounterKey(index, "bytes")));
  return counts;
}

Result<int64_t> Store::CollectionBytes(const Table& table, std::string_view item_key,
                                       kv::Tier tier) {
  return ReadCounter(engine_, table.descriptor.tablet(),
                     EncodeCollectionKey(table.key_schema(), item_key), tier);
}

bool Store::BuildsIndexes() const { return builder_->busy(); }
std::map<std::string, std::string> Store::DamagedTables() const { return builder_->damaged(); }

}  // namespace stator::table
