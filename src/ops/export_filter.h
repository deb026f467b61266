// FilterSpecification of ExportTableToPointInTime: the expressions of Query and Scan over the items
// of an export.
#pragma once

#include <string>

#include "base/result.h"
#include "exchange/codec.h"
#include "exchange/job.h"
#include "expr/expr.h"
#include "model/key_schema.h"
#include "ops/exports.h"

namespace stator::ops {

struct ExportExpressions {
  expr::Condition filter;
  expr::Condition key_condition;
  expr::Projection projection;
};

// Returns the expressions. kValidation, in the words of Query and Scan, for all that a table is not
// needed to refuse; `value_errors` are those of the request.
Result<ExportExpressions> ParseExportFilter(ExportFilter filter, const ValueErrors& value_errors);

// Refuses, with the same kind of error, a key condition that does not fit this key, and a filter on
// key attributes beside a key condition.
Status CheckExportKeys(const ExportExpressions& expressions, const model::KeySchema& schema);

// Returns the filter in the form in which a job stores it.
exchange::ItemFilter StoredFilterOf(const ExportFilter& filter);
// Returns the filter of a job, ready to use. Errors as of ParseExportFilter.
Result<exchange::CompiledFilter> CompileExportFilter(const exchange::ItemFilter& filter);

}  // namespace stator::ops
