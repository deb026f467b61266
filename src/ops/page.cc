#include "ops/page.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "ops/admit.h"
#include "ops/answer_bytes.h"
#include "ops/as_of.h"
#include "ops/faults.h"
#include "ops/item_read.h"
#include "table/index_entries.h"
#include "table/key_encoding.h"
#include "throughput/units.h"

namespace stator::ops {
namespace {

// Encoded bytes of an item that is counted before it is in the page: as JSON it may be six times as
// large, and hundreds of pages are under way at once. Smaller ones are counted when they are there.
constexpr size_t kCountedFirst = 16 << 10;

// The bytes of entries that are copied from the engine at a time, before a worker filters them.
constexpr size_t kCopiedBytes = 256 << 10;

// Entries of a tablet, one behind the other.
class CopiedEntries {
 public:
  void Add(std::string_view key, std::string_view item) {
    bytes_.append(key).append(item);
    sizes_.emplace_back(key.size(), item.size());
  }
  bool full() const { return bytes_.size() + sizes_.size() * sizeof(sizes_[0]) >= kCopiedBytes; }
  // Calls visit(key, item) for each until it returns false. Returns false if it did.
  template <typename Visit>
  bool ForEach(const Visit& visit) const {
    std::string_view rest = bytes_;
    for (const auto& [key, item] : sizes_) {
      if (!visit(rest.substr(0, key), model::ItemView(rest.substr(key, item)))) return false;
      rest.remove_prefix(key + item);
    }
    return true;
  }

 private:
  std::string bytes_;
  std::vector<std::pair<size_t, size_t>> sizes_;
};

// Reads a page in steps; each goes on where the one before stopped.
class PageReader {
 public:
  PageReader(table::Store& store, PageRequest request, PageDraw draw, MemoryLease* memory)
      : store_(store), request_(std::move(request)), answer_(memory) {
    page_.items = ItemList(request_.item_writer);
    page_.draw = std::move(draw);
    // The bound grows about as the size does.
    most_steps_ = expr::MostSteps(request_.filter, model::kMaxItemBytes);
    if (most_steps_ > kInlineSteps) long_item_ = model::kMaxItemBytes * kInlineSteps / most_steps_;
  }

  // Reads about `budget` bytes, or as many as `steps` of evaluation take. True when the page is
  // complete.
  Result<bool> Step(kv::Tier tier, int64_t budget, uint64_t steps) {
    if (request_.begin >= request_.end) return true;
    steps_budget_ = steps_ + std::min(steps, kMaxPageSteps);
    here_ = steps == kInlineSteps;
    if (request_.fetch) return FetchStep(tier, budget);
    int64_t step_bytes = 0;
    bool complete = true;
    past_turn_end_ = 0;
    const auto visit = [&](std::string_view key, model::ItemView item) {
      if (IsForWorker(item)) return complete = false;
      // Nothing stood there at a moment of the past.
      if (!item.exists()) [[unlikely]]
        return Pass(key) && (complete = HasTurn());
      if (!Take(key, item, item) || EndsPast(key)) return false;
      step_bytes += static_cast<int64_t>(item.size_bytes());
      complete = step_bytes < budget && steps_ < steps_budget_ && HasTurn();
      return complete;
    };
    if (!here_ && request_.filter.present() && request_.past == nullptr) {
      TRY(VisitCopies(tier, budget, visit));
    } else {
      TRY(store_.ScanTablet(Next(budget), tier, visit, request_.past.get()));
    }
    if (refused_) return EndBehindCursor(tier);
    if (complete) return true;
    Advance();
    return false;
  }

  // After a step that did not end the page, for whatever reason: go on behind the last item taken.
  void Advance() {
    if (!moved_) return;
    moved_ = false;
    if (request_.reverse) {
      request_.end = cursor_;
    } else {
      request_.begin = cursor_;
      request_.begin.push_back('\0');
    }
  }

  Page TakePage() { return std::move(page_); }
  // Steps of the next turn on a worker: the first one is short.
  uint64_t NextTurn() { return std::exchange(had_turn_, true) ? kPageTurnSteps : kShortSteps; }
  // How long that turn is at most: it does not end within an item.
  LongWork::Length LengthOfTurn(uint64_t steps) const {
    return LengthOf(std::max(steps, most_steps_));
  }
  // Whether the filter has taken more time than the reads.
  bool evaluates_long() const { return met_long_item_ || steps_ >= steps_budget_; }

  // Whether the next step can begin with what was read ahead of it.
  bool CanBeAhead() const {
    return request_.begin < request_.end && !request_.fetch && request_.past == nullptr;
  }
  void ReadAhead(kv::Engine::AheadDone done) {
    store_.engine().ReadAhead(Next(INT64_MAX), std::move(done));
  }
  void Take(std::unique_ptr<kv::Ahead> ahead) {
    ahead_ = std::move(ahead);
    ahead_bytes_ = ahead_->bytes();
  }

 private:
  // Entries that are read before the items of them are fetched: no item is read while a scan is
  // under way.
  static constexpr size_t kFetchedTogether = 64;

  // Scans, but copies entries out of the engine and calls `visit` afterwards. A filter may take
  // long, and the memory engine blocks writes during its own visit.
  template <typename Visit>
  Status VisitCopies(kv::Tier tier, int64_t budget, const Visit& visit) {
    while (true) {
      CopiedEntries entries;
      TRY(store_.ScanTablet(
          Next(budget), tier,
          [&entries](std::string_view key, model::ItemView item) {
            entries.Add(key, item.encoded());
            return !entries.full();
          },
          nullptr));
      if (!entries.ForEach(visit) || !entries.full()) return OkStatus();
      Advance();
    }
  }

  // What is left of the page, of which about `budget` bytes will be wanted.
  kv::Range Next(int64_t budget) const {
    return {
        .tablet = request_.target.tablet(),
        .begin = request_.begin,
        .end = request_.end,
        .reverse = request_.reverse,
        .expected_keys =
            static_cast<size_t>(request_.limit ? *request_.limit - page_.scanned_count : 0),
        .expected_bytes = static_cast<size_t>(std::min(budget, request_.max_bytes - page_.bytes)),
        .ahead = ahead_.get()};
  }

  // Step for entries whose items are wanted.
  Result<bool> FetchStep(kv::Tier tier, int64_t budget) {
    const int64_t start_bytes = page_.bytes + page_.fetched_bytes;
    while (true) {
      size_t most = kFetchedTogether;
      if (request_.limit)
        most = std::min(most, static_cast<size_t>(*request_.limit - page_.scanned_count));
      std::vector<std::pair<std::string, std::string>> entries;
      TRY(store_.ScanTablet(
          {request_.target.tablet(), request_.begin, request_.end, request_.reverse, most}, tier,
          [&](std::string_view key, model::ItemView entry) {
            entries.emplace_back(key, entry.encoded());
            return entries.size() < most;
          },
          request_.past.get()));
      for (const auto& [key, entry] : entries) {
        ASSIGN_OR_RETURN(const bool go_on, TakeFetched(key, model::ItemView(entry), tier));
        if (refused_) return EndBehindCursor(tier);
        if (!go_on) return true;
        if (page_.bytes + page_.fetched_bytes - start_bytes >= budget || steps_ >= steps_budget_) {
          Advance();
          return false;
        }
      }
      if (entries.size() < most) return true;
      Advance();
    }
  }

  Result<bool> TakeFetched(const std::string& key, model::ItemView entry, kv::Tier tier) {
    const table::Table& table = *request_.target.table;
    std::string bytes;
    ASSIGN_OR_RETURN(const bool found,
                     store_.Get(table, table::ItemKeyOfEntry(table.descriptor, entry), tier, &bytes,
                                request_.past.get()));
    model::ItemView item = found ? model::ItemView(bytes) : model::ItemView();
    if (IsForWorker(item)) return Error(ErrorCode::kWouldBlock, "");
    // The item may have moved in the index, or gone, since the entry was read: then there is
    // nothing at this place any more.
    if (!table::HasEntry(*request_.target.index, item) || request_.target.PositionOf(item) != key)
      item = model::ItemView();
    return Take(key, entry, item);
  }

  // Whether this step leaves the item to a worker: its filter, or its writing, takes long.
  bool IsForWorker(model::ItemView item) {
    if (!here_) return false;
    const size_t bytes = item.encoded().size();
    if (bytes >= long_item_) return met_long_item_ = true;
    return bytes > static_cast<size_t>(kInlinePageBytes) && !request_.count_only;
  }

  // Adds the entry at `key` to the page. `stored` is the item or index entry, whose size is
  // charged; `item` (if it exists) is filtered and projected. Returns false when the page is full,
  // or, with refused_ set, when there is no memory for the item.
  bool Take(std::string_view key, model::ItemView stored, model::ItemView item) {
    const int64_t bytes = static_cast<int64_t>(stored.size_bytes());
    const bool holds = item.exists() && expr::Evaluate(request_.filter, item, &steps_);
    if (holds && !here_ && !request_.count_only && !CountBefore(item.encoded())) {
      refused_ = true;
      return false;
    }
    cursor_.assign(key);
    moved_ = true;
    ++page_.scanned_count;
    page_.bytes += bytes;
    const uint64_t hash = table::HashOfKey(key);
    // The items of a partition key value have one hash, so a partition is looked for once for all
    // of them.
    if (page_.partition_bytes.empty() || hash != page_.last_hash) NotePartition(hash);
    page_.partition_bytes.back().second += bytes;
    if (page_.draw.measured) Mark(key, page_.partition_bytes.back().first, bytes);
    if (request_.fetch && item.exists()) {
      page_.fetched_bytes += static_cast<int64_t>(item.size_bytes());
      page_.fetched_steps += throughput::ReadSteps(static_cast<int64_t>(item.size_bytes()));
    }

    if (holds) {
      ++page_.count;
      if (!request_.count_only) {
        if (request_.projection.present()) {
          page_.items.Append(expr::Project(request_.projection, item));
        } else {
          page_.items.Append((request_.answer_entries ? stored : item).encoded());
        }
        if (page_.items.size() == 1) ReserveItems(stored.encoded().size());
      }
    }
    // While memory is short a page ends early, as one does that has reached its size.
    const bool room = CountItems();
    if (room && page_.bytes + page_.fetched_bytes < request_.max_bytes && steps_ < kMaxPageSteps &&
        !(request_.limit && page_.scanned_count >= *request_.limit)) {
      return true;
    }
    page_.last_evaluated_key = request_.target.KeyAttributesOf(stored);
    return false;
  }

  // Goes on behind a key where nothing stood.
  bool Pass(std::string_view key) {
    cursor_.assign(key);
    moved_ = true;
    return !EndsPast(key);
  }

  // Whether a step of the past may go on. Bytes that are read before its first item are not
  // counted: they would be read again if the step ended there.
  bool HasTurn() {
    if (request_.past == nullptr) return true;
    const uint64_t read = request_.past->read_bytes();
    if (past_turn_end_ == 0) past_turn_end_ = read + kPastTurnBytes;
    return read < past_turn_end_;
  }

  // Ends the page at a key if the past took long to read: many keys of it may have no item.
  bool EndsPast(std::string_view key) {
    if (request_.past == nullptr || request_.past->read_bytes() < kMaxPastBytes) return false;
    Result<std::string> last = table::DecodeItemKey(request_.target.table->key_schema(), key);
    if (!last.ok()) return false;  // the page goes on, as without a bound
    page_.last_evaluated_key = *std::move(last);
    page_.last_hash = table::HashOfKey(key);
    return true;
  }

  // Counts the memory that the items take, which grows by doubling.
  bool CountItems() {
    const auto bytes = static_cast<int64_t>(page_.items.bytes());
    if (bytes > room_) room_ = std::max(bytes, 2 * room_);
    return CountTo(room_);
  }

  // Counts an item that may need much as the JSON that it becomes, and makes room for a writer.
  // False: there is no memory for it.
  bool CountBefore(std::string_view encoded) {
    if (encoded.size() < kCountedFirst) return true;
    const int64_t rendered = RenderedBound(encoded);
    if (request_.item_writer == nullptr) {
      if (!CountTo(rendered_ + rendered)) return false;
      rendered_ += rendered;
      return true;
    }
    // The JSON writer reserves room for a piece of text whose characters may all have to be
    // escaped.
    constexpr int64_t kStretch = 32 << 10;
    const int64_t bytes = static_cast<int64_t>(page_.items.bytes()) + rendered + kStretch;
    if (bytes <= room_) return CountTo(room_);
    if (!CountTo(std::max(bytes, room_ + room_ / 2))) return false;
    room_ = counted_bytes_;
    page_.items.Reserve(0, static_cast<size_t>(room_));
    return true;
  }

  bool CountTo(int64_t bytes) {
    if (bytes <= counted_bytes_) return true;
    if (!answer_.Add(bytes - counted_bytes_)) return false;
    counted_bytes_ = bytes;
    return true;
  }

  // Ends the page behind the item that was taken last, because there is no memory for the next one.
  // If the page has no item yet, the request is refused.
  Result<bool> EndBehindCursor(kv::Tier tier) {
    if (page_.scanned_count == 0) return MemoryRefusal();
    const std::string end = cursor_ + std::string(1, '\0');
    TRY(store_.ScanTablet(
        {request_.target.tablet(), cursor_, end}, tier,
        [&](std::string_view, model::ItemView stored) {
          if (!stored.exists()) return true;
          page_.last_evaluated_key = request_.target.KeyAttributesOf(stored);
          return false;
        },
        request_.past.get()));
    // The item may have been deleted meanwhile. Then there is no key for LastEvaluatedKey, and the
    // request is refused.
    if (!page_.last_evaluated_key) return MemoryRefusal();
    return true;
  }

  void NotePartition(uint64_t hash) {
    page_.last_hash = hash;
    const size_t partition = request_.target.partitions().Find(hash);
    if (page_.partition_bytes.empty() || page_.partition_bytes.back().first != partition) {
      page_.partition_bytes.emplace_back(partition, 0);
    }
  }

  void Mark(std::string_view key, size_t partition, int64_t bytes) {
    std::vector<PageMark>& marks = page_.marks;
    if (marks.empty() || marks.back().partition != partition ||
        marks.back().bytes >= kPageMarkBytes) {
      marks.push_back({std::string(key), partition, 0});
    }
    marks.back().bytes += bytes;
  }

  // Reserves memory for the items after the first one, which has `stored_bytes` in the store: for
  // everything that was read ahead and a little more (items differ, and growing copies everything),
  // or else enough to avoid the first few times of growing.
  void ReserveItems(size_t stored_bytes) {
    constexpr size_t kExpected = 24;
    const size_t ahead = ahead_bytes_ / stored_bytes;
    const size_t expected = ahead == 0 ? kExpected : ahead + ahead / 8;
    const size_t count =
        std::min(static_cast<size_t>(request_.limit.value_or(INT64_MAX)), expected);
    const size_t most = ahead == 0 ? static_cast<size_t>(kInlinePageBytes) : 2 * ahead_bytes_;
    page_.items.Reserve(count, std::min(count * (page_.items.bytes() + 8), most));
  }

  table::Store& store_;
  PageRequest request_;
  std::unique_ptr<kv::Ahead> ahead_;
  size_t ahead_bytes_ = 0;              // of what was read ahead
  uint64_t steps_ = 0;                  // of evaluation, so far
  uint64_t steps_budget_ = UINT64_MAX;  // steps_ at which the step ends
  uint64_t most_steps_ = 0;             // that the filter takes on an item
  bool had_turn_ = false;               // on a worker
  size_t long_item_ = SIZE_MAX;         // encoded bytes of an item that takes kInlineSteps and more
  bool here_ = false;                   // this step is the loop's
  uint64_t past_turn_end_ = 0;  // read_bytes() of the past at which the step ends; 0: not known yet
  bool refused_ = false;        // memory has no room for the next item
  bool met_long_item_ = false;
  Page page_;
  AnswerBytes answer_;
  int64_t room_ = 0;           // bytes that the items take, with room to grow
  int64_t rendered_ = 0;       // of large items that are rendered later, as JSON
  int64_t counted_bytes_ = 0;  // of them, by answer_
  std::string cursor_;         // where the item taken last stands
  bool moved_ = false;
};

using ReaderPtr = std::unique_ptr<PageReader>;
using PageDone = UniqueFunction<void(Result<Page>)>;

// All that is left, on workers, in turns. The past is merged from the days of a log, which computes
// more than it waits.
void ReadRest(Context& ctx, ReaderPtr reader, PageDone done) {
  PageReader& of = *reader;
  const bool past = ctx.as_of_millis.has_value();
  const bool computes = of.evaluates_long() || past;
  const uint64_t steps = computes && !past ? of.NextTurn() : kPageTurnSteps;
  std::optional<LongWork::Length> length;
  if (computes) length = of.LengthOfTurn(steps);
  ReadOnWorker(
      ctx, length, [&of, steps](kv::Tier tier) { return of.Step(tier, INT64_MAX, steps); },
      [&ctx, reader = std::move(reader), done = std::move(done)](Result<bool> complete) mutable {
        if (!complete.ok()) return done(complete.error());
        if (*complete) return done(reader->TakePage());
        ReadRest(ctx, std::move(reader), std::move(done));
      });
}

// About `budget` bytes on this thread, if they are in memory; the rest on a worker.
void ReadHere(Context& ctx, ReaderPtr reader, PageDone done, int64_t budget) {
  const Result<bool> complete = reader->Step(kv::Tier::kMemory, budget, kInlineSteps);
  if (complete.ok() && *complete) return done(reader->TakePage());
  if (!complete.ok()) {
    if (complete.error().code() != ErrorCode::kWouldBlock) return done(complete.error());
    reader->Advance();
  }
  ReadRest(ctx, std::move(reader), std::move(done));
}

// Reads the page from an engine behind a network. No thread waits for the first operation; if a
// second one is needed, a worker waits for it.
void ReadAhead(Context& ctx, ReaderPtr reader, PageDone done) {
  PageReader& of = *reader;
  of.ReadAhead([&ctx, reader = std::move(reader),
                done = std::move(done)](std::unique_ptr<kv::Ahead> ahead) mutable {
    if (ahead == nullptr) return ReadRest(ctx, std::move(reader), std::move(done));
    const bool large = ahead->bytes() > static_cast<size_t>(kInlineAheadBytes);
    reader->Take(std::move(ahead));
    ctx.loop.Post([&ctx, reader = std::move(reader), done = std::move(done), large]() mutable {
      if (large) return ReadRest(ctx, std::move(reader), std::move(done));
      ReadHere(ctx, std::move(reader), std::move(done), INT64_MAX);
    });
  });
}

void AdmitAndRead(Context& ctx, PageRequest request, PageDone done) {
  const ReadTarget& target = request.target;
  PageDraw draw;
  if (const auto refusal = AdmitPage(ctx, target, request.begin, request.consistent, &draw)) {
    done(ErrorOf(ctx, *refusal));
    return;
  }
  auto reader =
      std::make_unique<PageReader>(ctx.env.store, std::move(request), std::move(draw), ctx.memory);
  if (ctx.env.store.engine().capabilities().blocking && reader->CanBeAhead()) {
    ReadAhead(ctx, std::move(reader), std::move(done));
  } else {
    ReadHere(ctx, std::move(reader), std::move(done), kInlinePageBytes);
  }
}

}  // namespace

std::vector<PartitionHalves> ScanHalves(const ReadTarget& target, const Page& page,
                                        uint64_t first_hash, uint64_t final_hash, bool consistent) {
  const throughput::PartitionMap& map = target.partitions();
  const size_t first = map.Find(first_hash);
  const size_t last = map.Find(page.last_evaluated_key ? page.last_hash : final_hash);
  std::vector<PartitionHalves> halves;
  auto next = page.partition_bytes.begin();
  for (size_t partition = first; partition <= last; ++partition) {
    int64_t bytes = 0;
    if (next != page.partition_bytes.end() && next->first == partition) bytes = (next++)->second;
    halves.push_back({partition, throughput::ReadHalves(bytes, consistent)});
  }
  return halves;
}

int64_t SumOf(const std::vector<PartitionHalves>& partitions) {
  int64_t halves = 0;
  for (const PartitionHalves& partition : partitions) halves += partition.halves;
  return halves;
}

void ReadPage(Context& ctx, PageRequest request, UniqueFunction<void(Result<Page>)> done) {
  const ReadTarget& target = request.target;
  if (Status struck = StrikeRequest(ctx, {target.table.get(), target.index}); !struck.ok()) {
    done(std::move(struck).error());
    return;
  }
  if (ctx.as_of_millis) [[unlikely]] {
    table::TablePtr table = target.table;
    const table::IndexDescriptor* const index = target.index;
    return OpenPast(ctx, std::move(table), index,
                    [&ctx, request = std::move(request), done = std::move(done)](
                        Result<std::shared_ptr<const table::Past>> past) mutable {
                      if (!past.ok()) return done(std::move(past).error());
                      request.past = *std::move(past);
                      AdmitAndRead(ctx, std::move(request), std::move(done));
                    });
  }
  request.past = MomentOf(ctx, *target.table, target.index, request.consistent);
  AdmitAndRead(ctx, std::move(request), std::move(done));
}

}  // namespace stator::ops
