#include "server/metrics.h"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <atomic>
#include <unordered_map>

#include "ops/checks.h"

namespace stator::server {
namespace {

const prometheus::Histogram::BucketBoundaries& Buckets() {
  static const prometheus::Histogram::BucketBoundaries buckets = {0.00005, 0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005,
                                                                  0.01,    0.025,  0.05,    0.1,    0.25,  0.5,    1, 2.5, 5, 10};
  return buckets;
}

uint64_t NextId() {
  static std::atomic<uint64_t> next{1};
  return next.fetch_add(1);
}

}  // namespace

Metrics::Metrics(std::function<bool(std::string_view)> table_exists)
    : table_exists_(std::move(table_exists)), id_(NextId()), registry_(std::make_unique<prometheus::Registry>()) {
  latency_ = &prometheus::BuildHistogram()
                  .Name("stator_successful_request_latency_seconds")
                  .Help("Time from a whole request to its reply, of requests that succeeded")
                  .Register(*registry_);
  items_ = &prometheus::BuildCounter()
                .Name("stator_returned_item_count_total")
                .Help("Items in replies")
                .Register(*registry_);
  user_errors_ = &prometheus::BuildCounter()
                      .Name("stator_user_errors_total")
                      .Help("Requests answered with HTTP 400")
                      .Register(*registry_);
  system_errors_ = &prometheus::BuildCounter()
                        .Name("stator_system_errors_total")
                        .Help("Requests answered with HTTP 500")
                        .Register(*registry_);
  failed_conditions_ = &prometheus::BuildCounter()
                            .Name("stator_conditional_check_failed_requests_total")
                            .Help("Writes whose condition did not hold")
                            .Register(*registry_);
  expired_items_ = &prometheus::BuildCounter()
                        .Name("stator_time_to_live_deleted_item_count_total")
                        .Help("Items deleted because their time to live was over")
                        .Register(*registry_);
  expiry_backlog_ =
      &prometheus::BuildGauge()
           .Name("stator_time_to_live_backlog_seconds")
           .Help("For how long the oldest item that a sweep left behind has been expired")
           .Register(*registry_);
}

Metrics::~Metrics() = default;

Metrics::Series& Metrics::SeriesOf(std::string_view operation, std::string_view table) {
  // Finding a series by its labels costs a map of strings, so each thread remembers what it found.
  thread_local std::unordered_map<std::string, Series> cache;
  thread_local uint64_t cache_of = 0;
  thread_local std::string key;
  if (cache_of != id_) {
    cache.clear();
    cache_of = id_;
  }
  key.assign(operation).push_back('/');
  key.append(table);
  Series& series = cache[key];
  if (series.latency == nullptr) {
    const std::map<std::string, std::string> labels = {{"operation", std::string(operation)}, {"table", std::string(table)}};
    series.latency = &latency_->Add(labels, Buckets());
    series.items = &items_->Add(labels);
  }
  return series;
}

void Metrics::OnRequest(const api::RequestRecord& record) {
  // An ARN's region and account are the client's to invent: the label is the name in it.
  const Result<std::string_view> name = ops::TableNameOf(record.table);
  const std::string_view named = name.ok() ? *name : std::string_view();
  if (record.error.empty()) {
    Series& series = SeriesOf(record.operation, named);
    series.latency->Observe(static_cast<double>(record.latency_micros) * 1e-6);
    if (record.items > 0) series.items->Increment(static_cast<double>(record.items));
    return;
  }
  const std::string table(table_exists_(named) ? named : std::string_view());
  const std::string operation(record.operation);
  const std::string error(record.error);
  auto* family = record.status >= 500 ? system_errors_ : user_errors_;
  family->Add({{"operation", operation}, {"table", table}, {"error", error}}).Increment();
  if (error == "ConditionalCheckFailedException") failed_conditions_->Add({{"table", table}}).Increment();
}

void Metrics::OnExpired(const table::ExpirySweeper::Report& report) {
  const std::map<std::string, std::string> labels = {{"table", std::string(report.table)}};
  expired_items_->Add(labels).Increment(static_cast<double>(report.deleted));
  expiry_backlog_->Add(labels).Set(report.backlog_seconds);
}

std::string Metrics::Render(const std::map<std::string, double>& gauges) const {
  std::string text = prometheus::TextSerializer().Serialize(registry_->Collect());
  for (const auto& [name, value] : gauges) text += fmt::format("# TYPE {0} gauge\n{0} {1}\n", name, value);
  return text;
}

}  // namespace stator::server
