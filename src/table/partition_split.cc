#include "table/partition_split.h"

#include <fmt/format.h>

namespace stator::table {
namespace {

using throughput::PartitionMap;

size_t Widest(const PartitionMap& map) {
  size_t widest = 0;
  for (size_t i = 1; i < map.size(); ++i) {
    if (map.last(i) - map.starts()[i] > map.last(widest) - map.starts()[widest]) widest = i;
  }
  return widest;
}

Status Split(std::optional<uint64_t> hash, PartitionMap* map) {
  const size_t partition = hash ? map->Find(*hash) : Widest(*map);
  const uint64_t first = map->starts()[partition];
  const uint64_t last = map->last(partition);
  const uint64_t at = hash ? *hash : first + (last - first) / 2 + 1;
  if (at == first) {
    return ValidationError(fmt::format(
        "A partition already begins at hash {:016x}; choose a hash inside a partition", at));
  }
  if (at > last) return ValidationError("Every partition holds a single hash already");
  map->Split(at);
  return OkStatus();
}

}  // namespace

void SplitPartition(Store& store, std::string table_name, std::optional<uint64_t> at,
                    Store::CatalogDone done) {
  store.Alter(
      std::move(table_name),
      [at](TableDescriptor* descriptor) { return Split(at, &descriptor->partitions); },
      std::move(done));
}

}  // namespace stator::table
