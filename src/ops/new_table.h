// A new table, and that no table outlives its account.
#pragma once

#include <string_view>

#include "base/result.h"
#include "base/unique_function.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::ops {

// Creates the table, within the quota of its account. kAccessDenied, and the table is gone again,
// if the account was deleted meanwhile. Calls `done` on any thread.
//
// The creation of a table looks for the account after the table exists; the deletion of an account
// looks for tables after the account is deleted. So at least one of them sees the other, even on
// different servers.
void CreateInAccount(Environment& env, table::TableDescriptor descriptor,
                     UniqueFunction<void(Result<table::TablePtr>)> done);

// Drops a table and waits; not on a thread that the store needs. OK if it is gone already.
Status DropAndWait(table::Store& store, const table::Table& table);

// Drops the tables of other accounts than the default one that `gone` says: a server that is killed
// between making a table and looking for its account leaves one. Waits, likewise.
void DropTablesOfAccounts(table::Store& store, FunctionRef<bool(std::string_view account)> gone);

}  // namespace stator::ops
