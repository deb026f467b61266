#include "ops/admit.h"
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/page.h"
#include "ops/read_checks.h"
#include "ops/read_target.h"
#include "plan/query_plan.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

using model::ValueView;

// What is left of the request once it is planned.
struct Plan {
  PageRequest page;
  ReadTarget target;
  std::string table_name;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  bool consistent = false;
  std::vector<std::string> partition;  // encoded values
};

struct Expressions {
  std::vector<expr::KeyConditionPart> key_conditions;
  expr::Condition filter;
  expr::Projection projection;
};

Result<Expressions> CheckRequest(QueryRequest* request) {
  TRY(CheckExpressionParameters(
      {{"ProjectionExpression", request->projection_expression.has_value(), false},
       {"FilterExpression", request->filter_expression.has_value()},
       {"KeyConditionExpression", request->key_condition_expression.has_value()}},
      {{"AttributesToGet", request->attributes_to_get.has_value()},
       {"QueryFilter", request->query_filter.has_value()},
       {"ConditionalOperator", request->conditional_operator.has_value()},
       // Older than KeyConditionExpression, and so at home beside the
       // other expressions.
       {"KeyConditions", request->key_conditions && request->key_condition_expression}},
      request->expression_attribute_names.has_value(),
      request->expression_attribute_values.has_value()));
  TRY(CheckValues(request->value_errors, ValuePlace::kExclusiveStartKey));
  TRY(CheckValues(request->value_errors, ValuePlace::kFilter));
  TRY(CheckValues(request->value_errors, ValuePlace::kKeyConditions));
  TRY(CheckConditionalOperator(request->conditional_operator, request->query_filter));
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&request->expression_attribute_names, &request->expression_attribute_values,
                       request->value_errors, &substitutions));
  Expressions out;
  ASSIGN_OR_RETURN(out.projection, ProjectionOf(request->projection_expression,
                                                request->attributes_to_get, &substitutions));
  if (request->filter_expression) {
    ASSIGN_OR_RETURN(out.filter, expr::ParseCondition(*request->filter_expression,
                                                      expr::Role::kFilter, &substitutions));
  } else if (request->query_filter && !request->query_filter->empty()) {
    ASSIGN_OR_RETURN(out.filter,
                     CompileLegacyConditions(*request->query_filter, request->conditional_operator,
                                             expr::Role::kFilter));
  }
  expr::Condition key_condition;
  if (request->key_condition_expression) {
    ASSIGN_OR_RETURN(key_condition,
                     expr::ParseCondition(*request->key_condition_expression,
                                          expr::Role::kKeyCondition, &substitutions));
  } else if (request->key_conditions && !request->key_conditions->empty()) {
    ASSIGN_OR_RETURN(key_condition, CompileLegacyConditions(*request->key_conditions, std::nullopt,
                                                            expr::Role::kKeyCondition));
  } else {
    return ValidationError(
        "Either the KeyConditions or KeyConditionExpression parameter must be specified in the "
        "request.");
  }
  TRY(substitutions.CheckAllUsed());
  // Keys of several attributes are an index's privilege.
  ASSIGN_OR_RETURN(out.key_conditions,
                   expr::ExtractKeyConditions(
                       key_condition, request->index_name ? 2 * model::kMaxIndexKeyAttributes : 2));
  TRY(CheckSelect(request->select, request->projection_expression.has_value(),
                  request->attributes_to_get.has_value(), request->index_name.has_value()));
  return out;
}

Status SetStart(const ReadTarget& target, const plan::KeyInterval& interval, model::ItemView start,
                PageRequest* page) {
  TRY(CheckStartKey(target, start));
  const model::IndexKeySchema& schema = target.key();
  for (size_t i = 0; i < schema.partition.size(); ++i) {
    if (!model::ValuesEqual(start.Find(schema.partition[i].name),
                            ValueView(interval.partition[i]))) {
      return ValidationError(
          "The provided starting key is outside query boundaries based on provided conditions");
    }
  }
  if (!interval.ContainsSortKey(schema, start)) {
    return ValidationError("The provided starting key does not match the range key predicate");
  }
  const std::string key = target.PositionOf(start);
  if (page->reverse) {
    page->end = key;
  } else {
    page->begin = key + std::string(1, '\0');
  }
  return OkStatus();
}

Status CheckFilterAttributes(const QueryRequest& request, const Expressions& expressions,
                             const model::IndexKeySchema& schema) {
  for (const std::string& attribute : expr::TopLevelAttributes(expressions.filter)) {
    if (!schema.Has(attribute)) continue;
    return ValidationError(
        std::string(request.filter_expression ? "Filter Expression" : "QueryFilter") +
        " can only contain non-primary key attributes: Primary key attribute: " + attribute);
  }
  return OkStatus();
}

Result<Plan> Prepare(Context& ctx, QueryRequest request) {
  ASSIGN_OR_RETURN(Expressions expressions, CheckRequest(&request));
  Plan plan;
  plan.consistent = request.consistent_read.value_or(false);
  ASSIGN_OR_RETURN(table::TablePtr table, FindActiveTable(ctx, request.table_name));
  ASSIGN_OR_RETURN(plan.target,
                   FindReadTarget(std::move(table), request.index_name, plan.consistent));
  const model::IndexKeySchema& schema = plan.target.key();
  if (expressions.key_conditions.size() > 2 && !schema.HasSeveral()) {
    return ValidationError("Conditions can be of length 1 or 2 only");
  }
  const std::string index = request.index_name.value_or("");
  ASSIGN_OR_RETURN(plan::KeyInterval interval,
                   plan::PlanQuery(schema, expressions.key_conditions, index));
  TRY(CheckFilterAttributes(request, expressions, schema));
  TRY(CheckFilterProjected(plan.target, expressions.filter));
  ASSIGN_OR_RETURN(plan.page.fetch, NeedsFetch(plan.target, request.select, expressions.projection,
                                               expressions.filter));
  plan.page.target = plan.target;
  plan.page.reverse = !request.scan_index_forward.value_or(true);
  KeyRange range = RangeOf(plan.target, interval);
  plan.page.begin = std::move(range.begin);
  plan.page.end = std::move(range.end);
  if (request.exclusive_start_key) {
    TRY(SetStart(plan.target, interval, request.exclusive_start_key->view(), &plan.page));
  }
  plan.partition = std::move(interval.partition);
  plan.page.limit = request.limit;
  plan.page.consistent = plan.consistent;
  plan.page.filter = std::move(expressions.filter);
  plan.page.projection = std::move(expressions.projection);
  plan.page.count_only = request.select == Select::kCount;
  plan.table_name = std::move(request.table_name);
  plan.return_consumed_capacity = request.return_consumed_capacity;
  return plan;
}

}  // namespace

void Query(Context& ctx, QueryRequest request, Callback<QueryResponse> done) {
  Result<Plan> plan = Prepare(ctx, std::move(request));
  if (!plan.ok()) {
    done(std::move(plan).error());
    return;
  }
  PageRequest page_request = std::move(plan->page);
  const bool count_only = page_request.count_only;
  page_request.item_writer = ctx.item_writer;
  ReadPage(ctx, std::move(page_request),
           [&ctx, plan = std::move(*plan), count_only,
            done = std::move(done)](Result<Page> page) mutable {
             if (!page.ok()) {
               done(std::move(page).error());
               return;
             }
             const int64_t halves = throughput::ReadHalves(page->bytes, plan.consistent);
             const int64_t fetched_halves = page->fetched_steps * (plan.consistent ? 2 : 1);
             ChargePage(ctx, plan.target, *page, halves + fetched_halves, plan.consistent);
             QueryResponse response;
             if (!count_only) response.items = std::move(page->items);
             response.count = page->count;
             response.scanned_count = page->scanned_count;
             response.stored_bytes = page->bytes + page->fetched_bytes;
             response.partition = std::move(plan.partition);
             response.last_evaluated_key = std::move(page->last_evaluated_key);
             response.consumed_capacity =
                 ReadCapacity(plan.return_consumed_capacity, plan.table_name, plan.target, halves,
                              fetched_halves);
             done(std::move(response));
           });
}

}  // namespace stator::ops
