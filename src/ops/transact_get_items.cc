#include <set>

#include "ops/checks.h"
#include "ops/faults.h"
#include "ops/item_read.h"
#include "ops/operations.h"
#include "ops/transaction.h"
#include "table/key_encoding.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

struct State {
  TransactGetItemsRequest request;
  std::vector<expr::Projection> projections;
  std::vector<table::WriteTarget> items;
  std::vector<std::optional<std::string>> images;
};

Result<std::shared_ptr<State>> Prepare(Context& ctx, TransactGetItemsRequest request) {
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  auto state = std::make_shared<State>();
  for (TransactGetItem& item : request.transact_items) {
    TransactGet& get = item.get;
    TRY(CheckExpressionParameters({{"ProjectionExpression", get.projection_expression.has_value(), false}}, {},
                                  get.expression_attribute_names.has_value(), false));
    expr::Substitutions substitutions;
    TRY(SetSubstitutions(&get.expression_attribute_names, nullptr, {}, &substitutions));
    ASSIGN_OR_RETURN(expr::Projection projection, ProjectionOf(get.projection_expression, {}, &substitutions));
    TRY(substitutions.CheckAllUsed());
    state->projections.push_back(std::move(projection));
  }
  for (const TransactGetItem& item : request.transact_items) {
    ASSIGN_OR_RETURN(table::TablePtr table, FindActiveTable(ctx.env, item.get.table_name));
    state->items.push_back({std::move(table), ""});
  }
  std::vector<CancellationReason> reasons(state->items.size());
  bool canceled = false;
  std::set<std::pair<uint32_t, std::string>> seen;
  for (size_t i = 0; i < state->items.size(); ++i) {
    table::WriteTarget& item = state->items[i];
    const model::KeySchema& schema = item.table->key_schema();
    const model::ItemView key = request.transact_items[i].get.key.view();
    if (Status shape = CheckKeyShape(schema, key); !shape.ok()) {
      reasons[i] = ValidationReason(shape.error().message());
      canceled = true;
      continue;
    }
    TRY(CheckKeyContents(schema, key));
    item.key = table::EncodeItemKey(schema, key);
    if (!seen.emplace(item.table->descriptor.tablet_id, item.key).second) {
      return ValidationError("Transaction request cannot include multiple operations on one item");
    }
  }
  if (canceled) return TransactionCanceled(std::move(reasons));
  state->request = std::move(request);
  return state;
}

Result<TransactGetItemsResponse> Finish(State& state) {
  TransactGetItemsResponse response;
  TransactionCapacity capacity;
  size_t bytes = 0;
  for (size_t i = 0; i < state.items.size(); ++i) {
    std::optional<std::string>& image = state.images[i];
    const size_t size = image ? model::ItemView(*image).size_bytes() : 0;
    bytes += size;
    capacity.Add(state.request.transact_items[i].get.table_name, state.items[i].table,
                 2 * throughput::ReadSteps(static_cast<int64_t>(size)));
    if (image && state.projections[i].present()) {
      std::string projected = expr::Project(state.projections[i], model::ItemView(*image));
      // Where nothing is left GetItem answers an item without attributes, this operation none.
      if (model::ItemView(projected).attributes().size() == 0) {
        image.reset();
      } else {
        image = std::move(projected);
      }
    }
    response.responses.push_back(std::move(image));
  }
  TRY(CheckTransactionBytes(bytes));
  response.consumed_capacity = capacity.Take(state.request.return_consumed_capacity, /*writes=*/false);
  return response;
}

}  // namespace

void TransactGetItems(Context& ctx, TransactGetItemsRequest request, Callback<TransactGetItemsResponse> done) {
  Result<std::shared_ptr<State>> prepared = Prepare(ctx, std::move(request));
  if (!prepared.ok()) {
    done(std::move(prepared).error());
    return;
  }
  std::shared_ptr<State> state = std::move(*prepared);
  if (Status struck = StrikeTransaction(ctx, state->items, /*write=*/false); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  table::Store& store = ctx.env.store;
  const auto read = [state, &store](kv::Tier tier) -> Result<bool> {
    TRY(store.GetTogether(state->items, tier, &state->images));
    return true;
  };
  ReadThenFinish(ctx, read, [state, done = std::move(done)](Result<bool> finished) mutable {
    if (finished.ok()) {
      done(Finish(*state));
    } else {
      done(std::move(finished).error());
    }
  });
}

}  // namespace stator::ops
