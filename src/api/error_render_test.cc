#include "api/error_render.h"

#include <gtest/gtest.h>

#include "model/value.h"
#include "ops/payload.h"

namespace stator::api {
namespace {

TEST(ErrorRender, EveryCode) {
  struct Case {
    ErrorCode code;
    int status;
    std::string_view name, body;
  };
  const Case cases[] = {
      {ErrorCode::kValidation, 400, "ValidationException",
       R"({"__type":"com.amazon.coral.validate#ValidationException","message":"m"})"},
      {ErrorCode::kSerialization, 400, "SerializationException",
       R"({"__type":"com.amazon.coral.service#SerializationException","Message":"m"})"},
      {ErrorCode::kUnknownOperation, 400, "UnknownOperationException",
       R"({"__type":"com.amazon.coral.service#UnknownOperationException","message":"m"})"},
      {ErrorCode::kAccessDenied, 400, "AccessDeniedException",
       R"({"__type":"com.amazon.coral.service#AccessDeniedException","Message":"m"})"},
      {ErrorCode::kMissingAuthenticationToken, 400, "MissingAuthenticationTokenException",
       R"({"__type":"com.amazon.coral.service#MissingAuthenticationTokenException","message":"m"})"},
      {ErrorCode::kConditionalCheckFailed, 400, "ConditionalCheckFailedException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException","message":"m"})"},
      {ErrorCode::kTransactionCanceled, 400, "TransactionCanceledException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException","Message":"m"})"},
      {ErrorCode::kIdempotentParameterMismatch, 400, "IdempotentParameterMismatchException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#IdempotentParameterMismatchException","Message":"m"})"},
      {ErrorCode::kResourceNotFound, 400, "ResourceNotFoundException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#ResourceNotFoundException","message":"m"})"},
      {ErrorCode::kThrottling, 400, "ThrottlingException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#ThrottlingException","message":"m"})"},
      {ErrorCode::kProvisionedThroughputExceeded, 400, "ProvisionedThroughputExceededException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException","message":"m"})"},
      {ErrorCode::kRequestLimitExceeded, 400, "RequestLimitExceeded",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#RequestLimitExceeded","message":"m"})"},
      {ErrorCode::kTransactionConflict, 400, "TransactionConflictException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionConflictException","message":"m"})"},
      {ErrorCode::kTransactionInProgress, 400, "TransactionInProgressException",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionInProgressException","Message":"m"})"},
      {ErrorCode::kRequestTooLarge, 413, "RequestEntityTooLargeException",
       R"({"__type":"com.amazon.coral.service#RequestEntityTooLargeException","message":"m"})"},
      {ErrorCode::kInternal, 500, "InternalServerError",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"m"})"},
      {ErrorCode::kCorruption, 500, "InternalServerError",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"Stored data is corrupt: m"})"},
      {ErrorCode::kOutcomeUnknown, 500, "InternalServerError",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"It is unknown whether the write was applied: m"})"},
      {ErrorCode::kUnavailable, 500, "InternalServerError",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"The storage engine is unavailable: m"})"},
      {ErrorCode::kWouldBlock, 500, "InternalServerError",
       R"({"__type":"com.amazonaws.dynamodb.v20120810#InternalServerError","message":"An internal condition (WouldBlock) escaped: m"})"},
  };
  for (const Case& c : cases) {
    const RenderedError rendered = RenderError(Error(c.code, "m"));
    EXPECT_EQ(rendered.status, c.status) << c.body;
    EXPECT_EQ(rendered.name, c.name);
    EXPECT_EQ(rendered.body, c.body);
    EXPECT_EQ(IsServerFault(c.code), c.status == 500);
  }
}

TEST(ErrorRender, ThrottlingReasons) {
  const auto payload = std::make_shared<ops::ThrottlingPayload>(
      std::vector<ops::ThrottlingReason>{{"TableReadKeyRangeThroughputExceeded", "arn:t"},
                                         {"IndexWriteAccountLimitExceeded", "arn:t/index/i"}});
  const std::string list =
      R"([{"reason":"TableReadKeyRangeThroughputExceeded","resource":"arn:t"},)"
      R"({"reason":"IndexWriteAccountLimitExceeded","resource":"arn:t/index/i"}]})";
  const auto body = [&payload](ErrorCode code) {
    return RenderError(Error(code, "m", payload)).body;
  };
  EXPECT_TRUE(
      body(ErrorCode::kThrottling).ends_with(R"("message":"m","throttlingReasons":)" + list));
  EXPECT_TRUE(body(ErrorCode::kProvisionedThroughputExceeded)
                  .ends_with(R"("message":"m","ThrottlingReasons":)" + list));
  EXPECT_TRUE(body(ErrorCode::kRequestLimitExceeded)
                  .ends_with(R"("message":"m","ThrottlingReasons":)" + list));
}

TEST(ErrorRender, AnEmptyMessageIsNoMember) {
  EXPECT_EQ(RenderError(Error(ErrorCode::kSerialization, "")).body,
            R"({"__type":"com.amazon.coral.service#SerializationException"})");
}

TEST(ErrorRender, MessagesAreEscaped) {
  EXPECT_EQ(RenderError(ValidationError("a \"b\"\n")).body,
            R"({"__type":"com.amazon.coral.validate#ValidationException","message":"a \"b\"\n"})");
}

TEST(ErrorRender, AFailedConditionShowsItsItem) {
  std::string entries, item;
  model::AppendName(&entries, "a");
  model::AppendString(&entries, "x");
  model::AppendItem(&item, 1, entries);
  const Error error(ErrorCode::kConditionalCheckFailed, "The conditional request failed",
                    std::make_shared<ops::ItemPayload>(item));
  EXPECT_EQ(RenderError(error).body,
            R"({"__type":"com.amazonaws.dynamodb.v20120810#ConditionalCheckFailedException",)"
            R"("message":"The conditional request failed","Item":{"a":{"S":"x"}}})");
}

// An encoded item whose one attribute, a string, is `text`.
std::string ItemWith(std::string_view text) {
  std::string entries, item;
  model::AppendName(&entries, "a");
  model::AppendString(&entries, text);
  model::AppendItem(&item, 1, entries);
  return item;
}

TEST(ErrorRender, ItemsThatAnErrorShowsAreWeighedAsJson) {
  const auto of_item = [](const std::string& text) {
    return Error(ErrorCode::kConditionalCheckFailed, "m",
                 std::make_shared<ops::ItemPayload>(ItemWith(text)));
  };
  EXPECT_EQ(RenderedBytes(Error(ErrorCode::kConditionalCheckFailed, "m")), 0);
  EXPECT_EQ(RenderedBytes(ValidationError(std::string(1 << 20, 'x'))), 0);
  EXPECT_LE(RenderedBytes(of_item(std::string(30'000, 'x'))), kShortErrorBytes);
  // 180 KB of JSON; the second would be short if it were weighed as it is stored.
  for (const std::string& text : {std::string(180'000, 'x'), std::string(30'000, '\x01')}) {
    const Error error = of_item(text);
    EXPECT_GT(RenderedBytes(error), kShortErrorBytes);
    EXPECT_GE(RenderedBytes(error) + 200, static_cast<int64_t>(RenderError(error).body.size()));
  }
  std::vector<ops::CancellationReason> reasons(100);
  const auto cancelled = [&reasons] {
    return Error(ErrorCode::kTransactionCanceled, "m",
                 std::make_shared<ops::CancellationPayload>(reasons));
  };
  EXPECT_EQ(RenderedBytes(cancelled()), 0);
  for (ops::CancellationReason& reason : reasons) reason.item = ItemWith(std::string(2000, 'x'));
  EXPECT_GT(RenderedBytes(cancelled()), kShortErrorBytes);
}

TEST(ErrorRender, ACanceledTransactionSaysWhyForEachAction) {
  std::string entries, item;
  model::AppendName(&entries, "a");
  model::AppendString(&entries, "x");
  model::AppendItem(&item, 1, entries);
  std::vector<ops::CancellationReason> reasons(2);
  reasons[1] = {"ConditionalCheckFailed", "The \"request\" failed", item};
  const Error error(ErrorCode::kTransactionCanceled, "m",
                    std::make_shared<ops::CancellationPayload>(reasons));
  EXPECT_EQ(
      RenderError(error).body,
      R"({"__type":"com.amazonaws.dynamodb.v20120810#TransactionCanceledException",)"
      R"("CancellationReasons":[{"Code":"None"},{"Code":"ConditionalCheckFailed","Item":{"a":{"S":"x"}},)"
      R"("Message":"The \"request\" failed"}],"Message":"m"})");
}

}  // namespace
}  // namespace stator::api
