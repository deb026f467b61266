// PartiQL: each statement is an action of its own.
#include <algorithm>

#include "expr/statement.h"
#include "expr/update.h"
#include "guard/request_values.h"
#include "guard/requests.h"
#include "ops/checks.h"
#include "ops/read_target.h"
#include "ops/statement_plan.h"

namespace stator::guard {
namespace {

using access::ActionId;
using access::ContextKey;
using access::KeySet;
using expr::Demand;
using expr::Statement;
using expr::StatementKind;

bool IsRead(const Statement& statement) {
  return statement.kind == StatementKind::kSelect || statement.kind == StatementKind::kExists;
}

ActionId ActionOfStatement(const Statement& statement) {
  static const ActionId select = ActionNamed("dynamodb:PartiQLSelect");
  static const ActionId insert = ActionNamed("dynamodb:PartiQLInsert");
  static const ActionId update = ActionNamed("dynamodb:PartiQLUpdate");
  static const ActionId erase = ActionNamed("dynamodb:PartiQLDelete");
  switch (statement.kind) {
    case StatementKind::kSelect:
    case StatementKind::kExists: return select;
    case StatementKind::kInsert: return insert;
    case StatementKind::kUpdate: return update;
    case StatementKind::kDelete: return erase;
  }
  return select;
}

std::string_view ReturnValuesOf(const Statement& statement) {
  switch (statement.returning) {
    case expr::Returning::kNone: return "NONE";
    case expr::Returning::kAllOld: return "ALL_OLD";
    case expr::Returning::kAllNew: return "ALL_NEW";
    case expr::Returning::kModifiedOld: return "UPDATED_OLD";
    case expr::Returning::kModifiedNew: return "UPDATED_NEW";
  }
  return "NONE";
}

// Fills in the values that the condition of a statement fixes for the partition key, and whether a
// SELECT has to scan. If the condition does not fix the key, the values remain unknown.
void FillKeys(const Check& check, const Statement& statement, RequestKeys* keys) {
  table::TablePtr table = check.FindTable(statement.table);
  if (table == nullptr)
    return keys->SetError(Error(ErrorCode::kResourceNotFound, "Requested resource not found"));
  const Result<ops::ReadTarget> target =
      ops::FindReadTarget(std::move(table), statement.index, false);
  if (!target.ok()) return keys->SetError(target.error());
  const std::vector<model::KeyAttribute>& partition = target->key().partition;
  bool fixed = true;
  const expr::Demands demands =
      statement.condition.present() ? expr::DemandsOf(statement.condition) : expr::Demands{};
  for (size_t i = 0; i < partition.size(); ++i) {
    std::vector<std::string> values;
    bool demanded = false;
    const auto add = [&](model::ValueView value) {
      if (std::optional<std::string> text = KeyText(value)) values.push_back(*std::move(text));
    };
    if (statement.kind == StatementKind::kInsert) {
      demanded = true;
      add(model::ItemView(statement.item).Find(partition[i].name));
    }
    for (const Demand& demand : demands.all) {
      if (demand.attribute != partition[i].name) continue;
      if (demand.op == Demand::kEq) {
        demanded = true;
        add(demand.value);
      } else if (demand.op == Demand::kIn && partition.size() == 1) {
        demanded = true;
        for (const model::ValueView value : demand.values) add(value);
      }
    }
    fixed = fixed && demanded;
    if (demanded && i < keys->partition_values.size())
      keys->partition_values[i] = std::move(values);
  }
  if (!fixed) {
    // Values of some attributes of the key alone do not say which items are read.
    for (auto& values : keys->partition_values) values.reset();
  }
  if (IsRead(statement)) keys->full_table_scan = !fixed;
}

void FillAttributes(const Statement& statement, RequestKeys* keys) {
  keys->AddAttributes(expr::TopLevelAttributes(statement.condition));
  keys->AddAttributes(expr::TopLevelAttributes(statement.projection));
  keys->AddAttributes(expr::TopLevelAttributes(statement.update));
  for (const expr::OrderBy& order : statement.order_by) keys->AddAttribute(order.attribute);
  if (statement.kind == StatementKind::kInsert) AddNames(model::ItemView(statement.item), keys);
}

Status RequireStatement(Check& check, const Statement& statement, std::string_view enclosing,
                        std::string_view capacity) {
  std::string arn = check.ArnOf(statement.table);
  if (statement.index) arn.append("/index/").append(*statement.index);
  return check.Require(ActionOfStatement(statement), arn, [&](KeySet wanted, RequestKeys* keys) {
    keys->enclosing_operation = enclosing;
    keys->return_consumed_capacity = capacity;
    if (IsRead(statement)) {
      keys->select = statement.projection.present() ? "SPECIFIC_ATTRIBUTES" : "ALL_ATTRIBUTES";
    } else {
      keys->return_values = ReturnValuesOf(statement);
    }
    if (wanted.Has(ContextKey::kAttributes)) FillAttributes(statement, keys);
    if (WantsPartitionValues(wanted) || wanted.Has(ContextKey::kFullTableScan))
      FillKeys(check, statement, keys);
  });
}

}  // namespace

Status AuthorizeRequest(Check& check, const ops::ExecuteStatementRequest& request) {
  const Result<Statement> statement =
      ops::ParseStatementOf(request.statement, request.parameters, request.value_errors);
  // The text is not a statement. The operation itself returns that error.
  if (!statement.ok()) return OkStatus();
  return RequireStatement(check, *statement, {}, TextOf(request.return_consumed_capacity));
}

Status AuthorizeRequest(Check& check, const ops::BatchExecuteStatementRequest& request) {
  for (const ops::BatchStatementRequest& one : request.statements) {
    const Result<Statement> statement =
        ops::ParseStatementOf(one.statement, one.parameters, request.value_errors);
    if (!statement.ok()) continue;
    TRY(RequireStatement(check, *statement, {}, TextOf(request.return_consumed_capacity)));
  }
  return OkStatus();
}

Status AuthorizeRequest(Check& check, const ops::ExecuteTransactionRequest& request) {
  for (const ops::ParameterizedStatement& one : request.transact_statements) {
    const Result<Statement> statement =
        ops::ParseStatementOf(one.statement, one.parameters, request.value_errors);
    if (!statement.ok()) continue;
    TRY(RequireStatement(check, *statement, "ExecuteTransaction",
                         TextOf(request.return_consumed_capacity)));
  }
  return OkStatus();
}

}  // namespace stator::guard
