#include "ops/index_writes.h"

#include "ops/capacity.h"
#include "table/index_entries.h"

namespace stator::ops {
namespace {

constexpr int64_t kGigabyte = int64_t{1} << 30;

}  // namespace

Status CheckPutIndexKeys(const table::Table& table, model::ItemView item) {
  if (table.descriptor.indexes.empty()) return OkStatus();
  return table::CheckIndexKeys(table.descriptor, model::ItemView(), item, false);
}

Status CheckPutSize(const table::Table& table, model::ItemView item) {
  if (table::FitsWithLocalEntries(table.descriptor, item)) return OkStatus();
  return ValidationError("Item size has exceeded the maximum allowed size");
}

IndexUnits UnitsOf(const table::EntryChanges& entries) {
  IndexUnits units;
  units.reserve(entries.by_index.size());
  for (const table::EntryChange& change : entries.by_index) units.push_back(change.write_units());
  return units;
}

std::optional<ConsumedCapacity> WriteCapacity(const std::optional<ReturnConsumedCapacity>& wanted,
                                              const std::string& table_name,
                                              const table::Table& table, int64_t units,
                                              const IndexUnits& index_units) {
  std::optional<ConsumedCapacity> capacity =
      TableCapacity(wanted, table_name, static_cast<double>(units));
  if (!capacity) return capacity;
  for (size_t i = 0; i < index_units.size(); ++i) {
    if (index_units[i] == 0) continue;
    const table::IndexDescriptor& index = table.descriptor.indexes[i];
    const double consumed = static_cast<double>(index_units[i]);
    capacity->capacity_units += consumed;
    if (*wanted != ReturnConsumedCapacity::kIndexes) continue;
    (index.is_global() ? capacity->global_secondary_indexes : capacity->local_secondary_indexes)
        .push_back({index.name, Capacity{consumed}});
  }
  return capacity;
}

std::optional<ItemCollectionMetrics> CollectionMetrics(
    table::Store& store, const table::Table& table,
    const std::optional<ReturnItemCollectionMetrics>& wanted, model::ItemView key_attributes,
    std::string_view item_key) {
  if (wanted != ReturnItemCollectionMetrics::kSize || !table.descriptor.HasLocalIndexes())
    return std::nullopt;
  ItemCollectionMetrics metrics;
  const std::string& partition = table.key_schema().partition.name;
  std::string entry;
  model::AppendName(&entry, partition);
  entry.append(key_attributes.Find(partition).encoded());
  model::AppendItem(&metrics.item_collection_key, 1, entry);
  // The size is an estimate by the API's contract. So a size that cannot be read from memory (a
  // loop's thread must not wait) is reported as small.
  const Result<int64_t> bytes = store.CollectionBytes(table, item_key, kv::Tier::kMemory);
  const int64_t gigabytes = bytes.ok() ? *bytes / kGigabyte : 0;
  metrics.size_estimate_lower_gb = static_cast<double>(gigabytes);
  metrics.size_estimate_upper_gb = static_cast<double>(gigabytes + 1);
  return metrics;
}

}  // namespace stator::ops
