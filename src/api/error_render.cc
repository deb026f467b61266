#include "api/error_render.h"

#include "api/attribute_json.h"
#include "base/memory_account.h"
#include "ops/answer_bytes.h"
#include "ops/payload.h"

namespace stator::api {
namespace {

constexpr std::string_view kDynamo = "com.amazonaws.dynamodb.v20120810#";
constexpr std::string_view kCoral = "com.amazon.coral.service#";
constexpr std::string_view kValidate = "com.amazon.coral.validate#";

struct Shape {
  int status;
  std::string_view prefix;
  std::string_view name;
  std::string_view message_member;
};

constexpr Shape kServerFault = {500, kDynamo, "InternalServerError", "message"};
constexpr Shape kOverload = {503, kCoral, "ServiceUnavailableException", "message"};

// wire-protocol.md, "Errors".
Shape ShapeOf(ErrorCode code) {
  switch (code) {
    case ErrorCode::kValidation: return {400, kValidate, "ValidationException", "message"};
    case ErrorCode::kSerialization: return {400, kCoral, "SerializationException", "Message"};
    case ErrorCode::kUnknownOperation: return {400, kCoral, "UnknownOperationException", "message"};
    case ErrorCode::kAccessDenied: return {400, kCoral, "AccessDeniedException", "Message"};
    case ErrorCode::kMissingAuthenticationToken:
      return {400, kCoral, "MissingAuthenticationTokenException", "message"};
    case ErrorCode::kIncompleteSignature:
      return {400, kCoral, "IncompleteSignatureException", "message"};
    case ErrorCode::kInvalidSignature: return {400, kCoral, "InvalidSignatureException", "message"};
    case ErrorCode::kUnrecognizedClient:
      return {400, kCoral, "UnrecognizedClientException", "message"};
    case ErrorCode::kExpiredToken: return {400, kCoral, "ExpiredTokenException", "message"};
    case ErrorCode::kConditionalCheckFailed:
      return {400, kDynamo, "ConditionalCheckFailedException", "message"};
    case ErrorCode::kTransactionCanceled:
      return {400, kDynamo, "TransactionCanceledException", "Message"};
    case ErrorCode::kTransactionConflict:
      return {400, kDynamo, "TransactionConflictException", "message"};
    case ErrorCode::kTransactionInProgress:
      return {400, kDynamo, "TransactionInProgressException", "Message"};
    case ErrorCode::kIdempotentParameterMismatch:
      return {400, kDynamo, "IdempotentParameterMismatchException", "Message"};
    case ErrorCode::kDuplicateItem: return {400, kDynamo, "DuplicateItemException", "message"};
    case ErrorCode::kResourceNotFound:
      return {400, kDynamo, "ResourceNotFoundException", "message"};
    case ErrorCode::kTableNotFound: return {400, kDynamo, "TableNotFoundException", "message"};
    case ErrorCode::kResourceInUse: return {400, kDynamo, "ResourceInUseException", "message"};
    case ErrorCode::kLimitExceeded: return {400, kDynamo, "LimitExceededException", "message"};
    case ErrorCode::kItemCollectionTooLarge:
      return {400, kDynamo, "ItemCollectionSizeLimitExceededException", "message"};
    case ErrorCode::kThrottling: return {400, kDynamo, "ThrottlingException", "message"};
    case ErrorCode::kExpiredIterator: return {400, kDynamo, "ExpiredIteratorException", "message"};
    case ErrorCode::kTrimmedDataAccess:
      return {400, kDynamo, "TrimmedDataAccessException", "message"};
    case ErrorCode::kProvisionedThroughputExceeded:
      return {400, kDynamo, "ProvisionedThroughputExceededException", "message"};
    case ErrorCode::kRequestLimitExceeded: return {400, kDynamo, "RequestLimitExceeded", "message"};
    case ErrorCode::kRequestTooLarge:
      return {413, kCoral, "RequestEntityTooLargeException", "message"};
    case ErrorCode::kUnavailable:
    case ErrorCode::kInternal:
    case ErrorCode::kGuardFailed:
    case ErrorCode::kFenced:
    case ErrorCode::kSpansUnits:
    case ErrorCode::kOutcomeUnknown:
    case ErrorCode::kWouldBlock:
    case ErrorCode::kCorruption: return kServerFault;
  }
  return kServerFault;
}

std::string MessageFor(const Error& error) {
  switch (error.code()) {
    case ErrorCode::kUnavailable:
      if (IsOverload(error)) return error.message();
      return "The storage engine is unavailable: " + error.message();
    case ErrorCode::kOutcomeUnknown:
      return "It is unknown whether the write was applied: " + error.message();
    case ErrorCode::kCorruption: return "Stored data is corrupt: " + error.message();
    case ErrorCode::kGuardFailed:
    case ErrorCode::kFenced:
    case ErrorCode::kSpansUnits:
    case ErrorCode::kWouldBlock:
      return "An internal condition (" + std::string(ErrorCodeName(error.code())) +
             ") escaped: " + error.message();
    case ErrorCode::kInternal:
      if (error.message().empty()) return "Internal server error";
      return error.message();
    default: return error.message();
  }
}

void AppendReasons(std::string* body, const std::vector<ops::CancellationReason>& reasons) {
  body->append(",\"CancellationReasons\":[");
  for (size_t i = 0; i < reasons.size(); ++i) {
    const ops::CancellationReason& reason = reasons[i];
    body->append(i == 0 ? "{\"Code\":\"" : ",{\"Code\":\"").append(reason.code).append("\"");
    if (!reason.item.empty()) {
      body->append(",\"Item\":");
      AppendItemJson(body, model::ItemView(reason.item));
    }
    if (!reason.message.empty()) {
      body->append(",\"Message\":");
      AppendJsonString(body, reason.message);
    }
    body->push_back('}');
  }
  body->push_back(']');
}

// ThrottlingException has them under a name of its own.
void AppendThrottlingReasons(std::string* body, ErrorCode code,
                             const std::vector<ops::ThrottlingReason>& reasons) {
  body->append(code == ErrorCode::kThrottling ? ",\"throttlingReasons\":["
                                              : ",\"ThrottlingReasons\":[");
  for (size_t i = 0; i < reasons.size(); ++i) {
    body->append(i == 0 ? "{\"reason\":" : ",{\"reason\":");
    AppendJsonString(body, reasons[i].reason);
    body->append(",\"resource\":");
    AppendJsonString(body, reasons[i].resource);
    body->push_back('}');
  }
  body->push_back(']');
}

bool IsThrottle(ErrorCode code) {
  return code == ErrorCode::kThrottling || code == ErrorCode::kProvisionedThroughputExceeded ||
         code == ErrorCode::kRequestLimitExceeded;
}

}  // namespace

bool IsServerFault(ErrorCode code) { return ShapeOf(code).status == 500; }

int64_t RenderedBytes(const Error& error) {
  if (error.code() == ErrorCode::kConditionalCheckFailed) {
    const auto* payload = dynamic_cast<const ops::ItemPayload*>(error.payload().get());
    return payload == nullptr ? 0 : ops::RenderedBound(payload->item);
  }
  if (error.code() != ErrorCode::kTransactionCanceled) return 0;
  const auto* payload = dynamic_cast<const ops::CancellationPayload*>(error.payload().get());
  if (payload == nullptr) return 0;
  int64_t bytes = 0;
  for (const ops::CancellationReason& reason : payload->reasons) {
    // They may be many MB, which the transaction has counted: here it is enough that they are many.
    const bool looks = bytes <= kShortErrorBytes;
    bytes += looks ? ops::RenderedBound(reason.item) : static_cast<int64_t>(reason.item.size());
  }
  return bytes;
}

RenderedError RenderError(const Error& error) {
  Shape shape = IsOverload(error) ? kOverload : ShapeOf(error.code());
  if (const auto* payload = dynamic_cast<const ops::ExceptionNamePayload*>(error.payload().get()))
    shape.name = payload->name;
  RenderedError rendered{shape.status, shape.name, {}};
  std::string& body = rendered.body;
  body.append("{\"__type\":\"").append(shape.prefix).append(shape.name).append("\"");
  if (error.code() == ErrorCode::kTransactionCanceled) {
    const auto* payload = dynamic_cast<const ops::CancellationPayload*>(error.payload().get());
    if (payload != nullptr) AppendReasons(&body, payload->reasons);
  }
  const std::string message = MessageFor(error);
  if (!message.empty()) {
    body.append(",\"").append(shape.message_member).append("\":");
    AppendJsonString(&body, message);
  }
  if (IsThrottle(error.code())) {
    const auto* payload = dynamic_cast<const ops::ThrottlingPayload*>(error.payload().get());
    if (payload != nullptr) AppendThrottlingReasons(&body, error.code(), payload->reasons);
  }
  if (error.code() == ErrorCode::kConditionalCheckFailed) {
    const auto* payload = dynamic_cast<const ops::ItemPayload*>(error.payload().get());
    if (payload != nullptr) {
      body.append(",\"Item\":");
      AppendItemJson(&body, model::ItemView(payload->item));
    }
  }
  body.push_back('}');
  return rendered;
}

}  // namespace stator::api
