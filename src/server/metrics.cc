#include "server/metrics.h"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <optional>
#include <unordered_map>

#include "ops/checks.h"

namespace stator::server {
namespace {

using prometheus::Histogram;

const Histogram::BucketBoundaries& Buckets() {
  static const Histogram::BucketBoundaries buckets = {
      0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025,
      0.05,    0.1,    0.25,    0.5,    1,     2.5,    5,     10};
  return buckets;
}

constexpr size_t kSeriesPerPiece = 256;

// Never the same for two objects, nor twice for one.
uint64_t NextGeneration() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

bool IsThrottle(std::string_view error) {
  return error == "ProvisionedThroughputExceededException" || error == "ThrottlingException" ||
         error == "RequestLimitExceeded";
}

bool IsFailedCondition(std::string_view error) {
  return error == "ConditionalCheckFailedException" || error == "TransactionCanceledException";
}

void AddLatencies(const Histogram& histogram, management::RequestTotals* totals) {
  const prometheus::ClientMetric::Histogram h = histogram.Collect().histogram;
  totals->served += static_cast<int64_t>(h.sample_count);
  // Buckets are cumulative.
  int64_t below = 0;
  for (size_t i = 0; i < h.bucket.size() && i < totals->counts.size(); ++i) {
    const auto count = static_cast<int64_t>(h.bucket[i].cumulative_count);
    totals->counts[i] += count - below;
    below = count;
  }
}

}  // namespace

template <typename Metric>
bool Metrics::Family<Metric>::Forget(const std::function<bool(std::string_view)>& exists) {
  return std::erase_if(series, [&exists](const auto& one) {
           const auto table = one.first.find("table");
           return table != one.first.end() && !table->second.empty() && !exists(table->second);
         }) > 0;
}

// In pieces, because threads that serve requests wait for the mutex when they count an error.
template <typename Metric, typename Visit>
void Metrics::VisitAll(const Family<Metric> Metrics::*member, Visit visit) const {
  std::optional<Labels> last;
  for (bool more = true; more;) {
    const MutexLock lock(mutex_);
    const Family<Metric>& of = this->*member;
    auto next = last ? of.series.upper_bound(*last) : of.series.begin();
    for (size_t i = 0; i < kSeriesPerPiece && next != of.series.end(); ++i, ++next) {
      visit(next->first, *next->second);
      last = next->first;
    }
    more = next != of.series.end();
  }
}

template <typename Metric>
prometheus::MetricFamily Metrics::Collect(const Family<Metric> Metrics::*member) {
  prometheus::MetricFamily family;
  {
    const MutexLock lock(mutex_);
    const Family<Metric>& of = this->*member;
    family = {of.name, of.help, Metric::metric_type, {}};
  }
  VisitAll(member, [&family](const Labels& labels, const Metric& metric) {
    family.metric.push_back(metric.Collect());
    for (const auto& [label, value] : labels) family.metric.back().label.push_back({label, value});
  });
  return family;
}

Metrics::Metrics(std::function<bool(std::string_view)> table_exists)
    : table_exists_(std::move(table_exists)), generation_(NextGeneration()) {
  latency_.name = "stator_successful_request_latency_seconds";
  latency_.help = "Time from a whole request to its reply, of requests that succeeded";
  items_.name = "stator_returned_item_count_total";
  items_.help = "Items in replies";
  user_errors_.name = "stator_user_errors_total";
  user_errors_.help = "Requests answered with HTTP 400";
  system_errors_.name = "stator_system_errors_total";
  system_errors_.help = "Requests answered with HTTP 500";
  failed_conditions_.name = "stator_conditional_check_failed_requests_total";
  failed_conditions_.help = "Writes whose condition did not hold";
  throttled_requests_.name = "stator_throttled_requests_total";
  throttled_requests_.help = "Requests refused for their throughput";
  conflicts_.name = "stator_transaction_conflict_total";
  conflicts_.help = "Requests on single items refused because of a transaction";
  expired_items_.name = "stator_time_to_live_deleted_item_count_total";
  expired_items_.help = "Items deleted because their time to live was over";
  expiry_backlog_.name = "stator_time_to_live_backlog_seconds";
  expiry_backlog_.help = "For how long the oldest item that a sweep left behind has been expired";
}

Metrics::~Metrics() = default;

Metrics::Series& Metrics::SeriesOf(std::string_view operation, std::string_view table) {
  // Finding a series by its labels costs a map of strings, so each thread remembers what it found.
  thread_local std::unordered_map<std::string, Series> cache;
  thread_local uint64_t cache_of = 0;
  thread_local std::string key;
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  if (cache_of != generation) {
    cache.clear();
    cache_of = generation;
  }
  key.assign(operation).push_back('/');
  key.append(table);
  Series& series = cache[key];
  if (series.latency == nullptr) {
    // DeleteTable has just succeeded on a table that is not there any more.
    const Labels labels = {{"operation", std::string(operation)},
                           {"table", std::string(table_exists_(table) ? table : "")}};
    const MutexLock lock(mutex_);
    series.latency = latency_.Of(labels, Buckets());
    series.items = items_.Of(labels);
  }
  return series;
}

void Metrics::CountError(const api::RequestRecord& record, std::string_view named) {
  const std::string table(table_exists_(named) ? named : std::string_view());
  const std::string operation(record.operation);
  const MutexLock lock(mutex_);
  auto& family = record.status >= 500 ? system_errors_ : user_errors_;
  family.Of({{"operation", operation}, {"table", table}, {"error", std::string(record.error)}})
      ->Increment();
  if (record.error == "ConditionalCheckFailedException")
    failed_conditions_.Of({{"table", table}})->Increment();
  if (record.error == "TransactionConflictException")
    conflicts_.Of({{"table", table}})->Increment();
  if (IsThrottle(record.error))
    throttled_requests_.Of({{"operation", operation}, {"table", table}})->Increment();
}

void Metrics::OnRequest(const api::RequestRecord& record) {
  // Use only the table's name as label: clients could make up ARNs with any Region and account.
  const Result<std::string_view> name = ops::TableNameOf(record.table);
  const std::string_view named = name.ok() ? *name : std::string_view();
  if (!record.error.empty()) return CountError(record, named);
  Series& series = SeriesOf(record.operation, named);
  series.latency->Observe(static_cast<double>(record.latency_micros) * 1e-6);
  if (record.items > 0) series.items->Increment(static_cast<double>(record.items));
}

void Metrics::OnExpired(const table::ExpirySweeper::Report& report) {
  if (!table_exists_(report.table)) return;
  const Labels labels = {{"table", std::string(report.table)}};
  const MutexLock lock(mutex_);
  expired_items_.Of(labels)->Increment(static_cast<double>(report.deleted));
  expiry_backlog_.Of(labels)->Set(report.backlog_seconds);
}

void Metrics::ForgetGone() {
  const MutexLock lock(mutex_);
  bool gone = latency_.Forget(table_exists_);
  gone |= items_.Forget(table_exists_);
  for (auto* family : {&user_errors_, &system_errors_, &failed_conditions_, &throttled_requests_,
                       &conflicts_, &expired_items_}) {
    family->Forget(table_exists_);
  }
  expiry_backlog_.Forget(table_exists_);
  if (gone) generation_.store(NextGeneration(), std::memory_order_release);
}

management::RequestTotals Metrics::Totals() const {
  management::RequestTotals totals;
  totals.bounds = Buckets();
  totals.counts.resize(totals.bounds.size() + 1);
  std::vector<std::shared_ptr<Histogram>> latencies;
  {
    const MutexLock lock(mutex_);
    latencies.reserve(latency_.series.size());
    for (const auto& [labels, histogram] : latency_.series) latencies.push_back(histogram);
    for (const auto& [labels, counter] : user_errors_.series) {
      const std::string& error = labels.at("error");
      const auto count = static_cast<int64_t>(counter->Value());
      if (IsThrottle(error)) {
        totals.throttled += count;
      } else if (IsFailedCondition(error)) {
        totals.conditions += count;
      } else {
        totals.user_errors += count;
      }
    }
    for (const auto& [labels, counter] : system_errors_.series)
      totals.system_errors += static_cast<int64_t>(counter->Value());
  }
  for (const std::shared_ptr<Histogram>& histogram : latencies) AddLatencies(*histogram, &totals);
  return totals;
}

const std::vector<double>& Metrics::LatencyBounds() { return Buckets(); }

std::vector<management::OperationTotals> Metrics::TotalsByOperation() const {
  std::map<std::pair<std::string, std::string>, management::RequestTotals> found;
  const auto of = [&found](const Labels& labels) -> management::RequestTotals& {
    return found[{labels.at("operation"), labels.at("table")}];
  };
  VisitAll(&Metrics::latency_, [&of](const Labels& labels, const Histogram& histogram) {
    management::RequestTotals& totals = of(labels);
    totals.counts.resize(Buckets().size() + 1);
    AddLatencies(histogram, &totals);
  });
  VisitAll(&Metrics::user_errors_, [&of](const Labels& labels, const prometheus::Counter& counter) {
    const auto count = static_cast<int64_t>(counter.Value());
    const std::string& error = labels.at("error");
    if (IsThrottle(error)) {
      of(labels).throttled += count;
    } else if (!IsFailedCondition(error)) {
      of(labels).user_errors += count;
    }
  });
  VisitAll(&Metrics::system_errors_,
           [&of](const Labels& labels, const prometheus::Counter& counter) {
             of(labels).system_errors += static_cast<int64_t>(counter.Value());
           });
  std::vector<management::OperationTotals> all;
  all.reserve(found.size());
  for (auto& [name, totals] : found) all.push_back({name.first, name.second, std::move(totals)});
  return all;
}

std::string Metrics::Render(const std::map<std::string, double>& gauges,
                            std::vector<prometheus::MetricFamily> families) {
  ForgetGone();
  families.push_back(Collect(&Metrics::latency_));
  for (const auto member : {&Metrics::items_, &Metrics::user_errors_, &Metrics::system_errors_,
                            &Metrics::failed_conditions_, &Metrics::throttled_requests_,
                            &Metrics::conflicts_, &Metrics::expired_items_}) {
    families.push_back(Collect<prometheus::Counter>(member));
  }
  families.push_back(Collect(&Metrics::expiry_backlog_));
  std::erase_if(families, [](const auto& family) { return family.metric.empty(); });
  std::string text = prometheus::TextSerializer().Serialize(families);
  for (const auto& [name, value] : gauges)
    text += fmt::format("# TYPE {0} gauge\n{0} {1}\n", name, value);
  return text;
}

}  // namespace stator::server
