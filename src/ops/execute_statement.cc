#include "ops/admit.h"
#include "ops/capacity.h"
#include "ops/checks.h"
#include "ops/faults.h"
#include "ops/item_read.h"
#include "ops/operations.h"
#include "ops/page.h"
#include "ops/statement_plan.h"
#include "ops/statement_token.h"
#include "ops/statement_write.h"
#include "table/key_encoding.h"

namespace stator::ops {
namespace {

using Done = Callback<ExecuteStatementResponse>;

// --- Reads ---------------------------------------------------------------------------------------

struct Read {
  ExecuteStatementRequest request;
  expr::Statement statement;
  SelectPlan plan;
  bool consistent = false;
  bool holds = false;                                  // of one item: what the filter says
  std::shared_ptr<const table::History::Moment> past;  // of one item; null: the present
  // Progress over the ranges.
  size_t range = 0;
  int64_t scanned = 0;
  int64_t bytes = 0;
  int64_t halves = 0;
  int64_t fetched_halves = 0;
  std::string last_key;  // of an unfinished page; encoded item
  ExecuteStatementResponse response;
};

std::string DigestOf(const Read& read) {
  return StatementDigest(read.request.statement, read.request.parameters);
}

void Finish(const Environment& env, Read& read, Done& done) {
  if (!read.last_key.empty()) {
    read.response.next_token = MakeNextToken(env.seal, DigestOf(read), {read.range, read.last_key});
    read.response.last_evaluated_key = std::move(read.last_key);
  }
  read.response.consumed_capacity =
      ReadCapacity(read.request.return_consumed_capacity, read.statement.table, read.plan.target,
                   read.halves, read.fetched_halves);
  done(std::move(read.response));
}

void ReadOneItem(Context& ctx, std::shared_ptr<Read> read, Done done) {
  // Behind the only item there is nothing.
  if (read->request.next_token) return Finish(ctx.env, *read, done);
  const table::Table& table = *read->plan.target.table;
  if (Status struck = StrikeRequest(ctx, {&table}); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  read->past = MomentOf(ctx, table, nullptr, read->consistent);
  table::Store& store = ctx.env.store;
  const auto get = [read, &store](kv::Tier tier) -> Result<std::optional<std::string>> {
    std::string item;
    ASSIGN_OR_RETURN(const bool found, store.Get(*read->plan.target.table, read->plan.item_key,
                                                 tier, &item, read->past.get()));
    if (!found) return std::optional<std::string>();
    if (tier == kv::Tier::kMemory && read->plan.filter.present() &&
        expr::MostSteps(read->plan.filter, item.size()) > kInlineSteps)
      return Error(ErrorCode::kWouldBlock, "");  // a worker evaluates it
    read->holds = expr::Evaluate(read->plan.filter, model::ItemView(item));
    return std::optional<std::string>(std::move(item));
  };
  ReadThenFinish(
      ctx, get,
      [&ctx, read, done = std::move(done)](Result<std::optional<std::string>> item) mutable {
        if (!item.ok()) {
          done(std::move(item).error());
          return;
        }
        const model::ItemView view = *item ? model::ItemView(**item) : model::ItemView();
        read->halves =
            throughput::ReadHalves(static_cast<int64_t>(view.size_bytes()), read->consistent);
        if (const auto refusal = AdmitItemRead(ctx, *read->plan.target.table, read->plan.item_key,
                                               read->halves, read->consistent)) {
          done(ErrorOf(ctx, *refusal));
          return;
        }
        if (view.exists() && read->request.limit == 1) read->last_key = read->plan.key_attributes;
        if (view.exists() && read->holds) {
          if (read->statement.projection.present()) {
            read->response.items.Append(expr::Project(read->statement.projection, view));
          } else {
            read->response.items.Append(view.encoded());
          }
        }
        Finish(ctx.env, *read, done);
      });
}

// Goes on behind the position of a token.
Status SetStart(Read& read, StatementPosition position) {
  SelectPlan& plan = read.plan;
  if (!CheckStartKey(plan.target, model::ItemView(position.key)).ok()) return InvalidNextToken();
  if (!plan.item_key.empty()) return OkStatus();
  if (position.range >= plan.ranges.size()) return InvalidNextToken();
  KeyRange& range = plan.ranges[position.range];
  std::string key = plan.target.PositionOf(model::ItemView(position.key));
  if (key < range.begin || key >= range.end) return InvalidNextToken();
  if (plan.reverse) {
    range.end = std::move(key);
  } else {
    range.begin = std::move(key);
    range.begin.push_back('\0');
  }
  read.range = position.range;
  return OkStatus();
}

// Reads range after range until the page is full or there is none left.
void ReadRanges(Context& ctx, std::shared_ptr<Read> read, Done done) {
  const SelectPlan& plan = read->plan;
  PageRequest request;
  request.target = plan.target;
  request.consistent = read->consistent;
  request.fetch = plan.fetch;
  request.answer_entries = plan.fetch && !read->statement.projection.present();
  request.begin = plan.ranges[read->range].begin;
  request.end = plan.ranges[read->range].end;
  request.reverse = plan.reverse;
  if (read->request.limit) request.limit = *read->request.limit - read->scanned;
  request.max_bytes = kMaxPageBytes - read->bytes;
  request.filter = plan.filter;
  request.projection = read->statement.projection;
  const uint64_t first_hash = plan.is_scan ? table::HashOfKey(request.begin) : 0;
  ReadPage(
      ctx, std::move(request),
      [&ctx, read, first_hash, done = std::move(done)](Result<Page> page) mutable {
        if (!page.ok()) {
          done(std::move(page).error());
          return;
        }
        const SelectPlan& plan = read->plan;
        read->scanned += page->scanned_count;
        read->bytes += page->bytes + page->fetched_bytes;
        std::vector<PartitionHalves> partitions;
        if (plan.is_scan)
          partitions = ScanHalves(plan.target, *page, first_hash, UINT64_MAX, read->consistent);
        const int64_t halves = plan.is_scan ? SumOf(partitions)
                                            : throughput::ReadHalves(page->bytes, read->consistent);
        const int64_t fetched_halves = page->fetched_steps * (read->consistent ? 2 : 1);
        ChargePage(ctx, plan.target, *page, halves + fetched_halves, read->consistent, partitions);
        read->halves += halves;
        read->fetched_halves += fetched_halves;
        ItemList& items = read->response.items;
        if (items.empty()) {
          items = std::move(page->items);
        } else {
          for (const model::ItemView item : page->items) items.Append(item.encoded());
        }
        if (page->last_evaluated_key) {
          read->last_key = *std::move(page->last_evaluated_key);
        } else if (read->range + 1 < plan.ranges.size()) {
          ++read->range;
          // At most as deep as IN has values.
          ReadRanges(ctx, std::move(read), std::move(done));
          return;
        }
        Finish(ctx.env, *read, done);
      });
}

Result<std::shared_ptr<Read>> PrepareRead(Context& ctx, ExecuteStatementRequest request,
                                          expr::Statement statement) {
  auto read = std::make_shared<Read>();
  read->consistent = request.consistent_read.value_or(false);
  ASSIGN_OR_RETURN(read->plan, PlanSelect(ctx, statement, read->consistent));
  read->request = std::move(request);
  read->statement = std::move(statement);
  if (read->request.next_token) {
    ASSIGN_OR_RETURN(StatementPosition position,
                     ReadNextToken(ctx.env.seal, DigestOf(*read), *read->request.next_token));
    TRY(SetStart(*read, std::move(position)));
  }
  return read;
}

// --- Writes --------------------------------------------------------------------------------------

Result<TransactionAction> PrepareWrite(Context& ctx, const ExecuteStatementRequest& request,
                                       expr::Statement* statement) {
  ASSIGN_OR_RETURN(table::TablePtr table, FindActiveTable(ctx, statement->table));
  ASSIGN_OR_RETURN(TransactionAction action, PlanWrite(std::move(table), statement));
  action.return_old_on_failure = request.return_values_on_condition_check_failure ==
                                 ReturnValuesOnConditionCheckFailure::kAllOld;
  return action;
}

}  // namespace

void ExecuteStatement(Context& ctx, ExecuteStatementRequest request, Done done) {
  Result<expr::Statement> statement =
      ParseStatementOf(request.statement, request.parameters, request.value_errors);
  if (!statement.ok()) {
    done(std::move(statement).error());
    return;
  }
  if (statement->kind == expr::StatementKind::kExists) {
    done(ValidationError("EXISTS can only be used in ExecuteTransaction write requests."));
    return;
  }
  if (statement->kind == expr::StatementKind::kSelect) {
    Result<std::shared_ptr<Read>> read =
        PrepareRead(ctx, std::move(request), *std::move(statement));
    if (!read.ok()) {
      done(std::move(read).error());
    } else if (!(*read)->plan.item_key.empty()) {
      ReadOneItem(ctx, *std::move(read), std::move(done));
    } else {
      ReadRanges(ctx, *std::move(read), std::move(done));
    }
    return;
  }
  Result<TransactionAction> action = PrepareWrite(ctx, request, &*statement);
  if (!action.ok()) {
    done(std::move(action).error());
    return;
  }
  const std::optional<ReturnConsumedCapacity> wanted = request.return_consumed_capacity;
  const table::TablePtr table = action->table;
  std::string table_name = action->table_name;
  RunStatementWrite(ctx,
                    {*std::move(action), statement->returning, WantsCapacity(wanted),
                     /*alone=*/true},
                    [wanted, table, table_name = std::move(table_name),
                     done = std::move(done)](StatementWriteResult result) mutable {
                      if (result.error) {
                        done(*std::move(result.error));
                        return;
                      }
                      ExecuteStatementResponse response;
                      if (result.item) response.items.Append(*result.item);
                      response.consumed_capacity = WriteCapacity(wanted, table_name, *table,
                                                                 result.units, result.index_units);
                      done(std::move(response));
                    });
}

}  // namespace stator::ops
