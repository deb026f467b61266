// A new table, which does not outlive its account.
#pragma once

#include "base/result.h"
#include "base/unique_function.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::ops {

// Creates the table, within the quota of its account. kAccessDenied, and the table is gone again,
// if the account was deleted meanwhile. Calls `done` on any thread.
//
// Who makes a table looks for the account when the table is there; who deletes an account looks for
// tables when the account is gone. So one of both sees what the other has done, on whichever
// servers they are.
void CreateInAccount(Environment& env, table::TableDescriptor descriptor,
                     UniqueFunction<void(Result<table::TablePtr>)> done);

}  // namespace stator::ops
