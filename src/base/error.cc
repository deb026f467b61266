#include "base/error.h"

namespace stator {

std::string_view ErrorCodeName(ErrorCode code) {
  switch (code) {
    case ErrorCode::kValidation: return "Validation";
    case ErrorCode::kSerialization: return "Serialization";
    case ErrorCode::kUnknownOperation: return "UnknownOperation";
    case ErrorCode::kAccessDenied: return "AccessDenied";
    case ErrorCode::kMissingAuthenticationToken: return "MissingAuthenticationToken";
    case ErrorCode::kIncompleteSignature: return "IncompleteSignature";
    case ErrorCode::kInvalidSignature: return "InvalidSignature";
    case ErrorCode::kUnrecognizedClient: return "UnrecognizedClient";
    case ErrorCode::kExpiredToken: return "ExpiredToken";
    case ErrorCode::kConditionalCheckFailed: return "ConditionalCheckFailed";
    case ErrorCode::kTransactionCanceled: return "TransactionCanceled";
    case ErrorCode::kTransactionConflict: return "TransactionConflict";
    case ErrorCode::kTransactionInProgress: return "TransactionInProgress";
    case ErrorCode::kIdempotentParameterMismatch: return "IdempotentParameterMismatch";
    case ErrorCode::kDuplicateItem: return "DuplicateItem";
    case ErrorCode::kResourceNotFound: return "ResourceNotFound";
    case ErrorCode::kTableNotFound: return "TableNotFound";
    case ErrorCode::kResourceInUse: return "ResourceInUse";
    case ErrorCode::kLimitExceeded: return "LimitExceeded";
    case ErrorCode::kItemCollectionTooLarge: return "ItemCollectionTooLarge";
    case ErrorCode::kThrottling: return "Throttling";
    case ErrorCode::kExpiredIterator: return "ExpiredIterator";
    case ErrorCode::kTrimmedDataAccess: return "TrimmedDataAccess";
    case ErrorCode::kProvisionedThroughputExceeded: return "ProvisionedThroughputExceeded";
    case ErrorCode::kRequestLimitExceeded: return "RequestLimitExceeded";
    case ErrorCode::kRequestTooLarge: return "RequestTooLarge";
    case ErrorCode::kInternal: return "Internal";
    case ErrorCode::kUnavailable: return "Unavailable";
    case ErrorCode::kGuardFailed: return "GuardFailed";
    case ErrorCode::kFenced: return "Fenced";
    case ErrorCode::kSpansUnits: return "SpansUnits";
    case ErrorCode::kOutcomeUnknown: return "OutcomeUnknown";
    case ErrorCode::kWouldBlock: return "WouldBlock";
    case ErrorCode::kCorruption: return "Corruption";
  }
  return "?";
}

}  // namespace stator
