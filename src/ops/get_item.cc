#include "ops/admit.h"
#include "ops/as_of.h"
#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/faults.h"
#include "ops/item_read.h"
#include "ops/operations.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

struct Plan {
  GetItemRequest request;
  expr::Projection projection;
  table::TablePtr table;
  std::string key;
  std::shared_ptr<const table::Past> past;  // null: the present
};

Result<Plan> Prepare(Context& ctx, GetItemRequest request) {
  TRY(CheckExpressionParameters(
      {{"ProjectionExpression", request.projection_expression.has_value(), false}},
      {{"AttributesToGet", request.attributes_to_get.has_value()}},
      request.expression_attribute_names.has_value(), false));
  TRY(CheckValues(request.value_errors, ValuePlace::kKey));
  Plan plan;
  if (request.projection_expression || request.attributes_to_get) {
    expr::Substitutions substitutions;
    TRY(SetSubstitutions(&request.expression_attribute_names, nullptr, request.value_errors,
                         &substitutions));
    ASSIGN_OR_RETURN(plan.projection, ProjectionOf(request.projection_expression,
                                                   request.attributes_to_get, &substitutions));
    TRY(substitutions.CheckAllUsed());
  }
  ASSIGN_OR_RETURN(plan.table, FindActiveTable(ctx, request.table_name));
  TRY(CheckKey(plan.table->key_schema(), request.key.view()));
  plan.key = table::EncodeItemKey(plan.table->key_schema(), request.key.view());
  plan.request = std::move(request);
  return plan;
}

void Read(Context& ctx, std::shared_ptr<Plan> plan, Callback<GetItemResponse> done) {
  table::Store& store = ctx.env.store;
  const auto read = [plan, &store](kv::Tier tier) -> Result<std::optional<std::string>> {
    std::string item;
    ASSIGN_OR_RETURN(const bool found,
                     store.Get(*plan->table, plan->key, tier, &item, plan->past.get()));
    if (!found) return std::optional<std::string>();
    return std::optional<std::string>(std::move(item));
  };
  const auto later = [&ctx, plan, &store, read](auto take) {
    if (plan->past != nullptr) return ReadOnWorker(ctx, read, std::move(take));
    const bool recent = !plan->request.consistent_read.value_or(false);
    store.GetLater(*plan->table, plan->key, recent, std::move(take));
  };
  ReadThenFinish(
      ctx, read, later,
      [&ctx, plan, done = std::move(done)](Result<std::optional<std::string>> item) mutable {
        if (!item.ok()) {
          done(std::move(item).error());
          return;
        }
        const bool consistent = plan->request.consistent_read.value_or(false);
        const int64_t bytes =
            *item ? static_cast<int64_t>(model::ItemView(**item).size_bytes()) : 0;
        const int64_t halves = throughput::ReadHalves(bytes, consistent);
        if (const auto refusal = AdmitItemRead(ctx, *plan->table, plan->key, halves, consistent)) {
          done(ErrorOf(ctx, *refusal));
          return;
        }
        GetItemResponse response;
        response.stored_bytes = bytes;
        response.consumed_capacity =
            TableCapacity(plan->request.return_consumed_capacity, plan->request.table_name,
                          throughput::HalvesToUnits(halves));
        if (*item && plan->projection.present()) {
          response.item = expr::Project(plan->projection, model::ItemView(**item));
        } else {
          response.item = std::move(*item);
        }
        done(std::move(response));
      });
}

}  // namespace

void GetItem(Context& ctx, GetItemRequest request, Callback<GetItemResponse> done) {
  Result<Plan> prepared = Prepare(ctx, std::move(request));
  if (!prepared.ok()) {
    done(std::move(prepared).error());
    return;
  }
  auto plan = std::make_shared<Plan>(std::move(*prepared));
  if (Status struck = StrikeRequest(ctx, {plan->table.get()}); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  if (ctx.as_of_millis) [[unlikely]] {
    return OpenPast(ctx, plan->table, nullptr,
                    [&ctx, plan, done = std::move(done)](
                        Result<std::shared_ptr<const table::Past>> past) mutable {
                      if (!past.ok()) return done(std::move(past).error());
                      plan->past = *std::move(past);
                      Read(ctx, std::move(plan), std::move(done));
                    });
  }
  plan->past = MomentOf(ctx, *plan->table, nullptr, plan->request.consistent_read.value_or(false));
  Read(ctx, std::move(plan), std::move(done));
}

}  // namespace stator::ops
