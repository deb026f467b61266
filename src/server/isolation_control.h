// Management calls on isolated accounts (ops/isolated_accounts.h): GET /_stator/accounts, which
// lists them, and DELETE /_stator/accounts/KEY, which drops one.
#pragma once

#include <string>
#include <string_view>

#include "base/result.h"
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

}  // namespace stator::server
