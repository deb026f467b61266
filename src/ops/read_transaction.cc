// Reads of several items at one moment: TransactGetItems, and ExecuteTransaction of SELECT
// statements.
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
  std::vector<std::optional<std::string>> images;  // what is answered of each item, once it is read
  std::vector<size_t> sizes;                       // of the whole items; 0: there is none
  size_t bytes = 0;  // of all items; beyond kMaxTransactionBytes there are no images
};

// Leaves of each image what is projected. A walk through 4 MB of small attributes takes several
// milliseconds, so that this is done where the items are read.
void Project(State* state) {
  state->sizes.clear();
  for (size_t i = 0; i < state->images.size(); ++i) {
    const ReadTransaction::Read& read = state->transaction.reads[i];
    std::optional<std::string>& image = state->images[i];
    state->sizes.push_back(image ? model::ItemView(*image).size_bytes() : 0);
    if (!image || !read.projection.present()) continue;
    std::string projected = expr::Project(read.projection, model::ItemView(*image));
    // If the projection leaves no attribute, a SELECT answers an empty item (answers_empty_items),
    // and TransactGetItems no item.
    if (!state->transaction.answers_empty_items &&
        model::ItemView(projected).attributes().size() == 0) {
      image.reset();
    } else {
      image = std::move(projected);
    }
  }
}

Result<TransactGetItemsResponse> Finish(Context& ctx, State& state) {
  TRY(CheckTransactionBytes(state.bytes));
  TransactGetItemsResponse response;
  TransactionCapacity capacity;
  Draws draws(ctx);
  AnswerBytes answer(ctx.memory);
  for (size_t i = 0; i < state.items.size(); ++i) {
    const ReadTransaction::Read& read = state.transaction.reads[i];
    std::optional<std::string>& image = state.images[i];
    if (image && !answer.AddItem(*image)) return MemoryRefusal();
    const int64_t units = 2 * throughput::ReadSteps(static_cast<int64_t>(state.sizes[i]));
    capacity.Add(read.table_name, read.table, units);
    draws.AddRead(*read.table, read.key, 2 * units, /*consistent=*/true, i);
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
    size_t kept = 0;
    const auto keep = [&](size_t bytes) {
      // The loop's thread leaves more to a worker.
      kept += bytes;
      if (tier == kv::Tier::kMemory && kept > kInlineReplyBytes)
        return Status(Error(ErrorCode::kWouldBlock, ""));
      return held.Add(static_cast<int64_t>(bytes)) ? OkStatus() : Status(MemoryRefusal());
    };
    Result<size_t> bytes =
        ctx.env.store.GetTogether(state->items, tier, kMaxTransactionBytes, keep, &state->images);
    if (!bytes.ok()) {
      held.GiveBack();
      return std::move(bytes).error();
    }
    state->bytes = *bytes;
    Project(state.get());
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
