// Prometheus metrics, named after CloudWatch's (docs/metrics.md has the list).
//
// Reports of requests and sweeps are counted here. The capacity of tables and indexes is read from
// their throughput meters at each scrape (throughput_metrics.h).
#pragma once

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "api/service.h"
#include "base/mutex.h"
#include "management/sources.h"
#include "table/expiry_sweeper.h"

namespace stator::server {

// Thread-safe.
class Metrics final : public api::RequestObserver {
 public:
  // Only tables for which `table_exists` returns true become labels: neither names that clients
  // made up nor deleted tables.
  explicit Metrics(std::function<bool(std::string_view)> table_exists);
  ~Metrics() override;

  void OnRequest(const api::RequestRecord& record) override;

  // Takes the report of a sweep: the expired items that it deleted and that remain.
  void OnExpired(const table::ExpirySweeper::Report& report);

  // Ends the series of tables that are gone. Render does so too.
  void ForgetGone();

  // Sums over all operations and tables that there are. Rises, but for tables that go.
  management::RequestTotals Totals() const;
  // Returns the bounds of RequestTotals::counts.
  static const std::vector<double>& LatencyBounds();
  // Totals by operation and table, without `bounds`, which are those of Totals.
  std::vector<management::OperationTotals> TotalsByOperation() const;

  // The text exposition format. `gauges` are added under their names, `families` as they are.
  std::string Render(const std::map<std::string, double>& gauges,
                     std::vector<prometheus::MetricFamily> families = {});

 private:
  using Labels = std::map<std::string, std::string>;
  // The series of one name, by their labels.
  template <typename Metric>
  struct Family {
    std::string name;
    std::string help;
    std::map<Labels, std::shared_ptr<Metric>> series;

    template <typename... Arguments>
    std::shared_ptr<Metric> Of(const Labels& labels, Arguments&&... arguments) {
      std::shared_ptr<Metric>& metric = series[labels];
      if (metric == nullptr)
        metric = std::make_shared<Metric>(std::forward<Arguments>(arguments)...);
      return metric;
    }
    bool Forget(const std::function<bool(std::string_view)>& exists);
  };
  // A thread may still count in series that have ended.
  struct Series {
    std::shared_ptr<prometheus::Histogram> latency;
    std::shared_ptr<prometheus::Counter> items;
  };
  // Calls `visit` with the labels of each series and the series, under the mutex.
  template <typename Metric, typename Visit>
  void VisitAll(const Family<Metric> Metrics::*member, Visit visit) const EXCLUDES(mutex_);
  template <typename Metric>
  prometheus::MetricFamily Collect(const Family<Metric> Metrics::*member) EXCLUDES(mutex_);
  Series& SeriesOf(std::string_view operation, std::string_view table);
  void CountError(const api::RequestRecord& record, std::string_view table);

  const std::function<bool(std::string_view)> table_exists_;
  // Tells this object's series, since any last ended, from those in the caches of threads.
  std::atomic<uint64_t> generation_;
  mutable Mutex mutex_;
  Family<prometheus::Histogram> latency_ GUARDED_BY(mutex_);
  Family<prometheus::Counter> items_ GUARDED_BY(mutex_);
  Family<prometheus::Counter> user_errors_ GUARDED_BY(mutex_);
  Family<prometheus::Counter> system_errors_ GUARDED_BY(mutex_);
  Family<prometheus::Counter> failed_conditions_ GUARDED_BY(mutex_);
  Family<prometheus::Counter> throttled_requests_ GUARDED_BY(mutex_);
  Family<prometheus::Counter> conflicts_ GUARDED_BY(mutex_);
  Family<prometheus::Counter> expired_items_ GUARDED_BY(mutex_);
  Family<prometheus::Gauge> expiry_backlog_ GUARDED_BY(mutex_);
};

}  // namespace stator::server
