#include "api/request_tap.h"

#include <algorithm>
#include <cmath>

#include "base/base64.h"
#include "expr/expr.h"
#include "ops/checks.h"
#include "table/index_entries.h"
#include "table/store.h"

namespace stator::api {
namespace {

using request_log::Consistency;
using request_log::KeyUse;
using request_log::Outcome;

constexpr char kBetweenValues = '\x1f';

void AppendKeyText(model::ValueView value, std::string* out) {
  if (!out->empty()) *out += kBetweenValues;
  switch (value.type()) {
    case model::Type::kS: *out += "S:"; break;
    case model::Type::kN: *out += "N:"; break;
    default: {
      *out += "B:";
      const size_t end = out->size();
      out->resize(end + Base64Length(value.text().size()));
      EncodeBase64(value.text(), out->data() + end);
      return;
    }
  }
  *out += value.text();
}

// Write units of the entry that a global index would have of the item, if it has none yet.
int64_t UnitsOfNewEntry(const table::TableDescriptor& table, const table::IndexDescriptor& index,
                        model::ItemView item) {
  table::EntryChange change;
  change.has = true;
  if (index.projection == table::IndexDescriptor::Projection::kAll) {
    change.new_bytes = static_cast<int64_t>(item.size_bytes());
  } else {
    change.new_entry = table::ProjectEntry(table, index, item);
    change.new_bytes = static_cast<int64_t>(model::ItemView(change.new_entry).size_bytes());
  }
  return change.write_units();
}

// Empty if an attribute is not there or of another type.
std::string KeyText(const std::vector<model::KeyAttribute>& attributes, model::ItemView item) {
  std::string text;
  for (const model::KeyAttribute& attribute : attributes) {
    const model::ValueView value = item.Find(attribute.name);
    if (value.empty() || value.type() != attribute.type) return {};
    AppendKeyText(value, &text);
  }
  return text;
}

KeyUse KeyUseOf(const table::Table& table, model::ItemView item) {
  return {KeyText(table.key_parts.partition, item), KeyText(table.key_parts.sort, item), {}};
}

Consistency ConsistencyOf(const std::optional<bool>& consistent) {
  return consistent.value_or(false) ? Consistency::kStrong : Consistency::kEventual;
}

// Substitutions take the maps of their request; it still needs them.
template <typename Request>
expr::Substitutions SubstitutionsOf(const Request& request) {
  std::optional<ops::ExpressionAttributeNames> names = request.expression_attribute_names;
  std::optional<ops::ExpressionAttributeValues> values;
  if constexpr (requires { request.expression_attribute_values; })
    values = request.expression_attribute_values;
  expr::Substitutions substitutions;
  // The operation will say what is wrong with them.
  (void)ops::SetSubstitutions(&names, values ? &values : nullptr, {}, &substitutions);
  return substitutions;
}

template <typename Request>
std::vector<std::string> ProjectedAttributes(const Request& request) {
  if (request.attributes_to_get) return *request.attributes_to_get;
  if (!request.projection_expression) return {};
  expr::Substitutions substitutions = SubstitutionsOf(request);
  const Result<expr::Projection> projection =
      expr::ParseProjection(*request.projection_expression, &substitutions);
  return projection.ok() ? expr::TopLevelAttributes(*projection) : std::vector<std::string>();
}

bool IsSelect(std::string_view statement) {
  const size_t start = statement.find_first_not_of(" \t\r\n");
  constexpr std::string_view kSelect = "select";
  if (start == std::string_view::npos || statement.size() - start < kSelect.size()) return false;
  return std::equal(kSelect.begin(), kSelect.end(),
                    statement.begin() + static_cast<std::ptrdiff_t>(start),
                    [](char lower, char c) { return (c | 0x20) == lower; });
}

// Whether the item's time to live is one that never comes: milliseconds, or no number.
request_log::TtlForm TtlFormOf(const table::TableDescriptor& table, model::ItemView item) {
  if (!table.HasTimeToLive()) return request_log::TtlForm::kFine;
  const model::ValueView value = item.Find(table.expiry->attribute);
  if (value.empty()) return request_log::TtlForm::kFine;
  if (value.type() != model::Type::kN) return request_log::TtlForm::kText;
  // Seconds have ten digits until the year 2286, milliseconds thirteen.
  const std::string_view digits = value.text().substr(0, value.text().find('.'));
  return digits.size() >= 12 ? request_log::TtlForm::kMillis : request_log::TtlForm::kFine;
}

int64_t SizeOf(const std::string& encoded_item) {
  return static_cast<int64_t>(model::ItemView(encoded_item).size_bytes());
}

}  // namespace

Trace::Part* Trace::NewPart(const std::string& table_name) {
  const Result<ops::StoreTableName> name =
      ops::StoreNameOf({environment_, account_, tells_accounts_}, table_name);
  if (!name.ok()) return nullptr;
  table::TablePtr table = environment_.store.Find(name->view());
  if (table == nullptr) return nullptr;
  Part& part = parts_.emplace_back();
  part.table_name = table_name;
  part.table = std::move(table);
  part.request.at_micros = at_micros_;
  part.request.operation = operation_;
  part.request.table = name->view();
  return &part;
}

Trace::Part* Trace::PartOf(const std::string& table_name) {
  const auto found = std::find_if(parts_.begin(), parts_.end(),
                                  [&](const Part& part) { return part.table_name == table_name; });
  return found == parts_.end() ? NewPart(table_name) : &*found;
}

void Trace::AddKey(const std::string& table_name, model::ItemView key) {
  Part* part = PartOf(table_name);
  if (part == nullptr) return;
  part->request.keys.push_back(KeyUseOf(*part->table, key));
  part->request.index_writes.clear();  // AddPut says why
}

void Trace::AddPut(const std::string& table_name, model::ItemView item) {
  Part* part = PartOf(table_name);
  if (part == nullptr) return;
  KeyUse& touch = part->request.keys.emplace_back(KeyUseOf(*part->table, item));
  touch.bytes = static_cast<int64_t>(item.size_bytes());
  const request_log::TtlForm form = TtlFormOf(part->table->descriptor, item);
  if (form != request_log::TtlForm::kFine) part->request.ttl_form = form;
  part->request.stored_bytes = part->request.stored_bytes.value_or(0) + *touch.bytes;
  // A record has no place for the index entries of each item of a batch. So it has them only if the
  // request writes one item.
  part->request.index_writes.clear();
  if (part->request.keys.size() > 1) return;
  for (const table::IndexDescriptor& index : part->table->descriptor.indexes) {
    if (!index.is_global()) continue;
    std::string partition = KeyText(index.key.partition, item);
    if (partition.empty()) continue;
    // Negative: units that are only asked for. CountOne puts the units consumed in their place.
    const int64_t asked = UnitsOfNewEntry(part->table->descriptor, index, item);
    part->request.index_writes.push_back(
        {index.name, -static_cast<double>(asked), std::move(partition)});
  }
}

// --- Requests ---

void Trace::Describe(const ops::GetItemRequest& request) {
  AddKey(request.table_name, request.key.view());
  for (Part& part : parts_) {
    part.request.consistency = ConsistencyOf(request.consistent_read);
    part.request.attributes = ProjectedAttributes(request);
  }
}

void Trace::Describe(const ops::PutItemRequest& request) {
  writes_ = true;
  AddPut(request.table_name, request.item.view());
}

void Trace::Describe(const ops::UpdateItemRequest& request) {
  writes_ = true;
  AddKey(request.table_name, request.key.view());
  if (parts_.empty()) return;
  int64_t given = static_cast<int64_t>(request.key.view().size_bytes());
  if (request.expression_attribute_values) {
    for (const auto& [name, value] : *request.expression_attribute_values)
      given += static_cast<int64_t>(value.size());
  }
  if (request.attribute_updates) {
    for (const ops::LegacyUpdate& update : *request.attribute_updates) {
      given += static_cast<int64_t>(update.attribute.size() + update.value.value_or("").size());
    }
  }
  parts_[0].request.asked_bytes = given;
}

void Trace::Describe(const ops::DeleteItemRequest& request) {
  writes_ = true;
  AddKey(request.table_name, request.key.view());
}

template <typename Request>
void Trace::DescribePage(const Request& request,
                         const std::optional<std::vector<ops::LegacyCondition>>& legacy_filter) {
  Part* part = NewPart(request.table_name);
  if (part == nullptr) return;
  request_log::Request& out = part->request;
  out.index = request.index_name.value_or("");
  out.consistency = ConsistencyOf(request.consistent_read);
  out.attributes = ProjectedAttributes(request);
  if (request.filter_expression) {
    expr::Substitutions substitutions = SubstitutionsOf(request);
    const Result<expr::Condition> filter =
        expr::ParseCondition(*request.filter_expression, expr::Role::kFilter, &substitutions);
    if (filter.ok()) out.filter = expr::TopLevelAttributes(*filter);
  } else if (legacy_filter) {
    for (const ops::LegacyCondition& condition : *legacy_filter)
      out.filter.push_back(condition.attribute);
  }
  // To count, the keys would be enough.
  if (request.select == ops::Select::kCount)
    out.attributes = {part->table->key_schema().partition.name};
}

void Trace::Describe(const ops::QueryRequest& request) {
  DescribePage(request, request.query_filter);
}
void Trace::Describe(const ops::ScanRequest& request) {
  DescribePage(request, request.scan_filter);
}

void Trace::Describe(const ops::BatchGetItemRequest& request) {
  for (const ops::KeysAndAttributes& table : request.request_items) {
    Part* part = NewPart(table.table_name);
    if (part == nullptr) continue;
    part->request.consistency = ConsistencyOf(table.consistent_read);
    part->request.attributes = ProjectedAttributes(table);
    for (const ops::EncodedItem& key : table.keys) AddKey(table.table_name, key.view());
  }
}

void Trace::Describe(const ops::BatchWriteItemRequest& request) {
  writes_ = true;
  for (const ops::TableWriteRequests& table : request.request_items) {
    for (const ops::WriteRequest& write : table.requests) {
      if (write.put_request) AddPut(table.table_name, write.put_request->item.view());
      if (write.delete_request) AddKey(table.table_name, write.delete_request->key.view());
    }
  }
}

void Trace::Describe(const ops::TransactGetItemsRequest& request) {
  for (const ops::TransactGetItem& item : request.transact_items)
    AddKey(item.get.table_name, item.get.key.view());
  for (Part& part : parts_) part.request.consistency = Consistency::kTransactional;
}

void Trace::Describe(const ops::TransactWriteItemsRequest& request) {
  writes_ = true;
  for (const ops::TransactWriteItem& item : request.transact_items) {
    if (item.put) AddPut(item.put->table_name, item.put->item.view());
    for (const auto* action : {&item.condition_check, &item.delete_item, &item.update}) {
      if (*action) AddKey((*action)->table_name, (*action)->item.view());
    }
  }
  for (Part& part : parts_) part.request.consistency = Consistency::kTransactional;
}

// Tables of statements are known when their capacity is.
void Trace::Describe(const ops::ExecuteStatementRequest& request) {
  writes_ = !IsSelect(request.statement);
}
void Trace::Describe(const ops::BatchExecuteStatementRequest& request) {
  writes_ = request.statements.empty() || !IsSelect(request.statements.front().statement);
}
void Trace::Describe(const ops::ExecuteTransactionRequest& request) {
  writes_ = request.transact_statements.empty() ||
            !IsSelect(request.transact_statements.front().statement);
}

// --- Answers ---

void Trace::Complete(const ops::GetItemResponse& response) {
  for (Part& part : parts_) {
    part.request.stored_bytes = response.stored_bytes;
    part.request.asked_bytes = response.item ? SizeOf(*response.item) : 0;
  }
}

template <typename Response>
void Trace::CompletePage(const Response& response) {
  if (parts_.empty()) return;
  request_log::Request& out = parts_[0].request;
  out.stored_bytes = response.stored_bytes;
  out.scanned = response.scanned_count;
  out.returned = response.count;
  int64_t asked = 0;
  if (response.items) {
    for (const model::ItemView item : *response.items)
      asked += static_cast<int64_t>(item.size_bytes());
  }
  out.asked_bytes = asked;
}

void Trace::Complete(const ops::QueryResponse& response) {
  CompletePage(response);
  if (parts_.empty() || response.partition.empty()) return;
  KeyUse& touch = parts_[0].request.keys.emplace_back();
  for (const std::string& value : response.partition)
    AppendKeyText(model::ValueView(value), &touch.partition);
}

void Trace::Complete(const ops::ScanResponse& response) { CompletePage(response); }

void Trace::Complete(const ops::ExecuteStatementResponse& response) {
  if (parts_.empty() || writes_) return;
  parts_[0].request.returned = static_cast<int64_t>(response.items.size());
}

void Trace::Complete(const ops::BatchGetItemResponse& response) {
  for (const ops::BatchGetItemResponse::TableItems& table : response.responses) {
    Part* part = PartOf(table.table_name);
    if (part == nullptr) continue;
    int64_t bytes = 0;
    for (const std::string& item : table.items) bytes += SizeOf(item);
    part->request.asked_bytes = bytes;
    part->request.returned = static_cast<int64_t>(table.items.size());
  }
  for (const ops::KeysAndAttributes& table : response.unprocessed_keys) {
    Part* part = PartOf(table.table_name);
    if (part == nullptr) continue;
    std::vector<KeyUse> keys;
    for (const ops::EncodedItem& key : table.keys)
      keys.push_back(KeyUseOf(*part->table, key.view()));
    SplitOff(part, std::move(keys));
  }
}

void Trace::Complete(const ops::BatchWriteItemResponse& response) {
  for (const ops::TableWriteRequests& table : response.unprocessed_items) {
    Part* part = PartOf(table.table_name);
    if (part == nullptr) continue;
    std::vector<KeyUse> keys;
    for (const ops::WriteRequest& write : table.requests) {
      if (write.put_request) keys.push_back(KeyUseOf(*part->table, write.put_request->item.view()));
      if (write.delete_request)
        keys.push_back(KeyUseOf(*part->table, write.delete_request->key.view()));
    }
    SplitOff(part, std::move(keys));
  }
}

void Trace::Complete(const ops::TransactGetItemsResponse& response) {
  if (parts_.size() != 1) return;
  int64_t bytes = 0;
  for (const std::optional<std::string>& item : response.responses)
    bytes += item ? SizeOf(*item) : 0;
  parts_[0].request.asked_bytes = bytes;
}

// What a batch left undone becomes a request of its own, that was throttled.
void Trace::SplitOff(Part* part, std::vector<KeyUse> unprocessed) {
  Part refused = *part;
  std::erase_if(part->request.keys, [&](const KeyUse& key) {
    return std::any_of(unprocessed.begin(), unprocessed.end(), [&](const KeyUse& other) {
      return key.partition == other.partition && key.sort == other.sort;
    });
  });
  refused.request.keys = std::move(unprocessed);
  refused.request.outcome = Outcome::kThrottled;
  refused.request.stored_bytes.reset();
  refused.request.asked_bytes.reset();
  refused.request.returned.reset();
  refused.request.index_writes.clear();
  refused.request.read_units = refused.request.write_units = 0;
  parts_.push_back(std::move(refused));
}

// --- Capacity ---

void Trace::Count(std::optional<ops::ConsumedCapacity>* capacity) {
  if (!*capacity) return;
  CountOne(**capacity);
  if (!wanted_ || *wanted_ == ops::ReturnConsumedCapacity::kNone) {
    capacity->reset();
  } else {
    Strip(&**capacity);
  }
}

void Trace::Count(std::optional<std::vector<ops::ConsumedCapacity>>* capacities) {
  if (!*capacities) return;
  for (const ops::ConsumedCapacity& capacity : **capacities) CountOne(capacity);
  if (!wanted_ || *wanted_ == ops::ReturnConsumedCapacity::kNone) {
    capacities->reset();
  } else {
    for (ops::ConsumedCapacity& capacity : **capacities) Strip(&capacity);
  }
}

// INDEXES says the same as TOTAL, and by table and index too.
void Trace::Strip(ops::ConsumedCapacity* capacity) const {
  if (*wanted_ == ops::ReturnConsumedCapacity::kIndexes) return;
  capacity->table.reset();
  capacity->local_secondary_indexes.clear();
  capacity->global_secondary_indexes.clear();
}

void Trace::CountOne(const ops::ConsumedCapacity& capacity) {
  Part* part = PartOf(capacity.table_name);
  if (part == nullptr) return;
  request_log::Request& request = part->request;
  // A transaction that is repeated with its token reads.
  if (!writes_ || capacity.read_capacity_units) {
    request.read_units += capacity.capacity_units;
    if (request.index.empty() && !capacity.global_secondary_indexes.empty()) {
      request.index = capacity.global_secondary_indexes.front().index_name;
    }
    return;
  }
  request.write_units += capacity.capacity_units;
  for (const ops::IndexCapacity& index : capacity.global_secondary_indexes) {
    const double units = index.capacity.capacity_units;
    request.write_units -= units;
    const auto found = std::find_if(
        request.index_writes.begin(), request.index_writes.end(),
        [&](const request_log::IndexWrite& write) { return write.index == index.index_name; });
    if (found != request.index_writes.end()) {
      found->units = std::max(0.0, found->units) + units;
    } else {
      request.index_writes.push_back({index.index_name, units, ""});
    }
  }
}

void Trace::Fail(ErrorCode code) {
  Outcome outcome = Outcome::kServed;
  switch (code) {
    case ErrorCode::kThrottling:
    case ErrorCode::kProvisionedThroughputExceeded:
    case ErrorCode::kRequestLimitExceeded: outcome = Outcome::kThrottled; break;
    case ErrorCode::kConditionalCheckFailed: outcome = Outcome::kConditionFailed; break;
    case ErrorCode::kTransactionCanceled:
    case ErrorCode::kTransactionConflict: outcome = Outcome::kCancelled; break;
    default: parts_.clear(); return;  // what was refused as wrong is no traffic
  }
  for (Part& part : parts_) {
    part.request.outcome = outcome;
    // A refused PutItem asked its indexes for new entries. Whether it would have moved an entry or
    // left it alone is not known.
    if (outcome == Outcome::kThrottled) {
      for (request_log::IndexWrite& write : part.request.index_writes)
        write.units = std::abs(write.units);
    } else {
      part.request.index_writes.clear();
    }
  }
}

std::vector<request_log::Request> Trace::TakeRequests() {
  std::vector<request_log::Request> requests;
  requests.reserve(parts_.size());
  for (Part& part : parts_) {
    // Entries that did not change.
    std::erase_if(part.request.index_writes,
                  [](const request_log::IndexWrite& write) { return write.units <= 0; });
    requests.push_back(std::move(part.request));
  }
  return requests;
}

}  // namespace stator::api
