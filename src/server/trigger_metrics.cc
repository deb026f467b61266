#include "server/trigger_metrics.h"

#include <string_view>
#include <utility>

namespace stator::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using Figures = triggers::Runner::Figures;
using Labels = std::vector<prometheus::ClientMetric::Label>;

struct Series {
  std::string_view result;  // a label; empty: none
  uint64_t Figures::*count;
};

constexpr Series kRecords[] = {
    {"delivered", &Figures::delivered},   {"filtered", &Figures::filtered},
    {"exhausted", &Figures::exhausted},   {"expired", &Figures::expired},
    {"unreported", &Figures::unreported},
};
constexpr Series kKinesisRecords[] = {
    {"delivered", &Figures::delivered},
    {"expired", &Figures::expired},
    {"too_large", &Figures::too_large},
};

prometheus::ClientMetric MetricOf(Labels labels, std::string_view result) {
  prometheus::ClientMetric metric;
  metric.label = std::move(labels);
  if (!result.empty()) metric.label.push_back({"result", std::string(result)});
  return metric;
}

void AddCount(const Labels& labels, std::string_view result, uint64_t count, MetricFamily* family) {
  family->metric.push_back(MetricOf(labels, result));
  family->metric.back().counter.value = static_cast<double>(count);
}

void AddLag(const Labels& labels, const Figures& figures, MetricFamily* family) {
  family->metric.push_back(MetricOf(labels, {}));
  family->metric.back().gauge.value = static_cast<double>(figures.lag_micros) / 1e6;
}

MetricFamily CounterOf(std::string name, std::string help) {
  return {std::move(name), std::move(help), MetricType::Counter, {}};
}

}  // namespace

void AddTriggerMetrics(const triggers::Runner& runner, std::vector<MetricFamily>* families) {
  const std::vector<Figures> all = runner.figures();
  if (all.empty()) return;
  MetricFamily records = CounterOf("stator_trigger_records_total",
                                   "Changes that event source mappings have done with");
  MetricFamily invocations =
      CounterOf("stator_trigger_invocations_total", "Calls of functions by event source mappings");
  MetricFamily gaps = CounterOf("stator_trigger_gaps_total",
                                "Times that a stream had lost changes before a mapping read them");
  MetricFamily windows = CounterOf("stator_trigger_windows_lost_total",
                                   "Tumbling windows whose final call was given up");
  MetricFamily refused =
      CounterOf("stator_trigger_refused_records_total",
                "Records that a stream or topic refused one by one; they are sent again");
  MetricFamily lag{"stator_trigger_lag_seconds",
                   "Age of the oldest change that was read and is not delivered",
                   MetricType::Gauge,
                   {}};
  for (const Figures& figures : all) {
    const Labels labels = {
        {"table", figures.table}, {"function", figures.function}, {"mapping", figures.uuid}};
    for (const Series& series : kRecords)
      AddCount(labels, series.result, figures.*series.count, &records);
    AddCount(labels, "ok", figures.invocations - figures.failures - figures.not_run, &invocations);
    AddCount(labels, "failed", figures.failures, &invocations);
    AddCount(labels, "not_run", figures.not_run, &invocations);
    AddCount(labels, {}, figures.gaps, &gaps);
    AddCount(labels, {}, figures.windows_lost, &windows);
    AddCount(labels, {}, figures.refused, &refused);
    AddLag(labels, figures, &lag);
  }
  for (MetricFamily* family : {&records, &invocations, &gaps, &windows, &refused, &lag})
    families->push_back(std::move(*family));
}

void AddKinesisMetrics(const triggers::Runner& runner, std::vector<MetricFamily>* families) {
  const std::vector<Figures> all = runner.figures();
  if (all.empty()) return;
  MetricFamily records =
      CounterOf("stator_kinesis_records_total", "Changes that Kinesis destinations have done with");
  MetricFamily refused =
      CounterOf("stator_kinesis_refused_records_total",
                "Records that the endpoint refused one by one; they are sent again");
  MetricFamily calls =
      CounterOf("stator_kinesis_calls_total", "Calls of the endpoint with records");
  MetricFamily gaps =
      CounterOf("stator_kinesis_gaps_total",
                "Times that changes were lost before they were read for a destination");
  MetricFamily lag{"stator_kinesis_lag_seconds",
                   "Age of the oldest change that was read and is not sent",
                   MetricType::Gauge,
                   {}};
  for (const Figures& figures : all) {
    const Labels labels = {{"table", figures.table}, {"stream", figures.function}};
    for (const Series& series : kKinesisRecords)
      AddCount(labels, series.result, figures.*series.count, &records);
    AddCount(labels, {}, figures.refused, &refused);
    AddCount(labels, "ok", figures.invocations - figures.not_run, &calls);
    AddCount(labels, "failed", figures.not_run, &calls);
    AddCount(labels, {}, figures.gaps, &gaps);
    AddLag(labels, figures, &lag);
  }
  for (MetricFamily* family : {&records, &refused, &calls, &gaps, &lag})
    families->push_back(std::move(*family));
}

}  // namespace stator::server
