// Attribute values from hostile JSON: whatever is accepted must be a valid item, and must come back
// from its own JSON as the same bytes.
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "api/attribute_json.h"
#include "cost.h"

namespace {

void Require(bool holds) {
  if (!holds) std::abort();
}

void Run(const uint8_t* data, size_t size) {
  static simdjson::dom::parser parser;
  const simdjson::padded_string text(reinterpret_cast<const char*>(data), size);
  simdjson::dom::element root;
  if (parser.parse(text).get(root) != simdjson::SUCCESS) return;

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
  if (!status.ok() || value_error) return;
  Require(stator::model::CheckItem(item).ok());
  std::string json;
  stator::api::AppendItemJson(&json, stator::model::ItemView(item));
  simdjson::dom::parser again;
  std::string second;
  Require(stator::api::ReadItem(again.parse(json), &second, &value_error).ok() && !value_error);
  Require(item == second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  // A number of 130 digits in canonical text comes from 6 bytes, twice, and is compared.
  const stator::fuzz::CostBound bound{
      .nanos_per_byte = 20'000, .nanos = 20'000'000, .bytes_per_byte = 20'000, .bytes = 4 << 20};
  stator::fuzz::JudgeCost(
      "request", size, bound, [&] { Run(data, size); }, size);
  return 0;
}

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size, size_t max_size,
                                          unsigned seed) {
  return stator::fuzz::MutateOrStretch(data, size, max_size, seed);
}
