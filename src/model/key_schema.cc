#include "model/key_schema.h"

namespace stator::model {

std::string KeyAttributesOf(const KeySchema& schema, ItemView item) {
  std::string entries;
  const auto append = [&](const KeyAttribute& attribute) {
    AppendName(&entries, attribute.name);
    entries.append(item.Find(attribute.name).encoded());
  };
  const bool sort_first = schema.sort && schema.sort->name < schema.partition.name;
  if (sort_first) append(*schema.sort);
  append(schema.partition);
  if (schema.sort && !sort_first) append(*schema.sort);
  std::string key;
  AppendItem(&key, schema.sort ? 2 : 1, entries);
  return key;
}

}  // namespace stator::model
