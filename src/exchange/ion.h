// Items in Ion text, as exports have them: text, decimals, booleans, null, blobs, lists and
// structs, and sets as lists with the annotations $dynamodb_SS, $dynamodb_NS and $dynamodb_BS.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "exchange/codec.h"
#include "model/value.h"

namespace stator::exchange {

// Appends {name:value,...}.
void AppendIonItem(std::string* out, model::ItemView item);

// Reads a struct whose member Item is a struct. kSerialization if the text is no Ion of the kinds
// above; kValidation if it is, and no item. Comments and other symbol tables are not read.
Result<std::string> ReadIonItem(std::string_view text);
// Returns the item of a record of a bulk put: its struct may have a condition besides, and nothing
// else.
Result<std::string> ReadIonRecord(std::string_view text, RecordCondition* condition);

}  // namespace stator::exchange
