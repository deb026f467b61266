// Prometheus metrics, named after CloudWatch's.
//
//   stator_successful_request_latency_seconds{operation,table}  histogram
//   stator_returned_item_count_total{operation,table}           counter
//   stator_user_errors_total{operation,table,error}             counter
//   stator_system_errors_total{operation,table,error}           counter
//   stator_conditional_check_failed_requests_total{table}       counter
//   stator_time_to_live_deleted_item_count_total{table}         counter
//   stator_time_to_live_backlog_seconds{table}                  gauge
//   stator_connections, stator_uptime_seconds, stator_kv_*      gauges, read when asked
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include "api/service.h"
#include "table/expiry_sweeper.h"

namespace stator::server {

// Thread-safe.
class Metrics final : public api::RequestObserver {
 public:
  // `table_exists` keeps names that clients invented out of the labels.
  explicit Metrics(std::function<bool(std::string_view)> table_exists);
  ~Metrics() override;

  void OnRequest(const api::RequestRecord& record) override;

  // What the sweeps of expired items did and left.
  void OnExpired(const table::ExpirySweeper::Report& report);

  // The text exposition format. `gauges` are added under their names.
  std::string Render(const std::map<std::string, double>& gauges) const;

 private:
  struct Series {
    prometheus::Histogram* latency = nullptr;
    prometheus::Counter* items = nullptr;
  };
  Series& SeriesOf(std::string_view operation, std::string_view table);

  const std::function<bool(std::string_view)> table_exists_;
  const uint64_t id_;  // tells this object's series from those of another one in the caches of threads
  std::unique_ptr<prometheus::Registry> registry_;
  prometheus::Family<prometheus::Histogram>* latency_;
  prometheus::Family<prometheus::Counter>* items_;
  prometheus::Family<prometheus::Counter>* user_errors_;
  prometheus::Family<prometheus::Counter>* system_errors_;
  prometheus::Family<prometheus::Counter>* failed_conditions_;
  prometheus::Family<prometheus::Counter>* expired_items_;
  prometheus::Family<prometheus::Gauge>* expiry_backlog_;
};

}  // namespace stator::server
