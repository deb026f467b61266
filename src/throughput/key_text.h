// Judgements on the text of a partition key. Pure.
#pragma once

#include <string_view>

namespace stator::throughput {

// Whether a date of 1970 to 2100 stands in it: "2026-11-21", "20261121" or "2026/11/21" anywhere.
bool LooksLikeDate(std::string_view key);

}  // namespace stator::throughput
