// Attribute values from hostile JSON: whatever is accepted must be a valid item, and must come back
// from its own JSON as the same bytes.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "api/attribute_json.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static simdjson::dom::parser parser;
  const simdjson::padded_string text(reinterpret_cast<const char*>(data), size);
  simdjson::dom::element root;
  if (parser.parse(text).get(root) != simdjson::SUCCESS) return 0;

  std::string value;
  std::optional<stator::Error> value_error;
  const stator::Status value_status = stator::api::ReadValue(root, &value, &value_error);
  if (value_status.ok() && !value_error) {
    std::string json;
    stator::api::AppendValueJson(&json, stator::model::ValueView(value));
    simdjson::dom::parser again;
    std::string second;
    Require(stator::api::ReadValue(again.parse(json), &second, &value_error).ok() && !value_error);
    Require(value == second);
  }

  std::string item;
  value_error.reset();
  const stator::Status status = stator::api::ReadItem(root, &item, &value_error);
  if (!status.ok() || value_error) return 0;
  Require(stator::model::CheckItem(item).ok());
  std::string json;
  stator::api::AppendItemJson(&json, stator::model::ItemView(item));
  simdjson::dom::parser again;
  std::string second;
  Require(stator::api::ReadItem(again.parse(json), &second, &value_error).ok() && !value_error);
  Require(item == second);
  return 0;
}
