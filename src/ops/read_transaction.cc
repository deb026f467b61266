#include "ops/admit.h"
#include "ops/answer_bytes.h"
#include "ops/faults.h"
#include "ops/item_read.h"
#include "ops/transaction.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

struct State {
  ReadTransaction transaction;
  std::vector<table::WriteTarget> items;
  std::vector<std::optional<std::string>> images;
  size_t bytes = 0;  // of all items; beyond kMaxTransactionBytes there are no images
};

Result<TransactGetItemsResponse> Finish(Context& ctx, State& state) {
  TRY(CheckTransactionBytes(state.bytes));
  TransactGetItemsResponse response;
  TransactionCapacity capacity;
  Draws draws(ctx);
  AnswerBytes answer(ctx.memory);
  for (size_t i = 0; i < state.items.size(); ++i) {
    const ReadTransaction::Read& read = state.transaction.reads[i];
    std::optional<std::string>& image = state.images[i];
    const size_t size = image ? model::ItemView(*image).size_bytes() : 0;
    if (image && !answer.AddItem(*image)) return MemoryRefusal();
    const int64_t units = 2 * throughput::ReadSteps(static_cast<int64_t>(size));
    capacity.Add(read.table_name, read.table, units);
    draws.AddRead(*read.table, read.key, 2 * units, /*consistent=*/true, i);
    if (image && read.projection.present()) {
      std::string projected = expr::Project(read.projection, model::ItemView(*image));
      // Where nothing is left GetItem and PartiQL answer an item without attributes,
      // TransactGetItems none.
      if (!state.transaction.answers_empty_items &&
          model::ItemView(projected).attributes().size() == 0) {
        image.reset();
      } else {
        image = std::move(projected);
      }
    }
    response.responses.push_back(std::move(image));
  }
  if (const auto refusal = draws.Admit())
    return TransactionErrorOf(ctx, *refusal, state.items.size());
  response.consumed_capacity =
      capacity.Take(state.transaction.return_consumed_capacity, /*writes=*/false);
  return response;
}

}  // namespace

void RunReadTransaction(Context& ctx, ReadTransaction transaction,
                        Callback<TransactGetItemsResponse> done) {
  auto state = std::make_shared<State>();
  state->items.reserve(transaction.reads.size());
  for (const ReadTransaction::Read& read : transaction.reads)
    state->items.push_back({read.table, read.key});
  state->transaction = std::move(transaction);
  if (Status struck = StrikeTransaction(ctx, state->items, /*write=*/false); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  // A hundred items of 400 KB are refused for their sum, and must not be held all the same.
  const auto read = [state, &ctx](kv::Tier tier) -> Result<bool> {
    AnswerBytes held(ctx.memory);
    const auto keep = [&held](size_t bytes) {
      return held.Add(static_cast<int64_t>(bytes)) ? OkStatus() : Status(MemoryRefusal());
    };
    Result<size_t> bytes =
        ctx.env.store.GetTogether(state->items, tier, kMaxTransactionBytes, keep, &state->images);
    if (!bytes.ok()) {
      held.GiveBack();
      return std::move(bytes).error();
    }
    state->bytes = *bytes;
    return true;
  };
  ReadThenFinish(ctx, read, [&ctx, state, done = std::move(done)](Result<bool> finished) mutable {
    if (finished.ok()) {
      done(Finish(ctx, *state));
    } else {
      done(AsTransactionError(state->items.size(), std::move(finished).error()));
    }
  });
}

}  // namespace stator::ops
