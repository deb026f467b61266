#include "transfer/item_check.h"

#include "table/key_encoding.h"

namespace stator::transfer {
namespace {

Status CheckAttribute(const model::KeyAttribute& attribute, size_t most_bytes,
                      model::ItemView item) {
  const model::ValueView value = item.Find(attribute.name);
  if (value.empty() || value.type() != attribute.type)
    return CorruptionError("an item has no key attribute " + attribute.name + " of its type");
  if (attribute.type != model::Type::kN &&
      (value.text().empty() || value.text().size() > most_bytes))
    return CorruptionError("an item has an empty or too large key attribute " + attribute.name);
  return OkStatus();
}

}  // namespace

Result<std::string> CheckedKeyOf(const model::KeySchema& schema, std::string_view encoded) {
  TRY(model::CheckItem(encoded));
  const model::ItemView item(encoded);
  TRY(CheckAttribute(schema.partition, model::kMaxPartitionKeyBytes, item));
  if (schema.sort) TRY(CheckAttribute(*schema.sort, model::kMaxSortKeyBytes, item));
  return table::EncodeItemKey(schema, item);
}

}  // namespace stator::transfer
