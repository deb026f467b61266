#include "table/partition_split.h"

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

Status Split(const SplitPoint& point, PartitionMap* map) {
  if (point.partition && *point.partition >= map->size())
    return ValidationError("The table has no such partition");
  const size_t partition = point.partition ? *point.partition
                           : point.hash    ? map->Find(*point.hash)
                                           : Widest(*map);
  const uint64_t first = map->starts()[partition];
  const uint64_t last = map->last(partition);
  const uint64_t at = point.hash ? *point.hash : first + (last - first) / 2 + 1;
  if (at <= first || at > last) return ValidationError("The partition cannot be split there");
  map->Split(at);
  return OkStatus();
}

}  // namespace

void SplitPartition(Store& store, std::string table_name, SplitPoint point,
                    Store::CatalogDone done) {
  store.Alter(
      std::move(table_name),
      [point](TableDescriptor* descriptor) { return Split(point, &descriptor->partitions); },
      std::move(done));
}

}  // namespace stator::table
