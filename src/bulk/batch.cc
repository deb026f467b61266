#include "bulk/batch.h"

#include <fmt/format.h>

#include <utility>

#include "base/json_writer.h"
#include "simdjson.h"

namespace stator::bulk {
namespace {

std::string Quoted(std::string_view text) {
  std::string out = JsonWriter().Text(text).Take();
  out.pop_back();
  return out;
}

// Whether the error is about the items, and not about the table or the caller.
bool IsOfItems(const Error& error) {
  const std::string_view type = api_client::RefusalType(error);
  return type == "ValidationException" || type == "SerializationException" ||
         type == "ItemCollectionSizeLimitExceededException";
}

std::string ReasonOf(const Error& error) {
  const auto* refusal = dynamic_cast<const api_client::RefusalPayload*>(error.payload().get());
  return refusal == nullptr ? error.message() : refusal->message;
}

// Puts the items one by one.
Status PutEach(api_client::Client& client, const std::string& table, Batch* batch) {
  const std::string beginning = "{\"TableName\":" + Quoted(table) + ",\"Item\":";
  for (const Batch::Put& put : batch->puts) {
    const Result<std::string> answer =
        client.Call("DynamoDB_20120810.PutItem", beginning + put.json + '}');
    if (answer.ok()) continue;
    if (!IsOfItems(answer.error())) return answer.error();
    batch->refused.push_back({put.index, ReasonOf(answer.error())});
  }
  return OkStatus();
}

// Returns the requests that the server has left out, as the text between the brackets; empty: none.
// All of them are of the table that was asked for, whatever the answer calls it: by its name where
// the request had an ARN.
Result<std::string> LeftOut(const std::string& answer, size_t* count) {
  const Error odd(ErrorCode::kUnavailable, "the answer to BatchWriteItem is not what it should be");
  simdjson::dom::parser parser;
  simdjson::dom::element root, left;
  if (parser.parse(answer).get(root) != simdjson::SUCCESS) return odd;
  *count = 0;
  if (root["UnprocessedItems"].get(left) != simdjson::SUCCESS || left.is_null())
    return std::string();
  simdjson::dom::object tables;
  if (left.get(tables) != simdjson::SUCCESS) return odd;
  std::string text;
  for (const auto& table : tables) {
    simdjson::dom::array requests;
    if (table.value.get(requests) != simdjson::SUCCESS) return odd;
    for (const simdjson::dom::element request : requests) {
      if (!text.empty()) text += ',';
      text += simdjson::minify(request);
      ++*count;
    }
  }
  return text;
}

}  // namespace

Status PutBatch(api_client::Client& client, const std::string& table, Batch* batch) {
  if (batch->puts.empty()) return OkStatus();
  if (batch->puts.size() == 1) return PutEach(client, table, batch);
  std::string requests;
  for (const Batch::Put& put : batch->puts) {
    if (!requests.empty()) requests += ',';
    requests.append("{\"PutRequest\":{\"Item\":").append(put.json).append("}}");
  }
  size_t before = batch->puts.size();
  client.Succeeded();
  for (;;) {
    const Result<std::string> answer =
        client.Call("DynamoDB_20120810.BatchWriteItem",
                    "{\"RequestItems\":{" + Quoted(table) + ":[" + requests + "]}}");
    if (!answer.ok()) {
      if (!IsOfItems(answer.error())) return answer.error();
      return PutEach(client, table, batch);
    }
    size_t left = 0;
    ASSIGN_OR_RETURN(requests, LeftOut(*answer, &left));
    if (left == 0) return OkStatus();
    if (left < before) client.Succeeded();
    before = left;
    TRY(client.PauseBeforeRetry(
        fmt::format("{}: the table takes no more items: it is throttled", table)));
  }
}

}  // namespace stator::bulk
