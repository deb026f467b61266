#include "ops/admit.h"
#include "ops/checks.h"
#include "ops/operations.h"
#include "ops/page.h"
#include "ops/read_checks.h"
#include "ops/read_target.h"
#include "table/key_encoding.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

struct Plan {
  PageRequest page;
  std::string table_name;
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
  bool consistent = false;
  ReadTarget target;
  uint64_t first_hash = 0;  // hashes that the page may read, both ends included
  uint64_t final_hash = UINT64_MAX;
};

Status CheckSegments(const ScanRequest& request) {
  if (request.segment && !request.total_segments) {
    return ValidationError(
        "The TotalSegments parameter is required but was not present in the request when Segment "
        "parameter is present");
  }
  if (request.total_segments && !request.segment) {
    return ValidationError(
        "The Segment parameter is required but was not present in the request when parameter "
        "TotalSegments is present");
  }
  if (request.segment && *request.segment >= *request.total_segments) {
    return ValidationError(
        "The Segment parameter is zero-based and must be less than parameter TotalSegments: "
        "Segment: " +
        std::to_string(*request.segment) +
        " is not less than TotalSegments: " + std::to_string(*request.total_segments));
  }
  return OkStatus();
}

// The first hash of a segment; of segment `total` the end of the hash space, which is 2^64.
unsigned __int128 SegmentStart(int64_t segment, int64_t total) {
  return (static_cast<unsigned __int128>(1) << 64) * static_cast<uint64_t>(segment) /
         static_cast<uint64_t>(total);
}

Status CheckRequest(ScanRequest* request, PageRequest* page) {
  TRY(CheckExpressionParameters(
      {{"ProjectionExpression", request->projection_expression.has_value(), false},
       {"FilterExpression", request->filter_expression.has_value()}},
      {{"AttributesToGet", request->attributes_to_get.has_value()},
       {"ScanFilter", request->scan_filter.has_value()},
       {"ConditionalOperator", request->conditional_operator.has_value()}},
      request->expression_attribute_names.has_value(),
      request->expression_attribute_values.has_value()));
  TRY(CheckSegments(*request));
  TRY(CheckValues(request->value_errors, ValuePlace::kExclusiveStartKey));
  TRY(CheckValues(request->value_errors, ValuePlace::kFilter));
  TRY(CheckConditionalOperator(request->conditional_operator, request->scan_filter));
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&request->expression_attribute_names, &request->expression_attribute_values,
                       request->value_errors, &substitutions));
  ASSIGN_OR_RETURN(page->projection, ProjectionOf(request->projection_expression,
                                                  request->attributes_to_get, &substitutions));
  if (request->filter_expression) {
    ASSIGN_OR_RETURN(page->filter, expr::ParseCondition(*request->filter_expression,
                                                        expr::Role::kFilter, &substitutions));
  } else if (request->scan_filter && !request->scan_filter->empty()) {
    ASSIGN_OR_RETURN(page->filter,
                     CompileLegacyConditions(*request->scan_filter, request->conditional_operator,
                                             expr::Role::kFilter));
  }
  TRY(substitutions.CheckAllUsed());
  return CheckSelect(request->select, request->projection_expression.has_value(),
                     request->attributes_to_get.has_value(), request->index_name.has_value());
}

Result<Plan> Prepare(Context& ctx, ScanRequest request) {
  Plan plan;
  TRY(CheckRequest(&request, &plan.page));
  plan.consistent = request.consistent_read.value_or(false);
  ASSIGN_OR_RETURN(table::TablePtr table, FindActiveTable(ctx, request.table_name));
  ASSIGN_OR_RETURN(plan.target,
                   FindReadTarget(std::move(table), request.index_name, plan.consistent));
  ASSIGN_OR_RETURN(plan.page.fetch,
                   NeedsFetch(plan.target, request.select, plan.page.projection, plan.page.filter));
  plan.page.target = plan.target;
  plan.page.end = table::EndOfKind(plan.target.kind());
  if (request.segment) {
    const unsigned __int128 end = SegmentStart(*request.segment + 1, *request.total_segments);
    plan.first_hash =
        static_cast<uint64_t>(SegmentStart(*request.segment, *request.total_segments));
    plan.final_hash = static_cast<uint64_t>(end - 1);
    if (end >> 64 == 0)
      plan.page.end = table::FirstKeyOfHash(static_cast<uint64_t>(end), plan.target.kind());
  }
  plan.page.begin = table::FirstKeyOfHash(plan.first_hash, plan.target.kind());
  if (request.exclusive_start_key) {
    TRY(CheckStartKey(plan.target, request.exclusive_start_key->view()));
    const std::string start = plan.target.PositionOf(request.exclusive_start_key->view());
    if (start < plan.page.begin || start >= plan.page.end) {
      return ValidationError(
          "The provided starting key is invalid: Invalid ExclusiveStartKey. Please use "
          "ExclusiveStartKey with correct "
          "Segment. TotalSegments: " +
          std::to_string(*request.total_segments) +
          " Segment: " + std::to_string(*request.segment));
    }
    plan.first_hash = table::HashOfKey(start);
    plan.page.begin = start + std::string(1, '\0');
  }
  plan.page.limit = request.limit;
  plan.page.consistent = plan.consistent;
  plan.page.count_only = request.select == Select::kCount;
  plan.table_name = std::move(request.table_name);
  plan.return_consumed_capacity = request.return_consumed_capacity;
  return plan;
}

}  // namespace

void Scan(Context& ctx, ScanRequest request, Callback<ScanResponse> done) {
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
             const std::vector<PartitionHalves> partitions =
                 ScanHalves(plan.target, *page, plan.first_hash, plan.final_hash, plan.consistent);
             const int64_t fetched_halves = page->fetched_steps * (plan.consistent ? 2 : 1);
             ChargePage(ctx, plan.target, *page, SumOf(partitions) + fetched_halves,
                        plan.consistent, partitions);
             ScanResponse response;
             response.consumed_capacity =
                 ReadCapacity(plan.return_consumed_capacity, plan.table_name, plan.target,
                              SumOf(partitions), fetched_halves);
             if (!count_only) response.items = std::move(page->items);
             response.count = page->count;
             response.scanned_count = page->scanned_count;
             response.stored_bytes = page->bytes + page->fetched_bytes;
             response.last_evaluated_key = std::move(page->last_evaluated_key);
             done(std::move(response));
           });
}

}  // namespace stator::ops
