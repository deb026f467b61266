// Reads and writes of items, alone, in batches and in transactions.
#include <map>

#include "guard/request_values.h"
#include "guard/requests.h"
#include "ops/checks.h"
#include "ops/read_target.h"

namespace stator::guard {
namespace {

using access::ActionId;
using access::ContextKey;
using access::KeySet;
using ops::ValuePlace;

constexpr std::string_view kSpecific = "SPECIFIC_ATTRIBUTES";
constexpr std::string_view kAllAttributes = "ALL_ATTRIBUTES";
constexpr std::string_view kAllOld = "ALL_OLD";

// Sets the error of an invalid value at `place`: nothing that was decoded there may be used.
bool IsValid(const ops::ValueErrors& errors, ValuePlace place, RequestKeys* keys) {
  const ops::ValueError* error = ops::FindValueError(errors, place);
  if (error == nullptr) return true;
  keys->SetError(error->ForClient());
  return false;
}

// The values and names of a key or of an item to put.
void AddItem(const Check& check, KeySet wanted, std::string_view table, model::ItemView item,
             RequestKeys* keys) {
  AddPartitionValues(check, wanted, table, item, keys);
  if (wanted.Has(ContextKey::kAttributes)) AddNames(item, keys);
}

std::string_view SelectOf(bool projects) { return projects ? kSpecific : kAllAttributes; }

// One get of a batch or a transaction, or GetItem.
template <typename Get>
void FillGet(const Check& check, KeySet wanted, const Get& get, const ops::ValueErrors& errors,
             RequestKeys* keys) {
  if (wanted.Has(ContextKey::kAttributes)) {
    if constexpr (requires { get.attributes_to_get; }) AddNames(get.attributes_to_get, keys);
    if (get.projection_expression) {
      Expressions(get.expression_attribute_names, std::nullopt, errors, keys)
          .AddProjection(get.projection_expression);
    }
  }
  bool projects = get.projection_expression.has_value();
  if constexpr (requires { get.attributes_to_get; })
    projects = projects || get.attributes_to_get.has_value();
  keys->select = SelectOf(projects);
  if (!IsValid(errors, ValuePlace::kKey, keys)) return;
  if constexpr (requires { get.keys; }) {
    for (const ops::EncodedItem& key : get.keys)
      AddItem(check, wanted, get.table_name, key.view(), keys);
  } else {
    AddItem(check, wanted, get.table_name, get.key.view(), keys);
  }
}

// The condition and the update of a write, in either form.
template <typename Write>
void FillCondition(KeySet wanted, const Write& write, const ops::ValueErrors& errors,
                   RequestKeys* keys) {
  if (!wanted.Has(ContextKey::kAttributes)) return;
  if constexpr (requires { write.expected; }) AddLegacyNames(write.expected, keys);
  if constexpr (requires { write.attribute_updates; }) {
    if (write.attribute_updates) {
      for (const ops::LegacyUpdate& update : *write.attribute_updates)
        keys->AddAttribute(update.attribute);
    }
  }
  Expressions expressions(write.expression_attribute_names, write.expression_attribute_values,
                          errors, keys);
  expressions.AddCondition(write.condition_expression, expr::Role::kCondition);
  if constexpr (requires { write.update_expression; })
    expressions.AddUpdate(write.update_expression);
}

// Requires the right to write `item`, which is a whole item or a key. If the request asks for the
// item on a failed condition, the right to ALL_OLD is required, too. Otherwise a failing condition
// would show attributes that ReturnValues may not show.
template <typename Request>
Status RequireWrite(Check& check, ActionId action, const Request& request,
                    const ops::EncodedItem& item, ValuePlace place) {
  const std::string arn = check.ArnOf(request.table_name);
  const auto require = [&](std::string_view return_values) {
    return check.Require(action, arn, [&](KeySet wanted, RequestKeys* keys) {
      keys->return_values = return_values;
      keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
      FillCondition(wanted, request, request.value_errors, keys);
      if (IsValid(request.value_errors, place, keys))
        AddItem(check, wanted, request.table_name, item.view(), keys);
    });
  };
  const std::string_view return_values = TextOf(request.return_values);
  const std::string_view on_failure = TextOf(request.return_values_on_condition_check_failure);
  TRY(require(return_values));
  const bool shows_more = on_failure == kAllOld && return_values != kAllOld;
  return shows_more ? require(on_failure) : OkStatus();
}

// The partition key's values that a Query names.
void FillQueryKeys(const Check& check, KeySet wanted, const ops::QueryRequest& request,
                   Expressions* expressions, RequestKeys* keys) {
  const bool names = wanted.Has(ContextKey::kAttributes);
  std::vector<expr::KeyConditionPart> parts =
      expressions->KeyConditions(request.key_condition_expression, names);
  if (request.key_conditions && !request.key_conditions->empty()) {
    if (names) AddLegacyNames(request.key_conditions, keys);
    const auto compile = [&]() -> Result<std::vector<expr::KeyConditionPart>> {
      if (const ops::ValueError* error =
              ops::FindValueError(request.value_errors, ValuePlace::kKeyConditions))
        return error->ForClient();
      ASSIGN_OR_RETURN(const expr::Condition condition,
                       ops::CompileLegacyConditions(*request.key_conditions, std::nullopt,
                                                    expr::Role::kKeyCondition));
      return expr::ExtractKeyConditions(condition, 2 * model::kMaxIndexKeyAttributes);
    };
    Result<std::vector<expr::KeyConditionPart>> legacy = compile();
    if (!legacy.ok()) return keys->SetError(legacy.error());
    for (expr::KeyConditionPart& part : *legacy) parts.push_back(std::move(part));
  }
  if (!WantsPartitionValues(wanted)) return;
  table::TablePtr table = check.FindTable(request.table_name);
  if (table == nullptr)
    return keys->SetError(Error(ErrorCode::kResourceNotFound, "Requested resource not found"));
  const Result<ops::ReadTarget> target =
      ops::FindReadTarget(std::move(table), request.index_name, false);
  if (!target.ok()) return keys->SetError(target.error());
  const std::vector<model::KeyAttribute>& partition = target->key().partition;
  for (size_t i = 0; i < partition.size() && i < keys->partition_values.size(); ++i) {
    std::vector<std::string>& values = keys->partition_values[i].emplace();
    for (const expr::KeyConditionPart& part : parts) {
      if (part.attribute != partition[i].name || part.op != expr::KeyConditionPart::kEq) continue;
      if (std::optional<std::string> text = KeyText(model::ValueView(part.value)))
        values.push_back(*std::move(text));
    }
  }
}

// Requires a right to read, and that to read the past if that is asked for: both with the same keys
// and attributes.
Status RequireRead(Check& check, ActionId action, std::string_view arn, Check::Fill fill) {
  TRY(check.Require(action, arn, fill));
  if (!check.asks_past()) return OkStatus();
  static const ActionId past = ActionNamed("stator:ReadPast");
  return check.Require(past, arn, fill);
}

template <typename Request>
std::string ReadArn(const Check& check, const Request& request) {
  std::string arn = check.ArnOf(request.table_name);
  if (request.index_name) arn.append("/index/").append(*request.index_name);
  return arn;
}

template <typename Request>
std::string_view SelectOfPage(const Request& request) {
  if (request.select) {
    switch (*request.select) {
      case ops::Select::kAllAttributes: return kAllAttributes;
      case ops::Select::kAllProjectedAttributes: return "ALL_PROJECTED_ATTRIBUTES";
      case ops::Select::kSpecificAttributes: return kSpecific;
      case ops::Select::kCount: return "COUNT";
    }
  }
  if (request.projection_expression || request.attributes_to_get) return kSpecific;
  return request.index_name ? "ALL_PROJECTED_ATTRIBUTES" : kAllAttributes;
}

}  // namespace

Status AuthorizeRequest(Check& check, const ops::GetItemRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:GetItem");
  return RequireRead(check, action, check.ArnOf(request.table_name),
                     [&](KeySet wanted, RequestKeys* keys) {
                       keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
                       FillGet(check, wanted, request, request.value_errors, keys);
                     });
}

Status AuthorizeRequest(Check& check, const ops::PutItemRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:PutItem");
  return RequireWrite(check, action, request, request.item, ValuePlace::kItem);
}

Status AuthorizeRequest(Check& check, const ops::UpdateItemRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:UpdateItem");
  return RequireWrite(check, action, request, request.key, ValuePlace::kKey);
}

Status AuthorizeRequest(Check& check, const ops::DeleteItemRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:DeleteItem");
  return RequireWrite(check, action, request, request.key, ValuePlace::kKey);
}

Status AuthorizeRequest(Check& check, const ops::QueryRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:Query");
  return RequireRead(check, action, ReadArn(check, request), [&](KeySet wanted, RequestKeys* keys) {
    keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
    keys->return_values = "NONE";
    keys->select = SelectOfPage(request);
    Expressions expressions(request.expression_attribute_names, request.expression_attribute_values,
                            request.value_errors, keys);
    if (wanted.Has(ContextKey::kAttributes)) {
      AddNames(request.attributes_to_get, keys);
      AddLegacyNames(request.query_filter, keys);
      expressions.AddProjection(request.projection_expression);
      expressions.AddCondition(request.filter_expression, expr::Role::kFilter);
    }
    FillQueryKeys(check, wanted, request, &expressions, keys);
  });
}

Status AuthorizeRequest(Check& check, const ops::ScanRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:Scan");
  return RequireRead(check, action, ReadArn(check, request), [&](KeySet wanted, RequestKeys* keys) {
    keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
    keys->return_values = "NONE";
    keys->select = SelectOfPage(request);
    if (!wanted.Has(ContextKey::kAttributes)) return;
    Expressions expressions(request.expression_attribute_names, request.expression_attribute_values,
                            request.value_errors, keys);
    AddNames(request.attributes_to_get, keys);
    AddLegacyNames(request.scan_filter, keys);
    expressions.AddProjection(request.projection_expression);
    expressions.AddCondition(request.filter_expression, expr::Role::kFilter);
  });
}

Status RequireOfItems(Check& check, ActionId action, std::string_view table_name,
                      const std::string* key) {
  return check.Require(action, check.ArnOf(table_name), [&](KeySet wanted, RequestKeys* keys) {
    keys->select = kAllAttributes;
    if (key != nullptr) AddItem(check, wanted, table_name, model::ItemView(*key), keys);
  });
}

Status RequireOfAllItems(Check& check, ActionId action, std::string_view table_name) {
  return check.Require(action, check.ArnOf(table_name), [](KeySet wanted, RequestKeys* keys) {
    if (!WantsPartitionValues(wanted) && !wanted.Has(ContextKey::kAttributes)) return;
    keys->SetError(Error(ErrorCode::kAccessDenied,
                         "This call writes items of any key: it is not for callers whose policies "
                         "ask for dynamodb:LeadingKeys or dynamodb:Attributes"));
  });
}

Status AuthorizeRequest(Check& check, const ops::BatchGetItemRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:BatchGetItem");
  // A table may come under its name and its ARN.
  std::map<std::string, std::vector<const ops::KeysAndAttributes*>> tables;
  for (const ops::KeysAndAttributes& one : request.request_items)
    tables[check.ArnOf(one.table_name)].push_back(&one);
  for (const auto& [arn, gets] : tables) {
    TRY(RequireRead(check, action, arn, [&, &gets = gets](KeySet wanted, RequestKeys* keys) {
      keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
      std::string_view select = kSpecific;
      for (const ops::KeysAndAttributes* get : gets) {
        FillGet(check, wanted, *get, request.value_errors, keys);
        if (keys->select == kAllAttributes) select = kAllAttributes;
      }
      keys->select = select;
    }));
  }
  return OkStatus();
}

Status AuthorizeRequest(Check& check, const ops::BatchWriteItemRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:BatchWriteItem");
  std::map<std::string, std::vector<const ops::TableWriteRequests*>> tables;
  for (const ops::TableWriteRequests& one : request.request_items)
    tables[check.ArnOf(one.table_name)].push_back(&one);
  for (const auto& [arn, writes] : tables) {
    TRY(check.Require(action, arn, [&, &writes = writes](KeySet wanted, RequestKeys* keys) {
      keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
      if (!IsValid(request.value_errors, ValuePlace::kItem, keys) ||
          !IsValid(request.value_errors, ValuePlace::kKey, keys))
        return;
      for (const ops::TableWriteRequests* table : writes) {
        for (const ops::WriteRequest& write : table->requests) {
          if (write.put_request)
            AddItem(check, wanted, table->table_name, write.put_request->item.view(), keys);
          if (write.delete_request)
            AddItem(check, wanted, table->table_name, write.delete_request->key.view(), keys);
        }
      }
    }));
  }
  return OkStatus();
}

Status AuthorizeRequest(Check& check, const ops::TransactGetItemsRequest& request) {
  static const ActionId action = ActionNamed("dynamodb:GetItem");
  for (const ops::TransactGetItem& one : request.transact_items) {
    TRY(check.Require(action, check.ArnOf(one.get.table_name),
                      [&](KeySet wanted, RequestKeys* keys) {
                        keys->enclosing_operation = "TransactGetItems";
                        keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
                        FillGet(check, wanted, one.get, request.value_errors, keys);
                      }));
  }
  return OkStatus();
}

Status AuthorizeRequest(Check& check, const ops::TransactWriteItemsRequest& request) {
  static const ActionId check_action = ActionNamed("dynamodb:ConditionCheckItem");
  static const ActionId put_action = ActionNamed("dynamodb:PutItem");
  static const ActionId delete_action = ActionNamed("dynamodb:DeleteItem");
  static const ActionId update_action = ActionNamed("dynamodb:UpdateItem");
  const auto require = [&](ActionId action, const std::optional<ops::TransactWriteAction>& write,
                           ValuePlace place) -> Status {
    if (!write) return OkStatus();
    return check.Require(
        action, check.ArnOf(write->table_name), [&](KeySet wanted, RequestKeys* keys) {
          keys->enclosing_operation = "TransactWriteItems";
          keys->return_consumed_capacity = TextOf(request.return_consumed_capacity);
          keys->return_values = TextOf(write->return_values_on_condition_check_failure);
          FillCondition(wanted, *write, request.value_errors, keys);
          if (IsValid(request.value_errors, place, keys))
            AddItem(check, wanted, write->table_name, write->item.view(), keys);
        });
  };
  for (const ops::TransactWriteItem& one : request.transact_items) {
    TRY(require(check_action, one.condition_check, ValuePlace::kKey));
    TRY(require(put_action, one.put, ValuePlace::kItem));
    TRY(require(delete_action, one.delete_item, ValuePlace::kKey));
    TRY(require(update_action, one.update, ValuePlace::kKey));
  }
  return OkStatus();
}

}  // namespace stator::guard
