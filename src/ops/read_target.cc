#include "ops/read_target.h"

#include <fmt/format.h>

#include <set>

#include "ops/capacity.h"
#include "ops/checks.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using model::ValueView;
using table::IndexDescriptor;

// Appends the bounds of a table's sort key to the bounds of `range`. The sort key stands at the end
// of keys, in its tail form. The first key behind K is K 0x00.
void BoundTail(const plan::KeyInterval& interval, KeyRange* range) {
  const std::string prefix = range->begin;
  const auto with = [&](const std::string& value) {
    std::string key = prefix;
    table::AppendSortKey(&key, ValueView(value));
    return key;
  };
  if (interval.prefix) {
    range->begin = with(*interval.prefix);
    // A prefix of 0xff bytes has no successor inside the partition: then the partition's own end
    // bounds it.
    std::string end = table::PrefixEnd(range->begin);
    if (!end.empty() && end < range->end) range->end = std::move(end);
    return;
  }
  if (interval.lower) {
    range->begin = with(interval.lower->value);
    if (!interval.lower->inclusive) range->begin.push_back('\0');
  }
  if (interval.upper) {
    range->end = with(interval.upper->value);
    if (interval.upper->inclusive) range->end.push_back('\0');
  }
}

// The bounds of an index's sort attribute, behind which keys go on.
void BoundComponent(const plan::KeyInterval& interval, KeyRange* range) {
  const std::string prefix = range->begin;
  const auto with = [&](const std::string& value) {
    std::string key = prefix;
    table::AppendComponent(&key, ValueView(value));
    return key;
  };
  if (interval.prefix) {
    table::AppendComponentPrefix(&range->begin, ValueView(*interval.prefix));
    std::string end = table::PrefixEnd(range->begin);
    if (!end.empty() && end < range->end) range->end = std::move(end);
    return;
  }
  if (interval.lower) {
    range->begin = with(interval.lower->value);
    if (!interval.lower->inclusive) range->begin = table::PrefixEnd(range->begin);
  }
  if (interval.upper) {
    range->end = with(interval.upper->value);
    if (interval.upper->inclusive) range->end = table::PrefixEnd(range->end);
  }
}

Status CheckStartAttribute(const model::KeyAttribute& attribute, model::ItemView key) {
  const ValueView value = key.Find(attribute.name);
  if (value.empty()) return ValidationError("The provided starting key is invalid");
  if (value.type() != attribute.type) {
    return ValidationError(
        "The provided starting key is invalid: The provided key element does not match the schema");
  }
  return OkStatus();
}

}  // namespace

char ReadTarget::kind() const {
  return index != nullptr ? table::EntryKind(*index) : table::kItemKind;
}

std::string ReadTarget::PositionOf(model::ItemView item) const {
  if (index != nullptr) return table::EncodeEntryKey(table->descriptor, *index, item);
  return table::EncodeItemKey(table->key_schema(), item);
}

std::string ReadTarget::KeyAttributesOf(model::ItemView item) const {
  if (index != nullptr) return table::EntryKeyAttributesOf(table->descriptor, *index, item);
  return model::KeyAttributesOf(table->key_schema(), item);
}

Result<ReadTarget> FindReadTarget(table::TablePtr table,
                                  const std::optional<std::string>& index_name, bool consistent) {
  ReadTarget target;
  target.table = std::move(table);
  if (!index_name) return target;
  target.index = target.table->descriptor.FindIndex(*index_name);
  if (target.index == nullptr || target.index->state == IndexDescriptor::State::kDeleting) {
    return ValidationError("The table does not have the specified index: " + *index_name);
  }
  if (consistent && target.is_global()) {
    return ValidationError("Consistent reads are not supported on global secondary indexes");
  }
  if (target.index->state == IndexDescriptor::State::kCreating) {
    return ValidationError("Cannot read from backfilling global secondary index: " + *index_name);
  }
  return target;
}

Status CheckFilterProjected(const ReadTarget& target, const expr::Condition& filter) {
  if (target.index == nullptr) return OkStatus();
  std::set<std::string> missing;
  for (std::string& attribute : expr::TopLevelAttributes(filter)) {
    if (!table::Projects(target.table->descriptor, *target.index, attribute))
      missing.insert(std::move(attribute));
  }
  if (missing.empty()) return OkStatus();
  return ValidationError(fmt::format(
      "One or more parameter values were invalid: Secondary index {} does not project one or "
      "more filter attributes: [{}]",
      target.index->name, fmt::join(missing, ", ")));
}

Result<bool> NeedsFetch(const ReadTarget& target, const std::optional<Select>& select,
                        const expr::Projection& projection, const expr::Condition& filter) {
  if (target.index == nullptr || target.index->projection == IndexDescriptor::Projection::kAll)
    return false;
  const table::TableDescriptor& table = target.table->descriptor;
  if (select == Select::kAllAttributes) {
    if (!target.is_global()) return true;
    return ValidationError(
        "One or more parameter values were invalid: Select type ALL_ATTRIBUTES is not supported "
        "for global secondary index " +
        target.index->name + " because its projection type is not ALL");
  }
  std::string missing;
  for (const std::string& attribute : expr::TopLevelAttributes(projection)) {
    if (table::Projects(table, *target.index, attribute)) continue;
    if (!missing.empty()) missing.append(", ");
    missing.append(attribute);
  }
  if (target.is_global()) {
    if (missing.empty()) return false;
    return ValidationError("One or more parameter values were invalid: Global secondary index " +
                           target.index->name + " does not project [" + missing + "]");
  }
  if (!missing.empty()) return true;
  for (const std::string& attribute : expr::TopLevelAttributes(filter)) {
    if (!table::Projects(table, *target.index, attribute)) return true;
  }
  return false;
}

KeyRange RangeOf(const ReadTarget& target, const plan::KeyInterval& interval) {
  std::vector<ValueView> partition;
  partition.reserve(interval.partition.size());
  for (const std::string& value : interval.partition) partition.emplace_back(value);
  KeyRange range;
  range.begin = table::EncodePartitionPrefix(target.kind(), partition);
  for (const std::string& value : interval.leading)
    table::AppendComponent(&range.begin, ValueView(value));
  range.end = table::PrefixEnd(range.begin);
  if (target.index == nullptr) {
    BoundTail(interval, &range);
  } else {
    BoundComponent(interval, &range);
  }
  return range;
}

Status CheckStartKey(const ReadTarget& target, model::ItemView key) {
  const model::KeySchema& schema = target.table->key_schema();
  if (target.index == nullptr) {
    if (key.attributes().size() != (schema.sort ? 2u : 1u))
      return ValidationError("The provided starting key is invalid");
    if (const Status checked = CheckKey(schema, key); !checked.ok()) {
      return ValidationError("The provided starting key is invalid: " + checked.error().message());
    }
    return OkStatus();
  }
  size_t wanted = 0;
  const auto check = [&](const model::KeyAttribute& attribute) {
    ++wanted;
    return CheckStartAttribute(attribute, key);
  };
  for (const model::KeyAttribute& attribute : target.index->key.partition) TRY(check(attribute));
  for (const model::KeyAttribute& attribute : target.index->key.sort) TRY(check(attribute));
  if (!target.index->key.Has(schema.partition.name)) TRY(check(schema.partition));
  if (schema.sort && !target.index->key.Has(schema.sort->name)) TRY(check(*schema.sort));
  if (key.attributes().size() != wanted)
    return ValidationError("The provided starting key is invalid");
  return OkStatus();
}

std::optional<ConsumedCapacity> ReadCapacity(const std::optional<ReturnConsumedCapacity>& wanted,
                                             const std::string& table_name,
                                             const ReadTarget& target, int64_t halves,
                                             int64_t fetched_halves) {
  const double units = throughput::HalvesToUnits(halves);
  if (target.index == nullptr) return TableCapacity(wanted, table_name, units);
  if (!WantsCapacity(wanted)) return std::nullopt;
  ConsumedCapacity capacity;
  capacity.table_name = table_name;
  capacity.capacity_units = units + throughput::HalvesToUnits(fetched_halves);
  if (*wanted == ReturnConsumedCapacity::kIndexes) {
    capacity.table = Capacity{throughput::HalvesToUnits(fetched_halves)};
    (target.is_global() ? capacity.global_secondary_indexes : capacity.local_secondary_indexes)
        .push_back({target.index->name, Capacity{units}});
  }
  return capacity;
}

}  // namespace stator::ops
