// A PartiQL INSERT, UPDATE or DELETE by itself: of ExecuteStatement, or one of
// BatchExecuteStatement.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "expr/statement.h"
#include "ops/context.h"
#include "ops/index_writes.h"
#include "ops/transaction.h"

namespace stator::ops {

struct StatementWriteResult {
  std::optional<Error> error;       // then nothing was written
  std::optional<std::string> item;  // what RETURNING asks for; encoded
  int64_t units =
      0;  // also of a failed condition: of the larger of the stored and the offered item [C]
  IndexUnits index_units;  // if they were to be counted
};

struct StatementWrite {
  TransactionAction action;  // of PlanWrite
  expr::Returning returning = expr::Returning::kNone;
  bool counts_index_units = false;
  // The statement is the whole request, so that another process may run it (Context::forwarder);
  // then `done` is destroyed uncalled.
  bool alone = false;
};

// Runs write.action, unless the fault dial (ops/faults.h) refuses it. Calls `done` once, on the
// loop's thread; not at all if another process runs the statement (StatementWrite::alone).
void RunStatementWrite(Context& ctx, StatementWrite write,
                       UniqueFunction<void(StatementWriteResult)> done);

}  // namespace stator::ops
