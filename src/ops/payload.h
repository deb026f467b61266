// What errors of operations carry besides their text.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/error.h"

namespace stator::ops {

// Payload of kConditionalCheckFailed if ReturnValuesOnConditionCheckFailure is ALL_OLD: the item
// that failed the condition.
struct ItemPayload : ErrorPayload {
  explicit ItemPayload(std::string encoded_item) : item(std::move(encoded_item)) {}
  std::string item;  // encoded, see model/value.h
};

// The reason why one action made a transaction fail; code "None" if the action did not.
struct CancellationReason {
  std::string_view code = "None";  // a literal
  std::string message;             // empty: no such member
  std::string item;                // encoded; empty: no such member
};

// Payload of kTransactionCanceled: a reason for each action, in order.
struct CancellationPayload : ErrorPayload {
  explicit CancellationPayload(std::vector<CancellationReason> all) : reasons(std::move(all)) {}
  std::vector<CancellationReason> reasons;
};

// A reason in the payload of kThrottling, kProvisionedThroughputExceeded and kRequestLimitExceeded.
struct ThrottlingReason {
  std::string reason;    // such as TableReadKeyRangeThroughputExceeded
  std::string resource;  // ARN of the table or index
};
struct ThrottlingPayload : ErrorPayload {
  explicit ThrottlingPayload(std::vector<ThrottlingReason> all) : reasons(std::move(all)) {}
  std::vector<ThrottlingReason> reasons;
};

// Gives an error another name in the API than its code has.
struct ExceptionNamePayload : ErrorPayload {
  explicit ExceptionNamePayload(std::string_view name) : name(name) {}
  std::string_view name;  // a literal
};

}  // namespace stator::ops
