#include <algorithm>
#include <set>

#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/transaction.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

// --- The digest of a request: of what it means, not of how its JSON was written --------------------------------------

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

void AppendAction(std::string* out, TransactionAction::Kind kind, const TransactWriteAction& action) {
  out->push_back(kind);
  AppendText(out, std::string_view(action.table_name));
  AppendText(out, std::string_view(action.item.bytes));  // canonical
  AppendText(out, action.update_expression);
  AppendText(out, action.condition_expression);
  AppendPairs(out, action.expression_attribute_names);
  AppendPairs(out, action.expression_attribute_values);
  AppendChoice(out, action.return_values_on_condition_check_failure, ReturnValuesOnConditionCheckFailure::kNone);
}

// --- Checks ----------------------------------------------------------------------------------------------------------

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
    if (stated) return ValidationError("TransactItems can only contain one of Check, Put, Update or Delete");
    stated = Stated{kind, &**action};
  }
  if (!stated) {
    // [DynamoDB Local]
    return ValidationError("Invalid Request: TransactWriteRequest should contain Delete or Put or Update request");
  }
  return *stated;
}

// What can be said without the table. Takes the request's parts.
Result<TransactionAction> Compile(const Stated& stated, const ValueErrors& value_errors) {
  TransactWriteAction& request = *stated.action;
  TransactionAction action;
  action.kind = stated.kind;
  const bool names = request.expression_attribute_names.has_value();
  const bool values = request.expression_attribute_values.has_value();
  const ExpressionParameter condition{"ConditionExpression", request.condition_expression.has_value()};
  if (stated.kind == TransactionAction::kUpdate) {
    TRY(CheckExpressionParameters({{"UpdateExpression", true}, condition}, {}, names, values));
  } else {
    TRY(CheckExpressionParameters({condition}, {}, names, values));
  }
  if (stated.kind == TransactionAction::kPut && request.item.view().size_bytes() > model::kMaxItemBytes) {
    return ValidationError("Item size has exceeded the maximum allowed size");
  }
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&request.expression_attribute_names, &request.expression_attribute_values, value_errors,
                       &substitutions));
  if (request.update_expression) {
    ASSIGN_OR_RETURN(action.update, expr::ParseUpdate(*request.update_expression, &substitutions));
  }
  ASSIGN_OR_RETURN(action.condition, ConditionOf(request.condition_expression, {}, {}, &substitutions));
  TRY(substitutions.CheckAllUsed());
  action.return_old_on_failure =
      request.return_values_on_condition_check_failure == ReturnValuesOnConditionCheckFailure::kAllOld;
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
      return ValidationError("One or more parameter values were invalid: Cannot update attribute " + attribute +
                             ". This attribute is part of the key");
    }
  }
  return OkStatus();
}

Status CheckAgainstTables(const Environment& env, std::vector<TransactionAction>* actions) {
  for (TransactionAction& action : *actions) {
    ASSIGN_OR_RETURN(action.table, FindActiveTable(env, action.table_name));
  }
  // A key of the wrong shape is a reason to cancel, an empty one or the same item twice is an invalid request [T][C].
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
    std::string meaning;
    for (const Stated& stated : all) AppendAction(&meaning, stated.kind, *stated.action);
    AppendChoice(&meaning, request.return_consumed_capacity, ReturnConsumedCapacity::kNone);
    AppendChoice(&meaning, request.return_item_collection_metrics, ReturnItemCollectionMetrics::kNone);
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
  TRY(CheckAgainstTables(ctx.env, &transaction.actions));
  return transaction;
}

}  // namespace

void TransactWriteItems(Context& ctx, TransactWriteItemsRequest request, Callback<TransactWriteItemsResponse> done) {
  Result<WriteTransaction> transaction = Prepare(ctx, request);
  if (!transaction.ok()) {
    done(std::move(transaction).error());
    return;
  }
  std::vector<std::pair<std::string, table::TablePtr>> tables;
  if (request.return_consumed_capacity) {
    for (const TransactionAction& action : transaction->actions) tables.emplace_back(action.table_name, action.table);
  }
  RunWriteTransaction(ctx, *std::move(transaction),
                      [wanted = request.return_consumed_capacity, tables = std::move(tables),
                       done = std::move(done)](Result<TransactionUnits> drawn) mutable {
                        if (!drawn.ok()) {
                          done(std::move(drawn).error());
                          return;
                        }
                        TransactionCapacity capacity;
                        for (size_t i = 0; i < tables.size(); ++i) {
                          capacity.Add(tables[i].first, *tables[i].second, drawn->units[i]);
                        }
                        done(TransactWriteItemsResponse{capacity.Take(wanted, drawn->writes)});
                      });
}

}  // namespace stator::ops
