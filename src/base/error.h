// The one error type of Stator. An Error says what a caller can react to (its code), what a person
// can read (its message), and may carry a payload that a reply needs (the old item of a failed
// condition, for example).
#pragma once

#include <memory>
#include <string>
#include <string_view>

namespace stator {

// A code exists only where some caller reacts to it. The first group is answered to clients by
// api/error_render.
enum class ErrorCode {
  kValidation,        // ValidationException
  kSerialization,     // SerializationException; an empty message means "no message member"
  kUnknownOperation,  // UnknownOperationException
  kAccessDenied,      // AccessDeniedException
  kMissingAuthenticationToken,
  kIncompleteSignature,
  kInvalidSignature,
  kUnrecognizedClient,
  kExpiredToken,            // ExpiredTokenException: temporary credentials
  kConditionalCheckFailed,  // payload may be an ItemPayload (ops/)
  kTransactionCanceled,     // payload is a CancellationPayload (ops/)
  kTransactionConflict,     // TransactionConflictException: of a single write
  kTransactionInProgress,
  kIdempotentParameterMismatch,
  kDuplicateItem,
  kResourceNotFound,
  kTableNotFound,  // TableNotFoundException (backup operations name it so)
  kResourceInUse,
  kLimitExceeded,
  kItemCollectionTooLarge,  // ItemCollectionSizeLimitExceededException; payload is a
                            // table::TargetPayload
  kThrottling,              // this and the next two: payload may be a ThrottlingPayload (ops/)
  kProvisionedThroughputExceeded,
  kRequestLimitExceeded,
  kExpiredIterator,    // ExpiredIteratorException
  kTrimmedDataAccess,  // TrimmedDataAccessException
  kRequestTooLarge,    // HTTP 413
  kInternal,           // InternalServerError, HTTP 500
  kUnavailable,        // kv: the engine takes no writes (or reads) now; HTTP 500 for the client

  // Reactions inside Stator; a client sees InternalServerError if one ever escapes.
  kGuardFailed,  // kv: a guard of a batch did not hold; nothing was applied
  kFenced,       // kv: the tablet's fence is above what the batch goes by, or the tablet is gone;
                 // nothing was applied
  kSpansUnits,   // kv: the engine cannot change (or read) these keys in one operation; nothing was
                 // applied
  kOutcomeUnknown,  // kv: the batch may or may not have been applied
  kWouldBlock,      // kv: the data is not in memory and the caller asked not to wait
  kCorruption,      // stored bytes fail their checksum or their grammar; never read as absence
};

// Base of the data that an Error may carry besides its text. Readers downcast it according to the
// error's code.
struct ErrorPayload {
  virtual ~ErrorPayload() = default;
};

class [[nodiscard]] Error {
 public:
  Error(ErrorCode code, std::string message, std::shared_ptr<const ErrorPayload> payload = nullptr)
      : code_(code), message_(std::move(message)), payload_(std::move(payload)) {}

  ErrorCode code() const { return code_; }
  const std::string& message() const { return message_; }
  const std::shared_ptr<const ErrorPayload>& payload() const { return payload_; }

 private:
  ErrorCode code_;
  std::string message_;
  std::shared_ptr<const ErrorPayload> payload_;
};

// Short forms for the most frequent ones.
inline Error ValidationError(std::string message) {
  return Error(ErrorCode::kValidation, std::move(message));
}
inline Error InternalError(std::string message) {
  return Error(ErrorCode::kInternal, std::move(message));
}
inline Error CorruptionError(std::string message) {
  return Error(ErrorCode::kCorruption, std::move(message));
}

// The code's name for logs, for example "Validation".
std::string_view ErrorCodeName(ErrorCode code);

}  // namespace stator
