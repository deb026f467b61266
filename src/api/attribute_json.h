// AttributeValues between JSON and their stored form, in one pass each way.
#pragma once

#include <optional>
#include <string>

#include "base/byte_buffer.h"
#include "base/result.h"
#include "model/value.h"
#include "simdjson.h"

namespace stator::api {

// Reads a JSON object of attribute values and appends the encoded item. A JSON type error is
// returned at once (kSerialization). An error of a value (empty set, bad number, two datatypes ...)
// is not: the service reports it after all constraint checks, so the first one is left in
// *value_error, if that is still empty, and the bytes are not to be used.
Status ReadItem(simdjson::dom::element json, std::string* encoded_item,
                std::optional<Error>* value_error);
// Reads one value, as ReadItem reads an item.
Status ReadValue(simdjson::dom::element json, std::string* encoded_value,
                 std::optional<Error>* value_error);

// Appends {"name":{"S":"..."},...}.
void AppendItemJson(std::string* out, model::ItemView item);
// Appends an item as an element of a JSON array, behind a comma unless it is the first. (It is an
// ops::ItemWriter.)
void WriteListedItem(model::ItemView item, bool first, ByteBuffer* out);
void AppendMapJson(std::string* out, model::MapView map);
// Appends {"S":"..."}.
void AppendValueJson(std::string* out, model::ValueView value);

// Appends a JSON string with quotes and escapes.
void AppendJsonString(std::string* out, std::string_view text);
// Appends padded standard base64, without quotes.
void AppendBase64(std::string* out, std::string_view bytes);

}  // namespace stator::api
