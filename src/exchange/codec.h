// The JSON of items, and whether an item may be put: handed in by the rooms above this one.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "base/result.h"
#include "model/value.h"
#include "simdjson.h"
#include "table/store.h"

namespace stator::exchange {

struct Codec {
  // Appends {"name":{"S":"..."},...}.
  void (*append_json)(std::string* out, model::ItemView item) = nullptr;
  // Reads such an object. An error, returned or in the last argument: it is no item.
  Status (*read_json)(simdjson::dom::element json, std::string* encoded,
                      std::optional<Error>* value_error) = nullptr;
  // Whether the table would take the item, in the service's words.
  std::function<Status(const table::Table& table, model::ItemView item)> check_item;
  // Whether the account may have one more table like this.
  std::function<Status(const table::TableDescriptor& table)> check_table;
};

}  // namespace stator::exchange
