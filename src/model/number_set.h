// Number sets from numbers that are already parsed.
#pragma once

#include <string>
#include <vector>

#include "model/number.h"

namespace stator::model {

// Appends the encoded number set of `numbers`, in any order and not empty, which are sorted once.
// Returns false and appends nothing if two of them are equal.
bool AppendNumberSet(std::string* out, std::vector<Number> numbers);

}  // namespace stator::model
