#include <set>

#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/transaction.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

Result<ReadTransaction> Prepare(Context& ctx, TransactGetItemsRequest request) {
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  ReadTransaction transaction;
  transaction.return_consumed_capacity = request.return_consumed_capacity;
  transaction.reads.resize(request.transact_items.size());
  for (size_t i = 0; i < request.transact_items.size(); ++i) {
    TransactGet& get = request.transact_items[i].get;
    TRY(CheckExpressionParameters(
        {{"ProjectionExpression", get.projection_expression.has_value(), false}}, {},
        get.expression_attribute_names.has_value(), false));
    expr::Substitutions substitutions;
    TRY(SetSubstitutions(&get.expression_attribute_names, nullptr, {}, &substitutions));
    ASSIGN_OR_RETURN(transaction.reads[i].projection,
                     ProjectionOf(get.projection_expression, {}, &substitutions));
    TRY(substitutions.CheckAllUsed());
    transaction.reads[i].table_name = std::move(get.table_name);
  }
  for (ReadTransaction::Read& read : transaction.reads) {
    ASSIGN_OR_RETURN(read.table, FindActiveTable(ctx, read.table_name));
  }
  std::vector<CancellationReason> reasons(transaction.reads.size());
  bool canceled = false;
  std::set<std::pair<uint32_t, std::string>> seen;
  for (size_t i = 0; i < transaction.reads.size(); ++i) {
    ReadTransaction::Read& read = transaction.reads[i];
    const model::KeySchema& schema = read.table->key_schema();
    const model::ItemView key = request.transact_items[i].get.key.view();
    if (Status shape = CheckKeyShape(schema, key); !shape.ok()) {
      reasons[i] = ValidationReason(shape.error().message());
      canceled = true;
      continue;
    }
    TRY(CheckKeyContents(schema, key));
    read.key = table::EncodeItemKey(schema, key);
    if (!seen.emplace(read.table->descriptor.tablet_id, read.key).second) {
      return ValidationError("Transaction request cannot include multiple operations on one item");
    }
  }
  if (canceled) return TransactionCanceled(std::move(reasons));
  return transaction;
}

}  // namespace

void TransactGetItems(Context& ctx, TransactGetItemsRequest request,
                      Callback<TransactGetItemsResponse> done) {
  Result<ReadTransaction> transaction = Prepare(ctx, std::move(request));
  if (!transaction.ok()) {
    done(std::move(transaction).error());
    return;
  }
  RunReadTransaction(ctx, *std::move(transaction), std::move(done));
}

}  // namespace stator::ops
