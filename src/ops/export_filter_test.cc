#include "ops/export_filter.h"

#include <gtest/gtest.h>

#include "expr/test_notation.h"

namespace stator::ops {
namespace {

using expr::notation::Item;
using expr::notation::Value;

const ExpressionAttributeNames kNames = {std::pair<std::string, std::string>("#n", "name")};

ExportFilter SomeFilter() {
  ExportFilter filter;
  filter.key_condition_expression = "pk = :p AND sk BETWEEN :a AND :b";
  filter.filter_expression = "#n > :a";
  filter.projection_expression = "sk, #n";
  filter.expression_attribute_names = kNames;
  filter.expression_attribute_values = {
      {":p", Value("'p'")}, {":b", Value("5")}, {":a", Value("2")}};
  return filter;
}

const model::KeySchema kSchema{{"pk", model::Type::kS}, model::KeyAttribute{"sk", model::Type::kN}};

std::string ErrorOf(const ExportFilter& filter) {
  const Result<ExportExpressions> parsed = ParseExportFilter(filter, {});
  if (!parsed.ok()) return parsed.error().message();
  const Status fits = CheckExportKeys(*parsed, kSchema);
  return fits.ok() ? "" : fits.error().message();
}

TEST(ExportFilter, WhatAJobKeepsFiltersAsTheRequestSays) {
  const exchange::ItemFilter stored = StoredFilterOf(SomeFilter());
  const Result<exchange::CompiledFilter> filter = CompileExportFilter(stored);
  ASSERT_TRUE(filter.ok()) << filter.error().message();
  const std::string taken = Item("{pk:'p', sk:3, name:4, other:'x'}");
  uint64_t steps = 0;
  EXPECT_TRUE(filter->takes(model::ItemView(taken), &steps));
  EXPECT_GT(steps, 0u);
  EXPECT_EQ(filter->project(model::ItemView(taken)), Item("{sk:3, name:4}"));
  for (const char* refused : {"{pk:'q', sk:3, name:4}", "{pk:'p', sk:6, name:4}",
                              "{pk:'p', sk:3, name:2}", "{pk:'p', sk:3}"})
    EXPECT_FALSE(filter->takes(model::ItemView(Item(refused)), &steps)) << refused;
}

TEST(ExportFilter, ProjectionAlonePassesEveryItem) {
  ExportFilter filter;
  filter.projection_expression = "a[1].b";
  const auto compiled = CompileExportFilter(StoredFilterOf(filter)).value();
  const std::string item = Item("{pk:'p', a:[1, {b:2, c:3}]}");
  uint64_t steps = 0;
  EXPECT_TRUE(compiled.takes(model::ItemView(item), &steps));
  EXPECT_EQ(compiled.project(model::ItemView(item)), Item("{a:[{b:2}]}"));
}

TEST(ExportFilter, ErrorsAreThoseOfQuery) {
  EXPECT_EQ(ErrorOf(SomeFilter()), "");
  ExportFilter filter = SomeFilter();
  filter.filter_expression = "#n > :a AND sk = :b";
  EXPECT_EQ(ErrorOf(filter),
            "Filter Expression can only contain non-primary key attributes: Primary key "
            "attribute: sk");
  filter = SomeFilter();
  filter.key_condition_expression = "sk BETWEEN :a AND :b AND sk = :p";
  EXPECT_NE(ErrorOf(filter), "");
  filter.key_condition_expression = "#n = :p AND sk BETWEEN :a AND :b";
  EXPECT_EQ(ErrorOf(filter), "Query condition missed key schema element: pk");
  filter = SomeFilter();
  filter.filter_expression = "#n >";
  EXPECT_EQ(ErrorOf(filter).rfind("Invalid FilterExpression: Syntax error; ", 0), 0u);
  filter = SomeFilter();
  filter.projection_expression.reset();
  filter.filter_expression.reset();
  EXPECT_EQ(ErrorOf(filter),
            "Value provided in ExpressionAttributeNames unused in expressions: keys: {#n}");
  filter = ExportFilter();
  filter.expression_attribute_names = kNames;
  EXPECT_EQ(ErrorOf(filter),
            "ExpressionAttributeNames can only be specified when using expressions");
  // Without a key condition a filter may have key attributes.
  filter.filter_expression = "#n = pk";
  EXPECT_EQ(ErrorOf(filter), "");
}

}  // namespace
}  // namespace stator::ops
