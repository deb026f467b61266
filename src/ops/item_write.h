// The common course of PutItem, UpdateItem and DeleteItem on one item.
#pragma once

#include <memory>
#include <utility>

#include "ops/checks.h"
#include "ops/context.h"
#include "table/store.h"

namespace stator::ops {

// Runs `decide(state, old item)` -> Result<table::Change> under the item's latch and applies the change; then hands
// `finish(state)` -> Response, or the error, to `done` on the loop's thread. `decide` may run more than once.
template <typename State, typename Decide, typename Finish, typename Response>
void WriteOneItem(Context& ctx, std::shared_ptr<State> state, table::TablePtr table, std::string key, Decide decide,
                  Finish finish, Callback<Response> done) {
  Executor& loop = ctx.loop;
  std::vector<table::WriteTarget> targets;
  targets.push_back({std::move(table), std::move(key)});
  ctx.env.store.Write(
      std::move(targets),
      [state, decide](const std::vector<model::ItemView>& old_items) -> Result<std::vector<table::Change>> {
        ASSIGN_OR_RETURN(table::Change change, decide(*state, old_items[0]));
        std::vector<table::Change> changes;
        changes.push_back(std::move(change));
        return changes;
      },
      [state, finish, &loop, done = std::move(done)](Status status) mutable {
        RunOn(loop, [state = std::move(state), finish, status = std::move(status), done = std::move(done)]() mutable {
          if (!status.ok()) {
            done(std::move(status).error());
          } else {
            done(finish(*state));
          }
        });
      });
}

}  // namespace stator::ops
