// The definition of a table that is restored, from whatever source.
#pragma once

#include <string>

#include "base/result.h"
#include "base/unique_function.h"
#include "ops/backups.h"
#include "ops/context.h"
#include "table/descriptor.h"
#include "table/store.h"

namespace stator::ops {

// Returns the definition of a table with this name that is made after `source`, without its mark
// (TableDescriptor::restore). kValidation for overrides that do not fit.
Result<table::TableDescriptor> DefineRestored(const Environment& env, const std::string& name,
                                              const RestoreOverrides& overrides,
                                              const table::TableDescriptor& source);
// Returns the error for a target whose name is taken.
Error RestoreTargetTaken(const Environment& env, const std::string& name);
// Puts the table into the catalog. Calls `answer` on any thread.
void CreateRestored(Environment& env, Executor& loop, table::TableDescriptor descriptor,
                    UniqueFunction<void(Result<table::TablePtr>)> answer);
// Returns the description of a table that CreateRestored has made, or its error for clients.
Result<TableDescription> RestoredDescription(const Environment& env, const std::string& name,
                                             const Result<table::TablePtr>& table);

}  // namespace stator::ops
