// A write transaction, of TransactWriteItems or of PartiQL, and the code that all transactions
// share.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "expr/expr.h"
#include "ops/context.h"
#include "ops/index_writes.h"
#include "ops/payload.h"
#include "ops/responses.h"
#include "table/store.h"

namespace stator::ops {

inline constexpr size_t kMaxTransactionBytes = 4 << 20;
// The message of TransactionConflictException and of the reason TransactionConflict.
inline constexpr std::string_view kConflictMessage = "Transaction is ongoing for the item";

// Returns kTransactionCanceled with these reasons, in the order of the actions.
Error TransactionCanceled(std::vector<CancellationReason> reasons);
// Converts an error of the store to a transaction's error: it becomes the reason of the action that
// it names, or of all actions.
Error AsTransactionError(size_t actions, Error error);
// Returns the reason ValidationError with this message.
CancellationReason ValidationReason(std::string message);
// Returns kValidation if `bytes`, the sum of the sizes of the items, is more than a transaction may
// have.
Status CheckTransactionBytes(size_t bytes);

// One action of a transaction or one PartiQL write, checked and compiled.
struct TransactionAction {
  // kInsert is a put that refuses to overwrite.
  enum Kind : char {
    kConditionCheck = 'C',
    kPut = 'P',
    kDelete = 'D',
    kUpdate = 'U',
    kInsert = 'I'
  };
  Kind kind = kConditionCheck;
  std::string table_name;  // as the client sent it
  table::TablePtr table;
  std::string key;   // EncodeItemKey
  std::string item;  // kPut, kInsert: the item; else the key as an item
  expr::Condition condition;
  // If there is no item: the condition is evaluated (kEvaluated), counts as failed (kFails), or
  // counts as met (kPasses).
  enum Missing : uint8_t { kEvaluated, kFails, kPasses } if_missing = kEvaluated;
  expr::Update update;
  bool return_old_on_failure = false;

  model::ItemView view() const { return model::ItemView(item); }
};
// Returns a bound of the steps (expr::Evaluate) of DecideAction on an item whose encoding has
// `item_bytes`.
uint64_t MostSteps(const TransactionAction& action, size_t item_bytes);

// Steps (expr::Evaluate) of the conditions of a transaction together, about 0.6 s: its items and
// their tables are held meanwhile. The last one may exceed them.
inline constexpr uint64_t kMaxTransactionSteps = 150'000'000;

// What one action does to the image that it finds.
struct ActionOutcome {
  table::Change change;
  CancellationReason reason;  // "None" unless the action fails
  size_t measured_bytes = 0;  // write units are counted on these,
  size_t image_bytes = 0;     // and the read units of a repetition on these
  size_t written_bytes = 0;
};
// Decides one action on the old image. The result has the reason if the action fails for its
// client. Returns an error only if the server fails, for example when memory is short. Adds the
// steps of the condition to *steps, if that is not null.
Result<ActionOutcome> DecideAction(const TransactionAction& action, model::ItemView old_item,
                                   uint64_t* steps = nullptr);

// Units drawn by each action, and which kind they are.
struct TransactionUnits {
  bool writes = true;
  std::vector<int64_t> units;
  std::vector<IndexUnits>
      index_units;  // empty unless they were to be counted, and for a repetition
};

struct WriteTransaction {
  std::vector<TransactionAction> actions;  // those on one table have one version of it
  bool counts_index_units = false;
  std::optional<std::string> token;
  std::string digest;  // of the whole request; with a token only
};

// Runs the actions, all or none, if the fault dial lets them. kTransactionCanceled;
// kIdempotentParameterMismatch when the token stands for a request with another digest; a repeated
// request with its token draws read units and changes nothing.
void RunWriteTransaction(Context& ctx, WriteTransaction transaction,
                         Callback<TransactionUnits> done);

// Reads of several items from one state, each with a projection. `table_name` is the name or ARN
// that the client gave.
struct ReadTransaction {
  struct Read {
    std::string table_name;
    table::TablePtr table;
    std::string key;  // EncodeItemKey
    expr::Projection projection;
  };
  std::vector<Read> reads;
  bool answers_empty_items =
      false;  // where the projection leaves nothing: an item without attributes, or none
  std::optional<ReturnConsumedCapacity> return_consumed_capacity;
};
void RunReadTransaction(Context& ctx, ReadTransaction transaction,
                        Callback<TransactGetItemsResponse> done);

// Returns what stands before the tokens of an account, which is not the default, in the ledger of
// tokens: text that is longer than any token of a client.
inline constexpr std::string_view kBeforeTokens = "the client request token of account ";
inline std::string TokenPrefixOf(std::string_view account) {
  return std::string(kBeforeTokens).append(account).append(": ");
}
// Returns the account of a token in the ledger; empty: the default one.
inline std::string_view AccountOfToken(std::string_view token) {
  if (!token.starts_with(kBeforeTokens)) return {};
  token.remove_prefix(kBeforeTokens.size());
  return token.substr(0, token.find(':'));
}

// Units of a transaction by table, in the order of first appearance.
class TransactionCapacity {
 public:
  // Those on one table name one version of it.
  void Add(const std::string& table_name, const table::TablePtr& table, int64_t units,
           const IndexUnits& index_units = {});
  std::optional<std::vector<ConsumedCapacity>> Take(
      const std::optional<ReturnConsumedCapacity>& wanted, bool writes) const;

 private:
  struct Entry {
    table::TablePtr table;  // may be named by its name and by its ARN
    std::string table_name;
    int64_t units;
    IndexUnits index_units;
  };
  std::vector<Entry> entries_;
};

}  // namespace stator::ops
