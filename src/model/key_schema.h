// Which attributes are the key of a table or index.
#pragma once

#include <optional>
#include <string>
#include <string_view>

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

  bool Has(std::string_view name) const { return name == partition.name || (sort && name == sort->name); }
  bool operator==(const KeySchema&) const = default;
};

inline constexpr size_t kMaxPartitionKeyBytes = 2048;
inline constexpr size_t kMaxSortKeyBytes = 1024;

}  // namespace stator::model
