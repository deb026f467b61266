// The key attributes of a table or index.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "model/value.h"

namespace stator::model {

struct KeyAttribute {
  std::string name;
  Type type = Type::kS;  // kS, kN or kB
  bool operator==(const KeyAttribute&) const = default;
};

// A table's primary key: a partition key and, for composite keys, a sort key.
struct KeySchema {
  KeyAttribute partition;
  std::optional<KeyAttribute> sort;

  bool Has(std::string_view name) const {
    return name == partition.name || (sort && name == sort->name);
  }
  bool operator==(const KeySchema&) const = default;
};

// Returns the key attributes of `item` alone, as an encoded item. The item must have them.
std::string KeyAttributesOf(const KeySchema& schema, ItemView item);

// The key of an index, or a table's key seen as one: attributes in their declared order. A local
// index has one of each kind, a global one up to four partition and up to four sort attributes.
struct IndexKeySchema {
  std::vector<KeyAttribute> partition;
  std::vector<KeyAttribute> sort;

  static IndexKeySchema Of(const KeySchema& schema) {
    IndexKeySchema key{{schema.partition}, {}};
    if (schema.sort) key.sort.push_back(*schema.sort);
    return key;
  }
  bool Has(std::string_view name) const {
    for (const KeyAttribute& attribute : partition) {
      if (attribute.name == name) return true;
    }
    for (const KeyAttribute& attribute : sort) {
      if (attribute.name == name) return true;
    }
    return false;
  }
  // Returns whether a side of the key has more than one attribute.
  bool HasSeveral() const { return partition.size() > 1 || sort.size() > 1; }
  bool operator==(const IndexKeySchema&) const = default;
};

inline constexpr size_t kMaxIndexKeyAttributes = 4;  // of each kind
inline constexpr size_t kMaxPartitionKeyBytes = 2048;
inline constexpr size_t kMaxSortKeyBytes = 1024;

}  // namespace stator::model
