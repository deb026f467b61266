// Items as plain JSON, in both directions without loss.
//
//   item   := {"name":value,...}
//   value  := text | number | true | false | null | [value,...] | map | typed
//   map    := {"name":value,...}
//   typed  := {"$B":"base64"} | {"$SS":["..."]} | {"$NS":[1,2]} | {"$BS":["base64"]} | {"$M":map}
//
// Numbers are decimal text, so that a reader that keeps their digits loses nothing. {"$M":...}
// stands for a map that would look like one of the typed values, and is written for those only.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "model/value.h"

namespace stator::bulk {

// Appends {"name":value,...}.
void AppendPlainItem(std::string* out, model::ItemView item);

// Returns the item in the text of one JSON object, encoded. kCorruption if the text is no JSON
// object; kValidation if it is, and no item.
Result<std::string> ReadPlainItem(std::string_view text);

}  // namespace stator::bulk
