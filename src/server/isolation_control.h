// Management calls on isolated accounts (ops/isolated_accounts.h): GET /_stator/accounts, which
// lists them, and DELETE /_stator/accounts/KEY, which drops one; and on snapshots of accounts
// (ops/account_snapshots.h): POST .../KEY/snapshot and .../KEY/restore, GET and DELETE
// .../KEY/snapshots, and the same of the default account without accounts/KEY/. All of these have
// "name=NAME" in the query; without it the name is "default".
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
#include "ops/account_snapshots.h"
#include "ops/context.h"
#include "ops/isolated_accounts.h"

namespace stator::server {

// Returns a page of accounts, by number: "after=ACCOUNT&limit=N" in the query. kValidation.
Result<std::string> ListIsolatedAccounts(const ops::Environment& environment,
                                         const ops::IsolatedAccounts& accounts,
                                         std::string_view query);

// Drops the account of an access key, which may be percent-encoded, or of an account's number.
// Errors as IsolatedAccounts::Drop; kValidation for the default account. Blocks.
Result<std::string> DropIsolatedAccount(const ops::Environment& environment,
                                        ops::IsolatedAccounts& accounts, std::string_view key);

// The following name an account as DropIsolatedAccount does; empty: the default one. Errors as
// AccountSnapshots' calls.

// Takes a snapshot. Blocks.
Result<std::string> TakeSnapshot(ops::AccountSnapshots& snapshots, std::string_view key,
                                 std::string_view query);
// Returns to a snapshot. Blocks.
Result<std::string> RestoreSnapshot(const ops::Environment& environment,
                                    ops::AccountSnapshots& snapshots, std::string_view key,
                                    std::string_view query);
Result<std::string> ListSnapshots(const ops::AccountSnapshots& snapshots, std::string_view key);
Result<std::string> ForgetSnapshot(ops::AccountSnapshots& snapshots, std::string_view key,
                                   std::string_view query);

}  // namespace stator::server
