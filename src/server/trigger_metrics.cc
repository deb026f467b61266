#include "server/trigger_metrics.h"

#include <string_view>
#include <utility>

namespace stator::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Figures = triggers::Runner::Figures;

struct Series {
  std::string_view result;  // a label; empty: none
  uint64_t Figures::*count;
};

constexpr Series kRecords[] = {
    {"delivered", &Figures::delivered},   {"filtered", &Figures::filtered},
    {"exhausted", &Figures::exhausted},   {"expired", &Figures::expired},
    {"unreported", &Figures::unreported},
};

prometheus::ClientMetric MetricOf(const Figures& figures, std::string_view result) {
  prometheus::ClientMetric metric;
  metric.label = {
      {"table", figures.table}, {"function", figures.function}, {"mapping", figures.uuid}};
  if (!result.empty()) metric.label.push_back({"result", std::string(result)});
  return metric;
}

}  // namespace

void AddTriggerMetrics(const triggers::Runner& runner, std::vector<MetricFamily>* families) {
  const std::vector<Figures> all = runner.figures();
  if (all.empty()) return;
  MetricFamily records{"stator_trigger_records_total",
                       "Changes that event source mappings have done with",
                       MetricType::Counter,
                       {}};
  MetricFamily invocations{"stator_trigger_invocations_total",
                           "Calls of functions by event source mappings",
                           MetricType::Counter,
                           {}};
  MetricFamily gaps{"stator_trigger_gaps_total",
                    "Times that a stream had lost changes before a mapping read them",
                    MetricType::Counter,
                    {}};
  MetricFamily lag{"stator_trigger_lag_seconds",
                   "Age of the oldest change that was read and is not delivered",
                   MetricType::Gauge,
                   {}};
  for (const Figures& figures : all) {
    for (const Series& series : kRecords) {
      records.metric.push_back(MetricOf(figures, series.result));
      records.metric.back().counter.value = static_cast<double>(figures.*series.count);
    }
    const uint64_t ok = figures.invocations - figures.failures - figures.not_run;
    const std::pair<std::string_view, uint64_t> calls[] = {
        {"ok", ok}, {"failed", figures.failures}, {"not_run", figures.not_run}};
    for (const auto& [result, count] : calls) {
      invocations.metric.push_back(MetricOf(figures, result));
      invocations.metric.back().counter.value = static_cast<double>(count);
    }
    gaps.metric.push_back(MetricOf(figures, {}));
    gaps.metric.back().counter.value = static_cast<double>(figures.gaps);
    lag.metric.push_back(MetricOf(figures, {}));
    lag.metric.back().gauge.value = static_cast<double>(figures.lag_micros) / 1e6;
  }
  for (MetricFamily* family : {&records, &invocations, &gaps, &lag})
    families->push_back(std::move(*family));
}

void AddKinesisMetrics(const triggers::Runner& runner, std::vector<MetricFamily>* families) {
  const std::vector<Figures> all = runner.figures();
  if (all.empty()) return;
  MetricFamily records{"stator_kinesis_records_total",
                       "Changes that Kinesis destinations have done with",
                       MetricType::Counter,
                       {}};
  MetricFamily refused{"stator_kinesis_refused_records_total",
                       "Records that the endpoint refused one by one; they are sent again",
                       MetricType::Counter,
                       {}};
  MetricFamily calls{
      "stator_kinesis_calls_total", "Calls of the endpoint with records", MetricType::Counter, {}};
  MetricFamily gaps{"stator_kinesis_gaps_total",
                    "Times that changes were lost before they were read for a destination",
                    MetricType::Counter,
                    {}};
  MetricFamily lag{"stator_kinesis_lag_seconds",
                   "Age of the oldest change that was read and is not sent",
                   MetricType::Gauge,
                   {}};
  for (const Figures& figures : all) {
    const auto metric = [&figures](std::string_view result) {
      prometheus::ClientMetric one;
      one.label = {{"table", figures.table}, {"stream", figures.function}};
      if (!result.empty()) one.label.push_back({"result", std::string(result)});
      return one;
    };
    const auto count = [&metric](MetricFamily* family, std::string_view result, uint64_t value) {
      family->metric.push_back(metric(result));
      family->metric.back().counter.value = static_cast<double>(value);
    };
    count(&records, "delivered", figures.delivered);
    count(&records, "expired", figures.expired);
    count(&records, "too_large", figures.too_large);
    count(&refused, {}, figures.refused);
    count(&calls, "ok", figures.invocations - figures.not_run);
    count(&calls, "failed", figures.not_run);
    count(&gaps, {}, figures.gaps);
    lag.metric.push_back(metric({}));
    lag.metric.back().gauge.value = static_cast<double>(figures.lag_micros) / 1e6;
  }
  for (MetricFamily* family : {&records, &refused, &calls, &gaps, &lag})
    families->push_back(std::move(*family));
}

}  // namespace stator::server
