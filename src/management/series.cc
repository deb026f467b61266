#include "management/series.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/json_writer.h"
#include "base/time_text.h"
#include "management/reply.h"

namespace stator::management {
namespace {

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kLastSeconds = 14 * 86'400;

// Returns the later of two counts less the earlier. Counters begin again when a table is made anew.
uint32_t Grown(int64_t before, int64_t now) {
  return static_cast<uint32_t>(
      std::clamp<int64_t>(now >= before ? now - before : now, 0, UINT32_MAX));
}

double Rounded(double value) { return std::round(value * 1000) / 1000; }

// The milliseconds that a part of the requests took at most, within their bucket in proportion;
// nullopt: none was served.
template <typename Buckets>
std::optional<double> Quantile(const Buckets& buckets, const std::vector<double>& bounds,
                               double part) {
  uint64_t all = 0;
  for (const uint32_t count : buckets) all += count;
  if (all == 0 || bounds.empty()) return std::nullopt;
  const double wanted = static_cast<double>(all) * part;
  double below = 0, low = 0;
  for (size_t i = 0; i < buckets.size(); ++i) {
    const double here = buckets[i];
    if (below + here >= wanted && here > 0) {
      if (i >= bounds.size()) return low * 1000;
      return (low + (bounds[i] - low) * (wanted - below) / here) * 1000;
    }
    below += here;
    if (i < bounds.size()) low = bounds[i];
  }
  return low * 1000;
}

}  // namespace

Series::Counts& Series::Counts::operator+=(const Counts& other) {
  const auto add = [](uint32_t* to, uint32_t more) {
    *to = static_cast<uint32_t>(std::min<uint64_t>(uint64_t{*to} + more, UINT32_MAX));
  };
  add(&served, other.served);
  add(&errors, other.errors);
  add(&throttled, other.throttled);
  for (size_t i = 0; i < kBuckets; ++i) add(&buckets[i], other.buckets[i]);
  return *this;
}

void Series::History::Add(int64_t second, const Counts& counts) {
  for (size_t i = 0; i < tiers.size(); ++i) {
    std::deque<Slot>& slots = tiers[i];
    const int64_t start = second - second % kTiers[i].seconds;
    // The machine's clock was set back: what lies in its future is dropped.
    while (!slots.empty() && slots.back().start > start) slots.pop_back();
    if (slots.empty() || slots.back().start < start) slots.push_back({start, {}});
    slots.back().counts += counts;
    while (slots.front().start <= start - kTiers[i].seconds * kTiers[i].slots) slots.pop_front();
  }
}

int64_t Series::History::ServedSince(size_t tier, int64_t second) const {
  int64_t served = 0;
  for (const Slot& slot : tiers[tier]) {
    if (slot.start >= second) served += slot.counts.served + slot.counts.errors;
  }
  return served;
}

Series::History& Series::HistoryOf(Histories* histories, const std::string& name, size_t most) {
  const auto found = histories->find(name);
  if (found != histories->end()) return found->second;
  return (*histories)[histories->size() + 1 < most ? name : std::string(kOthers)];
}

void Series::Look(const std::vector<OperationTotals>& totals, const std::vector<double>& bounds,
                  const std::function<bool(std::string_view)>& exists) {
  const int64_t now = clock_.NowMicros() / kMicros;
  MutexLock lock(mutex_);
  bounds_ = bounds;
  std::map<std::string, Counts> sums[2];
  std::map<Name, RequestTotals> seen;
  for (const OperationTotals& one : totals) {
    Name name(one.operation, one.table);
    const auto before = seen_.find(name);
    static const RequestTotals kNone;
    const RequestTotals& was = before != seen_.end() ? before->second : kNone;
    Counts grown;
    grown.served = Grown(was.served, one.totals.served);
    grown.errors = Grown(was.user_errors + was.system_errors,
                         one.totals.user_errors + one.totals.system_errors);
    grown.throttled = Grown(was.throttled, one.totals.throttled);
    for (size_t i = 0; i < std::min(kBuckets, one.totals.counts.size()); ++i)
      grown.buckets[i] = Grown(i < was.counts.size() ? was.counts[i] : 0, one.totals.counts[i]);
    if (grown.any()) {
      sums[0][one.operation] += grown;
      if (!one.table.empty()) sums[1][one.table] += grown;
    }
    seen.emplace(std::move(name), one.totals);
  }
  seen_ = std::move(seen);
  constexpr size_t kMost[] = {kMostOperations, kMostTables};
  for (size_t by = 0; by < 2; ++by) {
    for (const auto& [name, counts] : sums[by])
      HistoryOf(&histories_[by], name, kMost[by]).Add(now, counts);
  }
  std::erase_if(histories_[1],
                [&](const auto& one) { return one.first != kOthers && !exists(one.first); });
}

void Series::RenderOne(const std::string& name, const History& history, size_t tier, int64_t from,
                       int64_t step, int64_t columns, std::string* out) {
  // The last column may not be over.
  const int64_t passed = clock_.NowMicros() / kMicros - (from + (columns - 1) * step);
  const double last =
      static_cast<double>(std::clamp(passed, std::min(kTiers[0].seconds, step), step));
  std::vector<Counts> sums(static_cast<size_t>(columns));
  for (const Slot& slot : history.tiers[tier]) {
    if (slot.start < from) continue;
    const auto column = static_cast<size_t>((slot.start - from) / step);
    if (column < sums.size()) sums[column] += slot.counts;
  }
  JsonWriter json;
  json.Open('{').Field("name", name);
  const auto rates = [&](std::string_view member, auto count) {
    json.Key(member).Open('[');
    for (const Counts& one : sums) {
      const double seconds = &one == &sums.back() ? last : static_cast<double>(step);
      json.Number(Rounded(static_cast<double>(count(one)) / seconds));
    }
    json.Close(']');
  };
  rates("served", [](const Counts& one) { return one.served; });
  rates("errors", [](const Counts& one) { return one.errors; });
  rates("throttled", [](const Counts& one) { return one.throttled; });
  for (const auto& [member, part] : {std::pair("p50", 0.5), std::pair("p99", 0.99)}) {
    json.Key(member).Open('[');
    for (const Counts& one : sums) {
      const std::optional<double> took = Quantile(one.buckets, bounds_, part);
      took ? json.Number(Rounded(*took)) : json.Null();
    }
    json.Close(']');
  }
  json.Close('}');
  *out += json.Take();
  out->pop_back();
}

std::string Series::Render(const Query& query) {
  MutexLock lock(mutex_);
  const int64_t now = clock_.NowMicros() / kMicros;
  size_t tier = 0;
  while (tier + 1 < std::size(kTiers) &&
         (kTiers[tier].seconds * kTiers[tier].slots < query.last_seconds ||
          kTiers[tier + 1].seconds <= query.step_seconds)) {
    ++tier;
  }
  const int64_t unit = kTiers[tier].seconds;
  const int64_t wanted =
      std::max(query.step_seconds, (query.last_seconds + kMostColumns - 1) / kMostColumns);
  const int64_t step = std::max<int64_t>(1, (wanted + unit - 1) / unit) * unit;
  const int64_t end = now - now % step + step;
  const int64_t columns =
      std::clamp<int64_t>((query.last_seconds + step - 1) / step, 1, kMostColumns);
  const int64_t from = end - columns * step;
  const Histories& histories = histories_[query.by == By::kOperation ? 0 : 1];
  std::vector<std::pair<int64_t, const std::string*>> names;
  for (const auto& [name, history] : histories) {
    if (query.name.empty() || query.name == name)
      names.emplace_back(-history.ServedSince(tier, from), &name);
  }
  std::sort(names.begin(), names.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first < b.first : *a.second < *b.second;
  });
  if (names.size() > kMostNamesAnswered) names.resize(kMostNamesAnswered);
  std::string out = fmt::format(
      R"({{"now":"{}","begun":"{}","from":"{}","columnSeconds":{},"columns":{},"series":[)",
      FormatTime(now * kMicros), FormatTime(begun_seconds_ * kMicros), FormatTime(from * kMicros),
      step, columns);
  for (const auto& [served, name] : names) {
    if (served != names.front().first || name != names.front().second) out += ',';
    RenderOne(*name, histories.find(*name)->second, tier, from, step, columns, &out);
  }
  return out + "]}\n";
}

size_t Series::Bytes() {
  MutexLock lock(mutex_);
  size_t bytes = 0;
  for (const Histories& histories : histories_) {
    for (const auto& [name, history] : histories) {
      bytes += sizeof(History) + name.capacity();
      for (const std::deque<Slot>& slots : history.tiers) bytes += slots.size() * sizeof(Slot);
    }
  }
  return bytes;
}

Result<Series::Query> SeriesQuery(std::string_view text) {
  Series::Query query;
  if (const std::optional<std::string> by = Parameter(text, "by")) {
    if (*by != "operation" && *by != "table")
      return ValidationError(fmt::format("by must be operation or table: {}", *by));
    query.by = *by == "table" ? Series::By::kTable : Series::By::kOperation;
  }
  query.name = Parameter(text, "name").value_or("");
  for (const auto& [name, seconds] :
       {std::pair("last", &query.last_seconds), std::pair("step", &query.step_seconds)}) {
    const std::optional<std::string> value = Parameter(text, name);
    if (!value) continue;
    const std::optional<int64_t> duration = ParseDuration(*value);
    if (!duration || *duration < kMicros || *duration > kLastSeconds * kMicros) {
      return ValidationError(
          fmt::format("{} must be a duration from 1s to 14d such as 90s or 12h: {}", name, *value));
    }
    *seconds = *duration / kMicros;
  }
  return query;
}

}  // namespace stator::management
