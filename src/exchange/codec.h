// The JSON of items, and whether an item may be put: handed in by the rooms above this one.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "exchange/job.h"
#include "model/value.h"
#include "simdjson.h"
#include "table/store.h"

namespace stator::exchange {

// The condition of one record of a bulk put, as the record has it.
struct RecordCondition {
  std::optional<std::string> expression;
  std::optional<std::vector<std::pair<std::string, std::string>>> names;
  std::optional<std::string> values;  // an encoded item whose attributes are ":v"
  bool empty() const { return !expression && !names && !values; }
};
// Whether the condition of a record holds for the item that is there; ItemView() is none.
using ConditionHolds = std::function<bool(model::ItemView old_item)>;

// A filter of an export.
struct CompiledFilter {
  // Whether the filter takes the item. Adds to *steps what that took: some 4 ns each.
  std::function<bool(model::ItemView item, uint64_t* steps)> takes;
  // Returns the attributes that are exported, as an encoded item. Null: all of them.
  std::function<std::string(model::ItemView item)> project;
};

struct Codec {
  // Appends {"name":{"S":"..."},...}.
  void (*append_json)(std::string* out, model::ItemView item) = nullptr;
  // Reads an item from JSON. An error, returned or in *value_error, means that the JSON is not an
  // item.
  Status (*read_json)(simdjson::dom::element json, std::string* encoded,
                      std::optional<Error>* value_error) = nullptr;
  // Returns OK if the table would accept the item, else the service's error.
  std::function<Status(const table::Table& table, model::ItemView item)> check_item;
  // Returns OK if the account may have one more table like this.
  std::function<Status(const table::TableDescriptor& table)> check_table;
  // Returns the condition of a record; kValidation, in the words of PutItem, if PutItem would not
  // take it.
  Result<ConditionHolds> (*compile_condition)(RecordCondition condition) = nullptr;
  // kValidation, in the words of Query and Scan, if the expressions are not valid.
  Result<CompiledFilter> (*compile_filter)(const ItemFilter& filter) = nullptr;
};

}  // namespace stator::exchange
