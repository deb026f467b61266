#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/page.h"
#include "ops/read_checks.h"
#include "plan/query_plan.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using model::ValueView;

// What is left of the request once it is planned.
struct Plan {
  PageRequest page;
  std::string table_name;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  bool consistent = false;
};

struct Expressions {
  std::vector<expr::KeyConditionPart> key_conditions;
  expr::Condition filter;
  expr::Projection projection;
};

Result<Expressions> CheckRequest(QueryRequest* request) {
  TRY(CheckExpressionParameters({{"ProjectionExpression", request->projection_expression.has_value(), false},
                                 {"FilterExpression", request->filter_expression.has_value()},
                                 {"KeyConditionExpression", request->key_condition_expression.has_value()}},
                                {{"AttributesToGet", request->attributes_to_get.has_value()},
                                 {"QueryFilter", request->query_filter.has_value()},
                                 {"ConditionalOperator", request->conditional_operator.has_value()},
                                 {"KeyConditions", request->key_conditions.has_value()}},
                                request->expression_attribute_names.has_value(),
                                request->expression_attribute_values.has_value()));
  TRY(CheckValues(request->value_errors, ValuePlace::kExclusiveStartKey));
  TRY(CheckValues(request->value_errors, ValuePlace::kFilter));
  TRY(CheckValues(request->value_errors, ValuePlace::kKeyConditions));
  TRY(CheckConditionalOperator(request->conditional_operator, request->query_filter));
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&request->expression_attribute_names, &request->expression_attribute_values, request->value_errors,
                       &substitutions));
  Expressions out;
  ASSIGN_OR_RETURN(out.projection,
                   ProjectionOf(request->projection_expression, request->attributes_to_get, &substitutions));
  if (request->filter_expression) {
    ASSIGN_OR_RETURN(out.filter,
                     expr::ParseCondition(*request->filter_expression, expr::Role::kFilter, &substitutions));
  } else if (request->query_filter && !request->query_filter->empty()) {
    ASSIGN_OR_RETURN(out.filter, CompileLegacyConditions(*request->query_filter, request->conditional_operator,
                                                         expr::Role::kFilter));
  }
  expr::Condition key_condition;
  if (request->key_condition_expression) {
    ASSIGN_OR_RETURN(key_condition, expr::ParseCondition(*request->key_condition_expression, expr::Role::kKeyCondition,
                                                         &substitutions));
  } else if (request->key_conditions && !request->key_conditions->empty()) {
    ASSIGN_OR_RETURN(key_condition,
                     CompileLegacyConditions(*request->key_conditions, std::nullopt, expr::Role::kKeyCondition));
  } else {
    return ValidationError("Either the KeyConditions or KeyConditionExpression parameter must be specified in the request.");
  }
  TRY(substitutions.CheckAllUsed());
  ASSIGN_OR_RETURN(out.key_conditions, expr::ExtractKeyConditions(key_condition));
  TRY(CheckSelect(request->select, request->projection_expression.has_value(), request->attributes_to_get.has_value(),
                  request->index_name.has_value()));
  return out;
}

// The byte range of an interval: [begin, end).
void SetKeyRange(const plan::KeyInterval& interval, PageRequest* page) {
  const std::string prefix = table::EncodePartitionPrefix(ValueView(interval.partition));
  const auto with_sort = [&](const std::string& value) {
    std::string key = prefix;
    table::AppendSortKey(&key, ValueView(value));
    return key;
  };
  page->begin = prefix;
  page->end = table::PrefixEnd(prefix);
  if (interval.prefix) {
    page->begin = with_sort(*interval.prefix);
    // A prefix of 0xff bytes has no successor inside the partition: then the partition's own end bounds it.
    std::string end = table::PrefixEnd(page->begin);
    if (!end.empty() && end < page->end) page->end = std::move(end);
    return;
  }
  // The key right behind K is K 0x00.
  if (interval.lower) {
    page->begin = with_sort(interval.lower->value);
    if (!interval.lower->inclusive) page->begin.push_back('\0');
  }
  if (interval.upper) {
    page->end = with_sort(interval.upper->value);
    if (interval.upper->inclusive) page->end.push_back('\0');
  }
}

Status SetStart(const model::KeySchema& schema, const plan::KeyInterval& interval, model::ItemView start,
                PageRequest* page) {
  TRY(CheckStartKey(schema, start));
  if (!model::ValuesEqual(start.Find(schema.partition.name), ValueView(interval.partition))) {
    return ValidationError("The provided starting key is outside query boundaries based on provided conditions");
  }
  if (schema.sort && !interval.ContainsSort(start.Find(schema.sort->name))) {
    return ValidationError("The provided starting key does not match the range key predicate");
  }
  const std::string key = table::EncodeItemKey(schema, start);
  if (page->reverse) {
    page->end = key;
  } else {
    page->begin = key + std::string(1, '\0');
  }
  return OkStatus();
}

Status CheckFilterAttributes(const QueryRequest& request, const Expressions& expressions, const model::KeySchema& schema) {
  for (const std::string& attribute : expr::TopLevelAttributes(expressions.filter)) {
    if (!schema.Has(attribute)) continue;
    return ValidationError(std::string(request.filter_expression ? "Filter Expression" : "QueryFilter") +
                           " can only contain non-primary key attributes: Primary key attribute: " + attribute);
  }
  return OkStatus();
}

Result<Plan> Prepare(Context& ctx, QueryRequest request) {
  ASSIGN_OR_RETURN(Expressions expressions, CheckRequest(&request));
  Plan plan;
  ASSIGN_OR_RETURN(plan.page.table, FindActiveTable(ctx.env, request.table_name));
  if (request.index_name) {
    return ValidationError("The table does not have the specified index: " + *request.index_name);
  }
  const model::KeySchema& schema = plan.page.table->key_schema();
  ASSIGN_OR_RETURN(const plan::KeyInterval interval, plan::PlanQuery(schema, expressions.key_conditions));
  TRY(CheckFilterAttributes(request, expressions, schema));
  plan.page.reverse = !request.scan_index_forward.value_or(true);
  SetKeyRange(interval, &plan.page);
  if (request.exclusive_start_key) TRY(SetStart(schema, interval, request.exclusive_start_key->view(), &plan.page));
  plan.page.limit = request.limit;
  plan.page.filter = std::move(expressions.filter);
  plan.page.projection = std::move(expressions.projection);
  plan.page.count_only = request.select == Select::kCount;
  plan.table_name = std::move(request.table_name);
  plan.return_consumed_capacity = request.return_consumed_capacity;
  plan.consistent = request.consistent_read.value_or(false);
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
  ReadPage(ctx, std::move(page_request),
           [plan = std::move(*plan), count_only, done = std::move(done)](Result<Page> page) mutable {
             if (!page.ok()) {
               done(std::move(page).error());
               return;
             }
             QueryResponse response;
             if (!count_only) response.items = std::move(page->items);
             response.count = page->count;
             response.scanned_count = page->scanned_count;
             response.last_evaluated_key = std::move(page->last_evaluated_key);
             response.consumed_capacity =
                 TableCapacity(plan.return_consumed_capacity, plan.table_name,
                               throughput::HalvesToUnits(throughput::ReadHalves(page->bytes, plan.consistent)));
             done(std::move(response));
           });
}

}  // namespace stator::ops
