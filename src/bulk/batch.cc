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

// Makes the changes one by one.
Status WriteEach(api_client::Client& client, const std::string& table,
                 const std::vector<Change>& changes, std::vector<RefusedChange>* refused) {
  const std::string beginning = "{\"TableName\":" + Quoted(table);
  for (size_t i = 0; i < changes.size(); ++i) {
    const Change& change = changes[i];
    const Result<std::string> answer =
        client.Call(change.put ? "DynamoDB_20120810.PutItem" : "DynamoDB_20120810.DeleteItem",
                    beginning + (change.put ? ",\"Item\":" : ",\"Key\":") + change.json + '}');
    if (answer.ok()) continue;
    if (!IsOfItems(answer.error())) return answer.error();
    refused->push_back({i, ReasonOf(answer.error())});
  }
  return OkStatus();
}

// Returns the UnprocessedItems of an answer, as the text between the brackets; empty if there are
// none. All of them belong to the requested table. The answer may call it by its name although the
// request had its ARN.
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

Status WriteChanges(api_client::Client& client, const std::string& table,
                    const std::vector<Change>& changes, std::vector<RefusedChange>* refused) {
  if (changes.empty()) return OkStatus();
  if (changes.size() == 1) return WriteEach(client, table, changes, refused);
  std::string requests;
  for (const Change& change : changes) {
    if (!requests.empty()) requests += ',';
    requests += change.put ? "{\"PutRequest\":{\"Item\":" : "{\"DeleteRequest\":{\"Key\":";
    requests.append(change.json).append("}}");
  }
  size_t before = changes.size();
  client.Succeeded();
  for (;;) {
    const Result<std::string> answer =
        client.Call("DynamoDB_20120810.BatchWriteItem",
                    "{\"RequestItems\":{" + Quoted(table) + ":[" + requests + "]}}");
    if (!answer.ok()) {
      if (!IsOfItems(answer.error())) return answer.error();
      return WriteEach(client, table, changes, refused);
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

Status WriteInBatches(
    api_client::Client& client, const std::string& table, std::vector<Change> changes,
    FunctionRef<Status(const Change& change, const std::string& message)> refused) {
  std::vector<Change> batch;
  size_t bytes = 0;
  const auto flush = [&]() -> Status {
    std::vector<RefusedChange> left;
    TRY(WriteChanges(client, table, batch, &left));
    for (const RefusedChange& each : left) TRY(refused(batch[each.index], each.message));
    batch.clear();
    bytes = 0;
    return OkStatus();
  };
  for (Change& change : changes) {
    const size_t size = change.json.size();
    const bool full =
        batch.size() == kMostBatchItems || (!batch.empty() && bytes + size > kMostBatchBytes);
    if (full) TRY(flush());
    batch.push_back(std::move(change));
    bytes += size;
  }
  return flush();
}

Status PutBatch(api_client::Client& client, const std::string& table, Batch* batch) {
  std::vector<Change> changes;
  changes.reserve(batch->puts.size());
  for (Batch::Put& put : batch->puts) changes.push_back({true, std::move(put.json)});
  std::vector<RefusedChange> refused;
  TRY(WriteChanges(client, table, changes, &refused));
  for (RefusedChange& each : refused)
    batch->refused.push_back({batch->puts[each.index].index, std::move(each.message)});
  return OkStatus();
}

}  // namespace stator::bulk
