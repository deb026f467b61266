// Requests by time, as they were: GET /_stator/series. By operation and by table, how many were
// served, failed and throttled, and how long they took.
//
// Nothing is measured for it: a look reads the counters that /metrics shows, every ten seconds, so
// a request costs nothing. Each tier of slots covers all of the last so-much time; what a look
// finds is added to one slot of each tier. Slots without requests are not kept. At most
// kMostOperations and kMostTables names have slots of their own, of 140 KB each at most; what comes
// later is counted under kOthers. In memory: it ends with the process.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/mutex.h"
#include "base/result.h"
#include "management/sources.h"

namespace stator::management {

// Thread-safe.
class Series {
 public:
  static constexpr int64_t kLookMicros = 10'000'000;
  static constexpr size_t kMostOperations = 64;
  static constexpr size_t kMostTables = 256;
  static constexpr size_t kBuckets = 18;  // of latencies
  static constexpr std::string_view kOthers = "(others)";
  static constexpr int64_t kMostColumns = 180;
  static constexpr size_t kMostNamesAnswered = 100;

  enum class By { kOperation, kTable };
  struct Query {
    By by = By::kOperation;
    std::string name;  // empty: those with most requests, at most kMostNamesAnswered
    int64_t last_seconds = 3600;
    int64_t step_seconds = 0;  // 0: as short as fits in kMostColumns
  };

  // `clock` must have the machine's time, not the product's, because latencies are measured by the
  // machine's. Create the object when the counters begin.
  explicit Series(const Clock& clock)
      : clock_(clock), begun_seconds_(clock.NowMicros() / 1'000'000) {}

  // Adds the counts since the last call, or since the counters began. Removes the history of tables
  // for which `exists` returns false.
  void Look(const std::vector<OperationTotals>& totals, const std::vector<double>& bounds,
            const std::function<bool(std::string_view)>& exists);

  // Returns the JSON that docs/console-calls.md describes.
  std::string Render(const Query& query);

  size_t Bytes();

 private:
  struct Counts {
    uint32_t served = 0;
    uint32_t errors = 0;
    uint32_t throttled = 0;
    std::array<uint32_t, kBuckets> buckets{};

    bool any() const { return served > 0 || errors > 0 || throttled > 0; }
    Counts& operator+=(const Counts& other);
  };
  struct Slot {
    int64_t start = 0;  // seconds
    Counts counts;
  };
  struct Tier {
    int64_t seconds;
    int64_t slots;
  };
  static constexpr Tier kTiers[] = {{10, 360}, {60, 720}, {3600, 336}};  // 1 h, 12 h, 14 days
  struct History {
    std::array<std::deque<Slot>, std::size(kTiers)> tiers;
    void Add(int64_t second, const Counts& counts);
    int64_t ServedSince(size_t tier, int64_t second) const;
  };
  using Histories = std::map<std::string, History, std::less<>>;
  using Name = std::pair<std::string, std::string>;

  static History& HistoryOf(Histories* histories, const std::string& name, size_t most);
  void RenderOne(const std::string& name, const History& history, size_t tier, int64_t from,
                 int64_t step, int64_t columns, std::string* out) REQUIRES(mutex_);

  const Clock& clock_;
  const int64_t begun_seconds_;
  Mutex mutex_;
  Histories histories_[2] GUARDED_BY(mutex_);  // by `By`
  // Counts at the last look.
  std::map<Name, RequestTotals> seen_ GUARDED_BY(mutex_);
  std::vector<double> bounds_ GUARDED_BY(mutex_);  // of latencies, seconds
};

// The Query of "by=table&last=1h&step=60s&name=music". kValidation.
Result<Series::Query> SeriesQuery(std::string_view query);

}  // namespace stator::management
