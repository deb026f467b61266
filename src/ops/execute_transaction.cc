#include <map>
#include <set>

#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/statement_plan.h"
#include "ops/statement_token.h"
#include "ops/transaction.h"
#include "table/token_ledger.h"

namespace stator::ops {
namespace {

using expr::Statement;
using expr::StatementKind;

Error FailedAt(size_t i, std::string_view text) {
  return ValidationError("Validation failed in TransactStatements[" + std::to_string(i) +
                         "]: " + std::string(text));
}

Result<std::vector<Statement>> ParseAll(const ExecuteTransactionRequest& request) {
  TRY(CheckValues(request.value_errors, ValuePlace::kParameters));
  std::vector<Result<Statement>> parsed;
  bool reads = false;
  bool writes = false;
  for (const ParameterizedStatement& one : request.transact_statements) {
    Result<Statement>& statement =
        parsed.emplace_back(ParseStatementOf(one.statement, one.parameters, {}));
    if (!statement.ok() && statement.error().message().starts_with(expr::kMalformedStatement))
      return statement.error();
    (expr::IsSelect(one.statement) ? reads : writes) = true;
  }
  if (reads && writes) {
    return ValidationError(
        "ExecuteTransaction API does not support both read and write operations in the same "
        "request.");
  }
  std::vector<Statement> statements;
  for (size_t i = 0; i < parsed.size(); ++i) {
    if (!parsed[i].ok()) return FailedAt(i, parsed[i].error().message());
    if (parsed[i]->returning != expr::Returning::kNone) {
      return FailedAt(i, "RETURNING clause is not supported in ExecuteTransaction.");
    }
    if (parsed[i]->index)
      return FailedAt(i, "Reads on indices are not supported within transactions.");
    statements.push_back(*std::move(parsed[i]));
  }
  return statements;
}

// Every statement's table; those on one table get one version of it.
Result<std::vector<table::TablePtr>> FindTables(const Context& ctx,
                                                const std::vector<Statement>& statements) {
  std::map<uint32_t, table::TablePtr> versions;
  std::vector<table::TablePtr> tables;
  for (const Statement& statement : statements) {
    ASSIGN_OR_RETURN(table::TablePtr found, FindActiveTable(ctx, statement.table));
    const uint32_t id = found->descriptor.tablet_id;
    tables.push_back(versions.emplace(id, std::move(found)).first->second);
  }
  return tables;
}

// Notes which items a transaction is about and what stands against single statements.
class Checker {
 public:
  explicit Checker(size_t count) : reasons_(count) {}

  void Fail(size_t i, const Error& error) {
    reasons_[i] = ValidationReason(error.message());
    canceled_ = true;
  }
  Status AddItem(const table::Table& table, const std::string& key) {
    if (items_.emplace(table.descriptor.tablet_id, key).second) return OkStatus();
    return ValidationError("Transaction request cannot include multiple operations on one item");
  }
  Status Finish() {
    if (canceled_) return TransactionCanceled(std::move(reasons_));
    return OkStatus();
  }

 private:
  std::vector<CancellationReason> reasons_;
  bool canceled_ = false;
  std::set<std::pair<uint32_t, std::string>> items_;
};

// Keys that are empty or too large make the request invalid, other errors of a statement cancel the
// transaction [T][C].
bool IsAboutContents(const Error& error) {
  const std::string& message = error.message();
  return error.code() != ErrorCode::kValidation ||
         message.starts_with("One or more parameter values are not valid") ||
         message.starts_with("Item size has exceeded");
}

Result<ReadTransaction> PrepareReads(Context& ctx, const ExecuteTransactionRequest& request,
                                     std::vector<Statement> statements) {
  TRY(FindTables(ctx, statements));
  ReadTransaction transaction;
  transaction.return_consumed_capacity = request.return_consumed_capacity;
  transaction.answers_empty_items = true;
  Checker checker(statements.size());
  for (size_t i = 0; i < statements.size(); ++i) {
    Result<SelectPlan> plan = PlanSelect(ctx, statements[i], true);
    if (!plan.ok()) {
      if (IsAboutContents(plan.error())) return std::move(plan).error();
      checker.Fail(i, plan.error());
      continue;
    }
    if (plan->item_key.empty() || plan->filter.present()) {
      return FailedAt(i,
                      "Select statements within ExecuteTransaction must specify the primary key in "
                      "the where clause.");
    }
    TRY(CheckKeyContents(plan->target.table->key_schema(), model::ItemView(plan->key_attributes)));
    TRY(checker.AddItem(*plan->target.table, plan->item_key));
    transaction.reads.push_back({std::move(statements[i].table), plan->target.table,
                                 std::move(plan->item_key), std::move(statements[i].projection)});
  }
  TRY(checker.Finish());
  return transaction;
}

Result<WriteTransaction> PrepareWrites(Context& ctx, const ExecuteTransactionRequest& request,
                                       std::vector<Statement> statements) {
  ASSIGN_OR_RETURN(const std::vector<table::TablePtr> tables, FindTables(ctx, statements));
  WriteTransaction transaction;
  transaction.counts_index_units = WantsCapacity(request.return_consumed_capacity);
  if (request.client_request_token) {
    std::string meaning = "PartiQL";
    for (const ParameterizedStatement& one : request.transact_statements) {
      meaning += StatementDigest(one.statement, one.parameters);
    }
    transaction.digest = table::DigestOf(meaning);
    transaction.token = request.client_request_token;
  }
  Checker checker(statements.size());
  size_t inserted_bytes = 0;
  for (size_t i = 0; i < statements.size(); ++i) {
    const bool exists = statements[i].kind == StatementKind::kExists;
    Result<TransactionAction> action = PlanWrite(tables[i], &statements[i]);
    if (exists &&
        (action.ok() ? !action->condition.present() : action.error().message() == kNoKeyEquality)) {
      return FailedAt(i, "EXISTS() must contain a single item read with additional condition");
    }
    if (!action.ok()) {
      if (action.error().message().starts_with("Key value must be of type"))
        return FailedAt(i, action.error().message());
      if (IsAboutContents(action.error())) return std::move(action).error();
      checker.Fail(i, action.error());
      continue;
    }
    TRY(checker.AddItem(*action->table, action->key));
    if (action->kind == TransactionAction::kInsert) inserted_bytes += action->view().size_bytes();
    action->return_old_on_failure =
        request.transact_statements[i].return_values_on_condition_check_failure ==
        ReturnValuesOnConditionCheckFailure::kAllOld;
    transaction.actions.push_back(*std::move(action));
  }
  TRY(checker.Finish());
  TRY(CheckTransactionBytes(inserted_bytes));
  return transaction;
}

void Run(Context& ctx, WriteTransaction transaction, std::optional<ReturnConsumedCapacity> wanted,
         Callback<ExecuteTransactionResponse> done) {
  std::vector<std::pair<std::string, table::TablePtr>> tables;
  for (const TransactionAction& action : transaction.actions)
    tables.emplace_back(action.table_name, action.table);
  RunWriteTransaction(ctx, std::move(transaction),
                      [wanted, tables = std::move(tables),
                       done = std::move(done)](Result<TransactionUnits> drawn) mutable {
                        if (!drawn.ok()) {
                          done(std::move(drawn).error());
                          return;
                        }
                        TransactionCapacity capacity;
                        for (size_t i = 0; i < tables.size(); ++i) {
                          capacity.Add(
                              tables[i].first, tables[i].second, drawn->units[i],
                              drawn->index_units.empty() ? IndexUnits() : drawn->index_units[i]);
                        }
                        ExecuteTransactionResponse response;
                        response.responses.resize(tables.size());
                        response.consumed_capacity = capacity.Take(wanted, drawn->writes);
                        done(std::move(response));
                      });
}

}  // namespace

void ExecuteTransaction(Context& ctx, ExecuteTransactionRequest request,
                        Callback<ExecuteTransactionResponse> done) {
  Result<std::vector<Statement>> statements = ParseAll(request);
  if (!statements.ok()) {
    done(std::move(statements).error());
    return;
  }
  if (statements->front().kind != StatementKind::kSelect) {
    Result<WriteTransaction> transaction = PrepareWrites(ctx, request, *std::move(statements));
    if (!transaction.ok()) {
      done(std::move(transaction).error());
      return;
    }
    Run(ctx, *std::move(transaction), request.return_consumed_capacity, std::move(done));
    return;
  }
  Result<ReadTransaction> transaction = PrepareReads(ctx, request, *std::move(statements));
  if (!transaction.ok()) {
    done(std::move(transaction).error());
    return;
  }
  RunReadTransaction(ctx, *std::move(transaction),
                     [done = std::move(done)](Result<TransactGetItemsResponse> read) mutable {
                       if (!read.ok()) {
                         done(std::move(read).error());
                         return;
                       }
                       done(ExecuteTransactionResponse{std::move(read->responses),
                                                       std::move(read->consumed_capacity)});
                     });
}

}  // namespace stator::ops
