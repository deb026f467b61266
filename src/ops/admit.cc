#include "ops/admit.h"

#include <algorithm>

#include "ops/refusal_text.h"
#include "ops/transaction.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

using throughput::Access;
using throughput::Draw;
using throughput::KeyPoint;
using throughput::Meter;
using throughput::Throttling;
using throughput::Verdict;

// A request that a limit stands against: it is counted and, if the mode says so, refused.
std::optional<Refusal> Refuse(Context& ctx, const table::Table& table,
                              const table::IndexDescriptor* index, Meter& meter,
                              const Verdict& verdict, size_t action) {
  // That this process has no part of the capacity yet says nothing about the table.
  if (meter.mode() != Throttling::kEnforce && !ctx.env.admission.Granted()) return std::nullopt;
  meter.CountRefusal(verdict.access, verdict.limit);
  if (meter.mode() != Throttling::kEnforce) return std::nullopt;
  return Refusal{
      {table.descriptor, index, verdict.access, verdict.limit, WordsOf(ctx.env, meter, verdict)},
      action};
}

Meter& MeterOf(const ReadTarget& target) {
  return target.is_global() ? target.table->MeterOf(*target.index) : *target.table->meters.table;
}

KeyPoint PointOf(const ReadTarget& target, std::string_view key) {
  if (target.is_global()) return table::PointOfEntry(*target.index, key);
  KeyPoint point = table::PointOfItem(target.table->key_schema(), key);
  // Entries of a local index are in their table's partitions, in an order of their own.
  if (target.index != nullptr) point.sort = {};
  return point;
}

// Local indexes draw from their table.
int64_t UnitsOfTable(const table::Table& table, int64_t units, const table::EntryChanges* entries) {
  if (entries == nullptr) return units;
  for (size_t i = 0; i < entries->by_index.size(); ++i) {
    if (!table.descriptor.indexes[i].is_global()) units += entries->by_index[i].write_units();
  }
  return units;
}

bool ChangesGlobalIndexes(const table::Table& table, const table::EntryChanges* entries) {
  if (entries == nullptr) return false;
  for (size_t i = 0; i < entries->by_index.size(); ++i) {
    if (table.descriptor.indexes[i].is_global() && entries->by_index[i].changes()) return true;
  }
  return false;
}

struct Metered {
  Meter* meter;
  const table::IndexDescriptor* index;  // null: the table itself
};

// The meter that a draw on `table` is from.
Metered MeteredBy(const table::Table& table, const throughput::Resource* resource) {
  const table::Meters& meters = table.meters;
  for (size_t i = 0; i < meters.indexes.size(); ++i) {
    Meter* meter = meters.indexes[i].get();
    if (meter != nullptr && &meter->resource() == resource)
      return {meter, &table.descriptor.indexes[i]};
  }
  return {meters.table.get(), nullptr};
}

// A process whose part of the capacity has run out refuses everything.
Verdict AskOne(Context& ctx, Meter& meter, const Draw& draw) {
  if (!ctx.env.admission.Granted())
    return meter.resource().RefuseUngranted(ctx.env.clock.NowMicros(), draw);
  return meter.resource().Admit(ctx.env.clock.NowMicros(), draw);
}

// A request that takes from one table only.
std::optional<Refusal> AdmitOne(Context& ctx, const table::Table& table, const Draw& draw) {
  Meter& meter = *table.meters.table;
  const Verdict verdict = AskOne(ctx, meter, draw);
  if (verdict.admitted) return std::nullopt;
  std::optional<Refusal> refusal = Refuse(ctx, table, nullptr, meter, verdict, 0);
  if (!refusal) meter.LetPass(draw.access, draw.halves);
  return refusal;
}

// A piece of a page, and what is charged for it.
struct Piece {
  KeyPoint point;
  int64_t bytes = 0;
  int64_t halves = 0;
};

// Divides `halves` (half units) among the pieces in proportion to their bytes. The last piece gets
// the remainder of the rounding.
void Divide(int64_t halves, std::vector<Piece>::iterator first, std::vector<Piece>::iterator end) {
  int64_t bytes = 0;
  for (auto piece = first; piece != end; ++piece) bytes += piece->bytes;
  int64_t left = halves;
  for (auto piece = first; piece != end; ++piece) {
    const double part =
        bytes > 0 ? static_cast<double>(piece->bytes) / static_cast<double>(bytes) : 0;
    piece->halves = std::min(left, static_cast<int64_t>(static_cast<double>(halves) * part));
    left -= piece->halves;
  }
  (end - 1)->halves += left;
}

std::vector<Piece> PiecesOf(const ReadTarget& target, const Page& page, int64_t halves,
                            const std::vector<PartitionHalves>& partitions) {
  std::vector<Piece> pieces;
  auto mark = page.marks.begin();
  const auto take = [&](auto wanted) {
    const size_t first = pieces.size();
    for (; mark != page.marks.end() && wanted(*mark); ++mark)
      pieces.push_back({PointOf(target, mark->key), mark->bytes});
    return first;
  };
  if (partitions.empty()) {
    take([](const PageMark&) { return true; });
    if (pieces.empty()) pieces.push_back({PointOf(target, page.draw.key)});
    Divide(halves, pieces.begin(), pieces.end());
    return pieces;
  }
  for (const PartitionHalves& partition : partitions) {
    const size_t first =
        take([&](const PageMark& m) { return m.partition == partition.partition; });
    if (first == pieces.size())
      pieces.push_back({{target.partitions().starts()[partition.partition], {}, {}}});
    Divide(partition.halves, pieces.begin() + static_cast<std::ptrdiff_t>(first), pieces.end());
  }
  // Items that were fetched for the entries of a local index.
  pieces.back().halves += halves - SumOf(partitions);
  return pieces;
}

}  // namespace

void Draws::AddRead(const table::Table& table, std::string_view item_key, int64_t halves,
                    bool consistent, size_t action) {
  if (!Measured(ctx_, table)) return;
  draws_.push_back({&table.meters.table->resource(), Access::kRead, !consistent, halves,
                    table::PointOfItem(table.key_schema(), item_key)});
  origins_.push_back({&table, action, draws_.size()});
}

// A place that is left and one that is taken are two writes.
void Draws::AddEntry(Meter& meter, const table::IndexDescriptor& index,
                     const table::EntryChange& change) {
  if (!change.changes()) return;
  const auto add = [&](std::string_view key, int64_t units) {
    draws_.push_back(
        {&meter.resource(), Access::kWrite, false, 2 * units, table::PointOfEntry(index, key)});
  };
  if (change.rewritten) return add(change.new_key, change.write_units());
  if (change.had) add(change.old_key, throughput::WriteUnits(change.old_bytes));
  if (change.has) add(change.new_key, throughput::WriteUnits(change.new_bytes));
}

void Draws::AddWrite(const table::Table& table, std::string_view item_key, int64_t units,
                     const table::EntryChanges* entries, size_t action) {
  if (!Measured(ctx_, table)) return;
  const size_t indexes = entries != nullptr ? entries->by_index.size() : 0;
  if (draws_.empty()) draws_.reserve(1 + 2 * indexes);
  draws_.push_back({&table.meters.table->resource(), Access::kWrite, false,
                    2 * UnitsOfTable(table, units, entries),
                    table::PointOfItem(table.key_schema(), item_key)});
  for (size_t i = 0; i < indexes; ++i) {
    Meter* meter = table.meters.indexes[i].get();
    if (meter != nullptr) AddEntry(*meter, table.descriptor.indexes[i], entries->by_index[i]);
  }
  origins_.push_back({&table, action, draws_.size()});
}

std::optional<Refusal> Draws::Admit() {
  if (draws_.empty()) return std::nullopt;
  const Verdict verdict =
      ctx_.env.admission.Granted()
          ? throughput::Admit(ctx_.env.clock.NowMicros(), draws_)
          : draws_.front().resource->RefuseUngranted(ctx_.env.clock.NowMicros(), draws_.front());
  if (verdict.admitted) return std::nullopt;
  auto origin = origins_.begin();
  while (origin->end <= verdict.draw) ++origin;
  const Metered refused = MeteredBy(*origin->table, draws_[verdict.draw].resource);
  std::optional<Refusal> refusal =
      Refuse(ctx_, *origin->table, refused.index, *refused.meter, verdict, origin->action);
  if (refusal) return refusal;
  size_t i = 0;
  for (const Origin& each : origins_) {
    for (; i < each.end; ++i)
      MeteredBy(*each.table, draws_[i].resource).meter->LetPass(draws_[i].access, draws_[i].halves);
  }
  return std::nullopt;
}

std::optional<Refusal> AdmitItemRead(Context& ctx, const table::Table& table,
                                     std::string_view item_key, int64_t halves, bool consistent) {
  if (!Measured(ctx, table)) return std::nullopt;
  return AdmitOne(ctx, table,
                  {nullptr, Access::kRead, !consistent, halves,
                   table::PointOfItem(table.key_schema(), item_key)});
}

std::optional<Refusal> AdmitItemWrite(Context& ctx, const table::Table& table,
                                      std::string_view item_key, int64_t units,
                                      const table::EntryChanges* entries) {
  if (!Measured(ctx, table)) return std::nullopt;
  if (!ChangesGlobalIndexes(table, entries)) {
    return AdmitOne(ctx, table,
                    {nullptr, Access::kWrite, false, 2 * UnitsOfTable(table, units, entries),
                     table::PointOfItem(table.key_schema(), item_key)});
  }
  Draws draws(ctx);
  draws.AddWrite(table, item_key, units, entries);
  return draws.Admit();
}

Error TransactionErrorOf(const Context& ctx, const Refusal& refusal, size_t actions,
                         std::vector<CancellationReason> reasons) {
  if (refusal.throttle.limit == throughput::Limit::kAccount) return ErrorOf(ctx, refusal);
  reasons.resize(actions);
  reasons[refusal.action] = ThrottleCancellation(refusal.throttle);
  return TransactionCanceled(std::move(reasons));
}

std::optional<Refusal> AdmitPage(Context& ctx, const ReadTarget& target, std::string_view key,
                                 bool consistent, PageDraw* draw) {
  draw->measured = Measured(ctx, *target.table);
  if (!draw->measured) return std::nullopt;
  draw->key = key;
  Meter& meter = MeterOf(target);
  const int64_t least = throughput::ReadHalves(0, consistent);
  const Verdict verdict =
      AskOne(ctx, meter, {nullptr, Access::kRead, !consistent, least, PointOf(target, draw->key)});
  if (verdict.admitted) {
    draw->charged = least;
    return std::nullopt;
  }
  draw->let_pass = true;
  return Refuse(ctx, *target.table, target.is_global() ? target.index : nullptr, meter, verdict, 0);
}

void ChargePage(Context& ctx, const ReadTarget& target, const Page& page, int64_t halves,
                bool consistent, const std::vector<PartitionHalves>& partitions) {
  if (!page.draw.measured) return;
  Meter& meter = MeterOf(target);
  if (page.draw.let_pass) return meter.LetPass(Access::kRead, halves);
  const int64_t now = ctx.env.clock.NowMicros();
  int64_t charged = page.draw.charged;
  if (partitions.empty() && page.marks.size() <= 1) {
    // Most pages are short, and cost what was asked for.
    if (halves == charged) return;
    const std::string_view key = page.marks.empty() ? page.draw.key : page.marks.front().key;
    return meter.resource().Charge(
        now, {nullptr, Access::kRead, !consistent, halves - charged, PointOf(target, key)});
  }
  for (Piece& piece : PiecesOf(target, page, halves, partitions)) {
    const int64_t already = std::min(charged, piece.halves);
    charged -= already;
    if (piece.halves == already) continue;
    meter.resource().Charge(
        now, {nullptr, Access::kRead, !consistent, piece.halves - already, piece.point});
  }
}

}  // namespace stator::ops
