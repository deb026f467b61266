#include "ops/export_filter.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "ops/checks.h"
#include "plan/query_plan.h"

namespace stator::ops {
namespace {

// Returns an item of the pairs, whose second members are encoded values.
std::string ItemOf(std::vector<std::pair<std::string, std::string>> pairs) {
  std::sort(pairs.begin(), pairs.end());
  std::string entries;
  for (const auto& [name, value] : pairs) {
    model::AppendName(&entries, name);
    entries += value;
  }
  std::string item;
  model::AppendItem(&item, pairs.size(), entries);
  return item;
}

}  // namespace

Result<ExportExpressions> ParseExportFilter(ExportFilter filter, const ValueErrors& value_errors) {
  TRY(CheckExpressionParameters(
      {{"ProjectionExpression", filter.projection_expression.has_value(), false},
       {"FilterExpression", filter.filter_expression.has_value()},
       {"KeyConditionExpression", filter.key_condition_expression.has_value()}},
      {}, filter.expression_attribute_names.has_value(),
      filter.expression_attribute_values.has_value()));
  expr::Substitutions substitutions;
  TRY(SetSubstitutions(&filter.expression_attribute_names, &filter.expression_attribute_values,
                       value_errors, &substitutions));
  ExportExpressions out;
  ASSIGN_OR_RETURN(out.projection,
                   ProjectionOf(filter.projection_expression, std::nullopt, &substitutions));
  if (filter.filter_expression) {
    ASSIGN_OR_RETURN(out.filter, expr::ParseCondition(*filter.filter_expression,
                                                      expr::Role::kFilter, &substitutions));
  }
  if (filter.key_condition_expression) {
    ASSIGN_OR_RETURN(out.key_condition,
                     expr::ParseCondition(*filter.key_condition_expression,
                                          expr::Role::kKeyCondition, &substitutions));
  }
  TRY(substitutions.CheckAllUsed());
  return out;
}

Status CheckExportKeys(const ExportExpressions& expressions, const model::KeySchema& schema) {
  if (!expressions.key_condition.present()) return OkStatus();
  ASSIGN_OR_RETURN(const std::vector<expr::KeyConditionPart> parts,
                   expr::ExtractKeyConditions(expressions.key_condition));
  TRY(plan::PlanQuery(schema, parts));
  const model::IndexKeySchema key = model::IndexKeySchema::Of(schema);
  for (const std::string& attribute : expr::TopLevelAttributes(expressions.filter)) {
    if (!key.Has(attribute)) continue;
    return ValidationError(
        "Filter Expression can only contain non-primary key attributes: Primary key attribute: " +
        attribute);
  }
  return OkStatus();
}

exchange::ItemFilter StoredFilterOf(const ExportFilter& filter) {
  exchange::ItemFilter stored;
  stored.filter_expression = filter.filter_expression;
  stored.projection_expression = filter.projection_expression;
  stored.key_condition_expression = filter.key_condition_expression;
  if (filter.expression_attribute_names) {
    std::vector<std::pair<std::string, std::string>> texts;
    for (const auto& [reference, name] : *filter.expression_attribute_names)
      model::AppendString(&texts.emplace_back(reference, "").second, name);
    stored.names = ItemOf(std::move(texts));
  }
  if (filter.expression_attribute_values)
    stored.values = ItemOf(*filter.expression_attribute_values);
  return stored;
}

Result<exchange::CompiledFilter> CompileExportFilter(const exchange::ItemFilter& filter) {
  ExportFilter request;
  request.filter_expression = filter.filter_expression;
  request.projection_expression = filter.projection_expression;
  request.key_condition_expression = filter.key_condition_expression;
  for (const std::string* item : {&filter.names, &filter.values}) {
    if (!item->empty()) TRY(model::CheckItem(*item));
  }
  if (!filter.names.empty()) {
    auto& names = request.expression_attribute_names.emplace();
    for (const auto& entry : model::ItemView(filter.names).attributes())
      names.emplace_back(entry.name, entry.value.text());
  }
  if (!filter.values.empty()) {
    auto& values = request.expression_attribute_values.emplace();
    for (const auto& entry : model::ItemView(filter.values).attributes())
      values.emplace_back(entry.name, entry.value.encoded());
  }
  ASSIGN_OR_RETURN(ExportExpressions parsed, ParseExportFilter(std::move(request), {}));
  exchange::CompiledFilter compiled;
  if (parsed.projection.present()) {
    compiled.project = [projection = std::move(parsed.projection)](model::ItemView item) {
      return expr::Project(projection, item);
    };
  }
  compiled.takes = [filter = std::move(parsed.filter), key = std::move(parsed.key_condition)](
                       model::ItemView item, uint64_t* steps) {
    return expr::Evaluate(key, item, steps) && expr::Evaluate(filter, item, steps);
  };
  return compiled;
}

}  // namespace stator::ops
