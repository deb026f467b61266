// One page of a Query or Scan: items of a key range, filtered and projected, until 1 MB, the limit
// or the end.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "expr/expr.h"
#include "ops/context.h"
#include "ops/item_list.h"
#include "ops/read_target.h"
#include "table/store.h"

namespace stator::ops {

inline constexpr int64_t kMaxPageBytes = 1 << 20;
// The bytes of a page that the loop's thread reads before it hands the rest to a worker, so that
// other requests get their turn.
inline constexpr int64_t kInlinePageBytes = 64 << 10;
// The same limit for bytes that were read ahead over a network. It is larger because handing over
// to a worker would cost more.
inline constexpr int64_t kInlineAheadBytes = 256 << 10;

// Steps (expr::Evaluate) of filters after which a page ends as if it were full: 2 to 4 s. An
// expression of 4 KB stays below it unless items have a few bytes; legacy filters have no limit.
inline constexpr uint64_t kMaxPageSteps = 400'000'000;
// Steps after which a page waits for its next turn on a worker, 50 to 100 ms, so that answers and
// pages of others are not behind all of it.
inline constexpr uint64_t kPageTurnSteps = kMiddleSteps;

// Bytes of items and of records of a change log after which a page of the past ends as if it were
// full: some 10 to 50 ms.
inline constexpr uint64_t kMaxPastBytes = 16 << 20;
// Bytes of items and records, behind the first item that a turn on a worker comes to, after which
// the page waits for its next turn.
inline constexpr uint64_t kPastTurnBytes = 4 << 20;

struct PageRequest {
  ReadTarget target;
  bool fetch = false;  // filter and project the items that the entries are of, not the entries
  std::string begin;   // keys in [begin, end)
  std::string end;
  bool reverse = false;
  std::optional<int64_t> limit;  // items evaluated
  int64_t max_bytes = kMaxPageBytes;
  bool answer_entries = false;  // with fetch: items are only filtered, their entries are answered
  expr::Condition filter;
  expr::Projection projection;
  bool count_only = false;
  ItemWriter item_writer = nullptr;  // of Page::items
  bool consistent = false;
  std::shared_ptr<const table::Past>
      past;  // the moment that is read; null: the present. ReadPage sets it.
};

// Where a part of a page was read, of about kPageMarkBytes and of one partition.
struct PageMark {
  std::string key;  // of the first item or entry
  size_t partition = 0;
  int64_t bytes = 0;
};
inline constexpr int64_t kPageMarkBytes = 64 << 10;

// What was asked for before a page was read (admit.h).
struct PageDraw {
  bool measured = false;
  bool let_pass = false;  // a limit stood against it, and nobody stopped it
  int64_t charged = 0;    // halves
  std::string key;        // where the page begins
};

struct PartitionHalves {
  size_t partition = 0;
  int64_t halves = 0;
};

struct Page {
  ItemList items;  // empty with count_only
  int64_t count = 0;
  int64_t scanned_count = 0;
  int64_t bytes = 0;  // of the items or entries evaluated, by DynamoDB's rules
  int64_t fetched_bytes = 0;
  int64_t fetched_steps = 0;  // 4 KB steps of the items fetched, each rounded up
  // Bytes by partition, in key order, for the partitions that hold evaluated items.
  std::vector<std::pair<size_t, int64_t>> partition_bytes;
  // Set when the page ended by size or limit: the key to go on behind, as an encoded item.
  std::optional<std::string> last_evaluated_key;
  uint64_t last_hash = 0;  // of the last item evaluated
  PageDraw draw;
  std::vector<PageMark> marks;  // in the order of reading; empty unless the page is measured
};

// Half units of a page of a Scan over the hashes from `first_hash` to `final_hash`: it pays per
// partition that it touched, each rounded up on its own.
std::vector<PartitionHalves> ScanHalves(const ReadTarget& target, const Page& page,
                                        uint64_t first_hash, uint64_t final_hash, bool consistent);
int64_t SumOf(const std::vector<PartitionHalves>& partitions);

// Asks for admission and reads a page; of a past moment if the fault dial says so. Reads on this
// thread while that is short and from memory (behind a network: what was read ahead), otherwise on
// a worker. Calls `done` with the page on the loop's thread. The caller must then call ChargePage.
void ReadPage(Context& ctx, PageRequest request, UniqueFunction<void(Result<Page>)> done);

}  // namespace stator::ops
