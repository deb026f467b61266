// Runs operations as an access key with an account of its own. For tests.
#pragma once

#include <optional>
#include <string_view>
#include <utility>

#include "ops/isolated_accounts.h"
#include "ops/test_world.h"

namespace stator::ops {

// Runs an operation of an access key and waits for its answer; an empty key: of the default
// account.
template <typename Response, typename Request>
Result<Response> RunAs(TestWorld& world, IsolatedAccounts& accounts, std::string_view key,
                       void (*operation)(Context&, Request, Callback<Response>), Request request) {
  Result<IsolatedAccounts::Use> use = accounts.Enter(key);
  if (!use.ok()) return use.error();
  std::optional<Result<Response>> answer;
  Context context{world.env, world.loop};
  context.account = use->account();
  operation(context, std::move(request),
            [&answer](Result<Response> response) { answer.emplace(std::move(response)); });
  while (!answer) world.loop.RunOne();
  return std::move(*answer);
}

}  // namespace stator::ops
