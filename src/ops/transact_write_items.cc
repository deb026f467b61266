#include <algorithm>
#include <map>
#include <set>

#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/index_writes.h"
#include "ops/operations.h"
#include "ops/transaction.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

// --- The digest of a request: of what it means, not of how its JSON was written ------------------

void AppendText(std::string* out, std::string_view text) {
  model::AppendVarint(out, text.size());
  out->append(text);
}

void AppendText(std::string* out, const std::optional<std::string>& text) {
  out->push_back(text ? '+' : '-');
  if (text) AppendText(out, std::string_view(*text));
}

template <typename Pairs>
void AppendPairs(std::string* out, const std::optional<Pairs>& pairs) {
  out->push_back(pairs ? '+' : '-');
  if (!pairs) return;
  Pairs sorted = *pairs;
  std::sort(sorted.begin(), sorted.end());
  model::AppendVarint(out, sorted.size());
  for (const auto& [name, value] : sorted) {
    AppendText(out, std::string_view(name));
    AppendText(out, std::string_view(value));
  }
}

template <typename Enum>
void AppendChoice(std::string* out, const std::optional<Enum>& choice, Enum otherwise) {
  out->push_back(static_cast<char>('0' + static_cast<int>(choice.value_or(otherwise))));
}

void AppendAction(std::string* out, TransactionAction::Kind kind,
                  const TransactWriteAction& action) {
  out->push_back(kind);
  AppendText(out, std::string_view(action.table_name));
  AppendText(out, std::string_view(action.item.bytes));  // canonical
  AppendText(out, action.update_expression);
  AppendText(out, action.condition_expression);
  AppendPairs(out, action.expression_attribute_names);
  AppendPairs(out, action.expression_attribute_values);
  AppendChoice(out, action.return_values_on_condition_check_failure,
               ReturnValuesOnConditionCheckFailure::kNone);
}

// --- Checks --------------------------------------------------------------------------------------

struct Stated {
  TransactionAction::Kind kind;
  TransactWriteAction* action;
};

Result<Stated> TheOneAction(TransactWriteItem& item) {
  std::optional<Stated> stated;
  const std::pair<TransactionAction::Kind, std::optional<TransactWriteAction>*> all[] = {
      {TransactionAction::kConditionCheck, &item.condition_check},
      {TransactionAction::kPut, &item.put},
      {TransactionAction::kDelete, &item.delete_item},
      {TransactionAction::kUpdate, &item.update},
  };
  for (const auto& [kind, action] : all) {
    if (!*action) continue;
    if (stated)
      return ValidationError("TransactItems can only contain one of Check, Put, Update or Delete");
    stated = Stated{kind, &**action};
  }
  if (!stated) {
    // [DynamoDB Local]
    return ValidationError(
        "Invalid Request: TransactWriteRequest should contain Delete or Put or Update request");
  }
  return *stated;
}

// Checks and compiles one action, as far as that needs no table. Moves from the request.
Result<TransactionAction> Compile(const Stated& stated, const ValueErrors& value_errors) {
  TransactWriteAction& request = *stated.action;
  TransactionAction action;
  action.kind = stated.kind;
  const bool names = request.expression_attribute_names.has_value();
  const bool values = request.expression_attribute_values.has_value();
  const ExpressionParameter condition{"ConditionExpression",
                                      request.condition_expression.has_value()};
  if (stated.kind == TransactionAction::kUpdate) {
    TRY(CheckExpressionParameters({{"UpdateExpression", true}, condition}, {}, names, values));
  } else {
    TRY(CheckExpressionParameters({condition}, {}, names, values));
  }
  if (stated.kind == TransactionAction::kPut &&
      request.item.view().size_bytes() > model::kMaxItemBytes) {
    return ValidationError("Item size has exceeded the maximum allowed size");
  }
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&request.expression_attribute_names, &request.expression_attribute_values,
                       value_errors, &substitutions));
  if (request.update_expression) {
    ASSIGN_OR_RETURN(action.update, expr::ParseUpdate(*request.update_expression, &substitutions));
  }
  ASSIGN_OR_RETURN(action.condition,
                   ConditionOf(request.condition_expression, {}, {}, &substitutions));
  TRY(substitutions.CheckAllUsed());
  action.return_old_on_failure = request.return_values_on_condition_check_failure ==
                                 ReturnValuesOnConditionCheckFailure::kAllOld;
  action.table_name = std::move(request.table_name);
  action.item = std::move(request.item.bytes);
  return action;
}

// What an action has against its table's schema and what cancels the transaction then.
Status CheckShape(const TransactionAction& action) {
  const model::KeySchema& schema = action.table->key_schema();
  if (action.kind == TransactionAction::kPut) return CheckItemKeyShape(schema, action.view());
  TRY(CheckKeyShape(schema, action.view()));
  for (const std::string& attribute : expr::TargetAttributes(action.update)) {
    if (schema.Has(attribute)) {
      return ValidationError("One or more parameter values were invalid: Cannot update attribute " +
                             attribute + ". This attribute is part of the key");
    }
  }
  return OkStatus();
}

Status CheckAgainstTables(const Context& ctx, std::vector<TransactionAction>* actions) {
  std::map<uint32_t, table::TablePtr> versions;
  for (TransactionAction& action : *actions) {
    ASSIGN_OR_RETURN(table::TablePtr found, FindActiveTable(ctx, action.table_name));
    const uint32_t id = found->descriptor.tablet_id;
    action.table = versions.emplace(id, std::move(found)).first->second;
  }
  // A key of the wrong shape is a reason to cancel, an empty one or the same item twice is an
  // invalid request [T][C].
  std::vector<CancellationReason> reasons(actions->size());
  bool canceled = false;
  std::set<std::pair<uint32_t, std::string>> items;
  for (size_t i = 0; i < actions->size(); ++i) {
    TransactionAction& action = (*actions)[i];
    if (Status shape = CheckShape(action); !shape.ok()) {
      reasons[i] = ValidationReason(shape.error().message());
      canceled = true;
      continue;
    }
    TRY(CheckKeyContents(action.table->key_schema(), action.view()));
    action.key = table::EncodeItemKey(action.table->key_schema(), action.view());
    if (!items.emplace(action.table->descriptor.tablet_id, action.key).second) {
      return ValidationError("Transaction request cannot include multiple operations on one item");
    }
    if (action.kind != TransactionAction::kPut) continue;
    TRY(CheckPutSize(*action.table, action.view()));
    if (Status keys = CheckPutIndexKeys(*action.table, action.view()); !keys.ok()) {
      reasons[i] = ValidationReason(keys.error().message());
      canceled = true;
    }
  }
  if (canceled) return TransactionCanceled(std::move(reasons));
  return OkStatus();
}

Result<WriteTransaction> Prepare(Context& ctx, TransactWriteItemsRequest& request) {
  std::vector<Stated> all;
  all.reserve(request.transact_items.size());
  for (TransactWriteItem& item : request.transact_items) {
    ASSIGN_OR_RETURN(const Stated stated, TheOneAction(item));
    all.push_back(stated);
  }
  TRY(CheckValues(request.value_errors, ValuePlace::kItem));
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  WriteTransaction transaction;
  if (request.client_request_token) {
    // What is to be reported may change from one try to the next.
    std::string meaning;
    for (const Stated& stated : all) AppendAction(&meaning, stated.kind, *stated.action);
    transaction.digest = table::DigestOf(meaning);
    transaction.token = std::move(request.client_request_token);
  }
  size_t put_bytes = 0;
  transaction.actions.reserve(all.size());
  for (const Stated& stated : all) {
    ASSIGN_OR_RETURN(TransactionAction action, Compile(stated, request.value_errors));
    if (action.kind == TransactionAction::kPut) put_bytes += action.view().size_bytes();
    transaction.actions.push_back(std::move(action));
  }
  TRY(CheckTransactionBytes(put_bytes));
  TRY(CheckAgainstTables(ctx, &transaction.actions));
  transaction.counts_index_units = WantsCapacity(request.return_consumed_capacity);
  return transaction;
}

// --- The answer ----------------------------------------------------------------------------------

// What the answer needs of an action when its items are gone with the transaction.
struct Written {
  std::string table_name;
  table::TablePtr table;
  std::string key;  // EncodeItemKey
  std::string
      key_attributes;  // encoded item; empty if the metrics of its collection are not in the answer
};

std::vector<Written> WhatIsAnswered(const TransactWriteItemsRequest& request,
                                    const WriteTransaction& transaction) {
  const bool metrics = request.return_item_collection_metrics == ReturnItemCollectionMetrics::kSize;
  std::vector<Written> all;
  if (!metrics && !WantsCapacity(request.return_consumed_capacity)) return all;
  all.reserve(transaction.actions.size());
  for (const TransactionAction& action : transaction.actions) {
    Written& written = all.emplace_back(Written{action.table_name, action.table, action.key, ""});
    if (!metrics || action.kind == TransactionAction::kConditionCheck) continue;
    written.key_attributes = model::KeyAttributesOf(action.table->key_schema(), action.view());
  }
  return all;
}

std::optional<std::vector<TableMetrics>> MetricsOf(table::Store& store,
                                                   const std::vector<Written>& all) {
  std::optional<std::vector<TableMetrics>> tables;
  std::vector<uint32_t> ids;  // of *tables
  for (const Written& written : all) {
    if (written.key_attributes.empty()) continue;
    auto collection = CollectionMetrics(store, *written.table, ReturnItemCollectionMetrics::kSize,
                                        model::ItemView(written.key_attributes), written.key);
    if (!collection) continue;
    if (!tables) tables.emplace();
    const uint32_t id = written.table->descriptor.tablet_id;
    const auto at = static_cast<size_t>(std::find(ids.begin(), ids.end(), id) - ids.begin());
    if (at == ids.size()) {
      ids.push_back(id);
      tables->push_back({written.table_name, {}});
    }
    // One entry for each collection, however many of its items were written.
    std::vector<ItemCollectionMetrics>& metrics = (*tables)[at].metrics;
    const auto same = [&](const ItemCollectionMetrics& each) {
      return each.item_collection_key == collection->item_collection_key;
    };
    if (std::none_of(metrics.begin(), metrics.end(), same))
      metrics.push_back(std::move(*collection));
  }
  return tables;
}

}  // namespace

void TransactWriteItems(Context& ctx, TransactWriteItemsRequest request,
                        Callback<TransactWriteItemsResponse> done) {
  Result<WriteTransaction> transaction = Prepare(ctx, request);
  if (!transaction.ok()) {
    done(std::move(transaction).error());
    return;
  }
  std::vector<Written> written = WhatIsAnswered(request, *transaction);
  table::Store& store = ctx.env.store;
  RunWriteTransaction(ctx, *std::move(transaction),
                      [wanted = request.return_consumed_capacity, written = std::move(written),
                       &store, done = std::move(done)](Result<TransactionUnits> drawn) mutable {
                        if (!drawn.ok()) {
                          done(std::move(drawn).error());
                          return;
                        }
                        TransactionCapacity capacity;
                        for (size_t i = 0; i < written.size(); ++i) {
                          capacity.Add(
                              written[i].table_name, written[i].table, drawn->units[i],
                              drawn->index_units.empty() ? IndexUnits() : drawn->index_units[i]);
                        }
                        done(TransactWriteItemsResponse{capacity.Take(wanted, drawn->writes),
                                                        MetricsOf(store, written)});
                      });
}

}  // namespace stator::ops
