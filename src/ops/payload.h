// What errors of operations carry besides their text.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"

namespace stator::ops {

// Of kConditionalCheckFailed with ReturnValuesOnConditionCheckFailure ALL_OLD: the item that failed the condition.
struct ItemPayload : ErrorPayload {
  explicit ItemPayload(std::string encoded_item) : item(std::move(encoded_item)) {}
  std::string item;  // encoded, see model/value.h
};

}  // namespace stator::ops
