// The formats of files, and items written in them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "model/key_schema.h"
#include "model/value.h"

namespace stator::bulk {

enum class Format : uint8_t {
  kDynamoDbJson,  // {"Item":{"pk":{"S":"a"}}}: a line of an export of DynamoDB
  kJsonLines,     // {"pk":"a"}: bulk/plain_json.h
  kCsv,
  kIon,  // read only
};
// "dynamodb-json", "json-lines", "csv", "ion".
std::string_view NameOf(Format format);
std::optional<Format> FormatNamed(std::string_view name);

// Returns "{\"id\":{\"S\":\"a\"}}" for messages.
std::string KeyText(const model::KeySchema& key, model::ItemView item);

// Appends a line for an item. kValidation, which names the item's key, for an item that the format
// cannot hold: CSV has columns, and of them S, N and B.
Status AppendLine(Format format, const std::vector<std::string>& columns,
                  const model::KeySchema& key, model::ItemView item, std::string* out);
// Appends the line of a CSV file that names its columns.
void AppendHeader(const std::vector<std::string>& columns, std::string* out);

}  // namespace stator::bulk
