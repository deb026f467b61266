#include "server/throughput_metrics.h"

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

#include "table/store.h"

namespace stator::server {
namespace {

using prometheus::MetricFamily;
using prometheus::MetricType;
using throughput::Access;
using throughput::Billing;
using throughput::Limit;
using throughput::Rates;
using Resource = ops::Admission::Resource;

constexpr std::array<Access, throughput::kAccesses> kBoth = {Access::kRead, Access::kWrite};
std::string_view Word(Access access) { return access == Access::kRead ? "read" : "write"; }

// Returns the middle part of CloudWatch's metric name for throttle events of a limit.
std::string_view Word(Limit limit) {
  switch (limit) {
    case Limit::kProvisioned: return "provisioned_throughput";
    case Limit::kAccount: return "account_limit";
    case Limit::kKeyRange: return "key_range_throughput";
    case Limit::kMaxOnDemand: return "max_on_demand_throughput";
  }
  return "";
}

class Family {
 public:
  Family(std::string name, MetricType type, std::string help)
      : family_{std::move(name), std::move(help), type, {}} {}

  void Add(double value) { AddMetric(value); }
  void Add(const Resource& resource, double value) {
    AddMetric(value).label.push_back({"table", resource.table->descriptor.name});
    if (resource.index != nullptr)
      family_.metric.back().label.push_back({"index", resource.index->name});
  }
  void MoveTo(std::vector<MetricFamily>* families) {
    if (!family_.metric.empty()) families->push_back(std::move(family_));
  }

 private:
  prometheus::ClientMetric& AddMetric(double value) {
    prometheus::ClientMetric& metric = family_.metric.emplace_back();
    (family_.type == MetricType::Counter ? metric.counter.value : metric.gauge.value) = value;
    return metric;
  }
  MetricFamily family_;
};

bool IsProvisioned(const Resource& resource) {
  return resource.meter->resource().billing() == Billing::kProvisioned;
}

void AddCapacity(const std::vector<Resource>& resources, Access access,
                 std::vector<MetricFamily>* families) {
  const std::string word(Word(access));
  Family consumed("stator_consumed_" + word + "_capacity_units_total", MetricType::Counter,
                  "Capacity units consumed");
  Family provisioned("stator_provisioned_" + word + "_capacity_units", MetricType::Gauge,
                     "Capacity units per second that are provisioned");
  Family maximum("stator_on_demand_max_" + word + "_request_units", MetricType::Gauge,
                 "The maximum that OnDemandThroughput sets");
  Family events("stator_" + word + "_throttle_events_total", MetricType::Counter,
                "Requests beyond a limit; with --throttling=observe they passed");
  for (const Resource& resource : resources) {
    const throughput::Meter& meter = *resource.meter;
    const throughput::Resource& model = meter.resource();
    consumed.Add(resource, model.consumed().Of(access) + meter.let_pass().Of(access));
    if (IsProvisioned(resource)) {
      provisioned.Add(resource, model.provisioned().Of(access));
    } else {
      const auto set = [access](const auto& of) {
        return access == Access::kRead ? of.max_read_request_units : of.max_write_request_units;
      };
      const std::optional<int64_t> units = resource.index != nullptr
                                               ? set(resource.index->throughput)
                                               : set(resource.table->descriptor);
      if (units && *units > 0) maximum.Add(resource, static_cast<double>(*units));
    }
    int64_t all = 0;
    for (size_t l = 0; l < throughput::kLimits; ++l)
      all += meter.refusals(access, static_cast<Limit>(l));
    events.Add(resource, static_cast<double>(all));
  }
  for (Family* family : {&consumed, &provisioned, &maximum, &events}) family->MoveTo(families);
  for (size_t l = 0; l < throughput::kLimits; ++l) {
    const auto limit = static_cast<Limit>(l);
    Family by_limit("stator_" + word + "_" + std::string(Word(limit)) + "_throttle_events_total",
                    MetricType::Counter, "Those of one limit; only where there were some");
    for (const Resource& resource : resources) {
      const int64_t count = resource.meter->refusals(access, limit);
      if (count > 0) by_limit.Add(resource, static_cast<double>(count));
    }
    by_limit.MoveTo(families);
  }
}

// Adds the used percentages of the account's quotas (those of DescribeLimits), as CloudWatch has
// them.
void AddUtilization(const std::vector<Resource>& resources, Access access,
                    const throughput::ModelSettings& s, std::vector<MetricFamily>* families) {
  const std::string word(Word(access));
  const Rates of_account{s.account_quota_read_units, s.account_quota_write_units};
  const Rates of_table{s.table_quota_read_units, s.table_quota_write_units};
  double sum = 0;
  double most = 0;
  for (const Resource& resource : resources) {
    if (!IsProvisioned(resource)) continue;
    const double units = resource.meter->resource().provisioned().Of(access);
    sum += units;
    most = std::max(most, units);
  }
  Family account("stator_account_provisioned_" + word + "_capacity_utilization", MetricType::Gauge,
                 "Percent of the account's quota that is provisioned");
  Family table("stator_max_provisioned_table_" + word + "_capacity_utilization", MetricType::Gauge,
               "Percent of a table's quota that the largest table or index has provisioned");
  Family account_quota("stator_account_max_" + word + "s", MetricType::Gauge,
                       "The account's quota in capacity units");
  Family table_quota("stator_account_max_table_level_" + word + "s", MetricType::Gauge,
                     "The quota of a table or index in capacity units");
  account.Add(100 * sum / of_account.Of(access));
  table.Add(100 * most / of_table.Of(access));
  account_quota.Add(of_account.Of(access));
  table_quota.Add(of_table.Of(access));
  for (Family* family : {&account, &table, &account_quota, &table_quota}) family->MoveTo(families);
}

}  // namespace

std::vector<MetricFamily> ThroughputMetrics(const ops::Environment& environment) {
  const std::vector<Resource> resources = environment.admission.Resources();
  std::vector<MetricFamily> families;
  for (const Access access : kBoth) AddCapacity(resources, access, &families);
  for (const Access access : kBoth)
    AddUtilization(resources, access, environment.settings.throughput, &families);
  Family partitions("stator_partitions", MetricType::Gauge, "Partitions of the throughput model");
  Family enforced("stator_throttling_enforced", MetricType::Gauge,
                  "1: requests beyond a limit are refused, 0: they pass");
  for (const Resource& resource : resources) {
    partitions.Add(resource, static_cast<double>(resource.meter->resource().partition_count()));
    enforced.Add(resource, resource.meter->mode() == throughput::Throttling::kEnforce ? 1 : 0);
  }
  partitions.MoveTo(&families);
  enforced.MoveTo(&families);
  return families;
}

}  // namespace stator::server
