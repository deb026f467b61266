// Renders the answers of operations on items.
#include <charconv>
#include <cmath>

#include "api/render_response.h"
#include "api/render_response_parts.h"

namespace stator::api {

namespace {

void AppendItem(std::string* out, const std::string& encoded) {
  AppendItemJson(out, model::ItemView(encoded));
}

void AppendItems(std::string* out, const ops::ItemList& items) {
  constexpr size_t kRest = 256;  // of the body, without keys and capacities
  if (items.is_written()) {
    out->reserve(out->size() + items.bytes() + kRest);
    out->push_back('[');
    out->append(items.written());
    out->push_back(']');
    return;
  }
  // JSON is larger than the stored form; a start that saves the first doublings.
  out->reserve(out->size() + items.bytes() + items.bytes() / 2);
  AppendList(out, items, [&](model::ItemView item) { AppendItemJson(out, item); });
}

void AppendItems(std::string* out, const std::vector<std::string>& items) {
  size_t bytes = 0;
  for (const std::string& item : items) bytes += item.size();
  out->reserve(out->size() + bytes + bytes / 2);
  AppendList(out, items, [&](const std::string& item) { AppendItem(out, item); });
}

template <typename Units>
void AppendUnits(ObjectWriter* object, const Units& units) {
  AppendDouble(object->Member("CapacityUnits"), units.capacity_units);
  if (units.read_capacity_units)
    AppendDouble(object->Member("ReadCapacityUnits"), *units.read_capacity_units);
  if (units.write_capacity_units)
    AppendDouble(object->Member("WriteCapacityUnits"), *units.write_capacity_units);
}

void AppendCapacity(std::string* out, const ops::Capacity& capacity) {
  ObjectWriter object(out);
  AppendUnits(&object, capacity);
  object.Close();
}

void AppendIndexCapacities(std::string* out, const std::vector<ops::IndexCapacity>& indexes) {
  ObjectWriter object(out);
  for (const ops::IndexCapacity& index : indexes) {
    AppendCapacity(object.EscapedMember(index.index_name), index.capacity);
  }
  object.Close();
}

void AppendConsumedCapacity(std::string* out, const ops::ConsumedCapacity& consumed) {
  ObjectWriter object(out);
  AppendUnits(&object, consumed);
  if (!consumed.global_secondary_indexes.empty()) {
    AppendIndexCapacities(object.Member("GlobalSecondaryIndexes"),
                          consumed.global_secondary_indexes);
  }
  if (!consumed.local_secondary_indexes.empty()) {
    AppendIndexCapacities(object.Member("LocalSecondaryIndexes"), consumed.local_secondary_indexes);
  }
  if (consumed.table) AppendCapacity(object.Member("Table"), *consumed.table);
  object.Text("TableName", consumed.table_name);
  object.Close();
}

void AppendMetrics(std::string* out, const ops::ItemCollectionMetrics& metrics) {
  ObjectWriter object(out);
  AppendItem(object.Member("ItemCollectionKey"), metrics.item_collection_key);
  object.Member("SizeEstimateRangeGB")->push_back('[');
  AppendDouble(out, metrics.size_estimate_lower_gb);
  out->push_back(',');
  AppendDouble(out, metrics.size_estimate_upper_gb);
  out->push_back(']');
  object.Close();
}

void AppendTableMetrics(std::string* out, const std::vector<ops::TableMetrics>& all) {
  ObjectWriter tables(out);
  for (const ops::TableMetrics& table : all) {
    AppendList(tables.EscapedMember(table.table_name), table.metrics,
               [&](const ops::ItemCollectionMetrics& metrics) { AppendMetrics(out, metrics); });
  }
  tables.Close();
}

template <typename Response>
void AppendWriteResponse(const Response& response, std::string* out) {
  ObjectWriter object(out);
  if (response.attributes) AppendItem(object.Member("Attributes"), *response.attributes);
  if (response.consumed_capacity) {
    AppendConsumedCapacity(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  if (response.item_collection_metrics) {
    AppendMetrics(object.Member("ItemCollectionMetrics"), *response.item_collection_metrics);
  }
  object.Close();
}

template <typename Response>
void AppendPage(const Response& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacity(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  object.Integer("Count", response.count);
  if (response.items) AppendItems(object.Member("Items"), *response.items);
  if (response.last_evaluated_key)
    AppendItem(object.Member("LastEvaluatedKey"), *response.last_evaluated_key);
  object.Integer("ScannedCount", response.scanned_count);
  object.Close();
}

void AppendConsumedCapacities(std::string* out,
                              const std::vector<ops::ConsumedCapacity>& capacities) {
  AppendList(out, capacities,
             [&](const ops::ConsumedCapacity& one) { AppendConsumedCapacity(out, one); });
}

// One {"Item": ...} or {} for each statement or action.
void AppendItemResponses(std::string* out, const std::vector<std::optional<std::string>>& items) {
  AppendList(out, items, [&](const std::optional<std::string>& item) {
    ObjectWriter entry(out);
    if (item) AppendItem(entry.Member("Item"), *item);
    entry.Close();
  });
}

void AppendKeysAndAttributes(std::string* out, const ops::KeysAndAttributes& part) {
  ObjectWriter object(out);
  AppendList(object.Member("Keys"), part.keys,
             [&](const ops::EncodedItem& key) { AppendItem(out, key.bytes); });
  if (part.attributes_to_get)
    AppendTexts(object.Member("AttributesToGet"), *part.attributes_to_get);
  if (part.consistent_read) object.Boolean("ConsistentRead", *part.consistent_read);
  if (part.projection_expression) object.Text("ProjectionExpression", *part.projection_expression);
  if (part.expression_attribute_names) {
    ObjectWriter names(object.Member("ExpressionAttributeNames"));
    for (const auto& [name, attribute] : *part.expression_attribute_names) {
      AppendJsonString(names.EscapedMember(name), attribute);
    }
    names.Close();
  }
  object.Close();
}

void AppendWriteRequest(std::string* out, const ops::WriteRequest& request) {
  ObjectWriter object(out);
  if (request.put_request) {
    ObjectWriter put(object.Member("PutRequest"));
    AppendItem(put.Member("Item"), request.put_request->item.bytes);
    put.Close();
  }
  if (request.delete_request) {
    ObjectWriter remove(object.Member("DeleteRequest"));
    AppendItem(remove.Member("Key"), request.delete_request->key.bytes);
    remove.Close();
  }
  object.Close();
}

}  // namespace

void AppendDouble(std::string* out, double value) {
  char text[400];  // fixed notation of the largest double
  const auto end = std::to_chars(text, text + sizeof text, value, std::chars_format::fixed).ptr;
  const std::string_view printed(text, static_cast<size_t>(end - text));
  out->append(printed);
  if (printed.find('.') == std::string_view::npos) out->append(".0");
}

void AppendTime(std::string* out, double seconds) {
  const int64_t millis = std::llround(seconds * 1000);
  out->append(std::to_string(millis / 1000));
  if (millis % 1000 == 0) return;
  const std::string fraction = std::to_string(1000 + millis % 1000);  // "1" and three digits
  out->push_back('.');
  out->append(fraction, 1);
}

void RenderResponse(const ops::PutItemResponse& response, std::string* out) {
  AppendWriteResponse(response, out);
}
void RenderResponse(const ops::UpdateItemResponse& response, std::string* out) {
  AppendWriteResponse(response, out);
}
void RenderResponse(const ops::DeleteItemResponse& response, std::string* out) {
  AppendWriteResponse(response, out);
}

void RenderResponse(const ops::GetItemResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacity(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  if (response.item) AppendItem(object.Member("Item"), *response.item);
  object.Close();
}

void RenderResponse(const ops::BatchGetItemResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacities(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  ObjectWriter tables(object.Member("Responses"));
  for (const auto& table : response.responses)
    AppendItems(tables.EscapedMember(table.table_name), table.items);
  tables.Close();
  ObjectWriter unprocessed(object.Member("UnprocessedKeys"));
  for (const ops::KeysAndAttributes& part : response.unprocessed_keys) {
    AppendKeysAndAttributes(unprocessed.EscapedMember(part.table_name), part);
  }
  unprocessed.Close();
  object.Close();
}

void RenderResponse(const ops::BatchWriteItemResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacities(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  if (response.item_collection_metrics) {
    AppendTableMetrics(object.Member("ItemCollectionMetrics"), *response.item_collection_metrics);
  }
  ObjectWriter unprocessed(object.Member("UnprocessedItems"));
  for (const ops::TableWriteRequests& table : response.unprocessed_items) {
    AppendList(unprocessed.EscapedMember(table.table_name), table.requests,
               [&](const ops::WriteRequest& request) { AppendWriteRequest(out, request); });
  }
  unprocessed.Close();
  object.Close();
}

void RenderResponse(const ops::TransactGetItemsResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacities(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  AppendItemResponses(object.Member("Responses"), response.responses);
  object.Close();
}

void RenderResponse(const ops::TransactWriteItemsResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacities(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  if (response.item_collection_metrics) {
    AppendTableMetrics(object.Member("ItemCollectionMetrics"), *response.item_collection_metrics);
  }
  object.Close();
}

void RenderResponse(const ops::QueryResponse& response, std::string* out) {
  AppendPage(response, out);
}
void RenderResponse(const ops::ScanResponse& response, std::string* out) {
  AppendPage(response, out);
}

void RenderResponse(const ops::ExecuteStatementResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacity(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  AppendItems(object.Member("Items"), response.items);
  if (response.last_evaluated_key)
    AppendItem(object.Member("LastEvaluatedKey"), *response.last_evaluated_key);
  if (response.next_token) object.Text("NextToken", *response.next_token);
  object.Close();
}

void RenderResponse(const ops::BatchExecuteStatementResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacities(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  AppendList(object.Member("Responses"), response.responses,
             [&](const ops::BatchStatementResponse& one) {
               ObjectWriter entry(out);
               if (one.error) {
                 ObjectWriter error(entry.Member("Error"));
                 error.Text("Code", one.error->code);
                 error.Text("Message", one.error->message);
                 error.Close();
               }
               if (one.item) AppendItem(entry.Member("Item"), *one.item);
               if (one.table_name) entry.Text("TableName", *one.table_name);
               entry.Close();
             });
  object.Close();
}

void RenderResponse(const ops::ExecuteTransactionResponse& response, std::string* out) {
  ObjectWriter object(out);
  if (response.consumed_capacity) {
    AppendConsumedCapacities(object.Member("ConsumedCapacity"), *response.consumed_capacity);
  }
  AppendItemResponses(object.Member("Responses"), response.responses);
  object.Close();
}

}  // namespace stator::api
