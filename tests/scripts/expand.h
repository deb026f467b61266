// Short forms that scripts write instead of long texts.
//
//   {{repeat:TEXT:N}}          TEXT, N times
//   {{each:v=A..B}}TEXT{{end}} TEXT for every v from A to B, joined with commas
//   {{v}}  {{v:03}}            the number v, the second with leading zeros to three digits
//   "{{saved:NAME}}"           (with its quotes) the JSON that an earlier "{{save:NAME}}" matched
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace stator::scripts {

using Bindings = std::vector<std::pair<std::string, int>>;
using Saved = std::map<std::string, std::string>;  // name -> JSON

// Other text in double braces stays as it is. The error says which form is broken or which name is
// unknown.
Result<std::string> Expand(std::string_view text, const Bindings& bindings, const Saved& saved);

// Reads "v=A..B".
Result<std::pair<std::string, std::pair<int, int>>> ParseRange(std::string_view text);

}  // namespace stator::scripts
