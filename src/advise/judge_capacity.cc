// Findings on capacity and billing.
#include <fmt/format.h>

#include <algorithm>

#include "advise/finding_collector.h"
#include "base/time_text.h"

namespace stator::advise {

void FindingCollector::Throttled() {
  if (table_.throttled > 0) {
    const throughput::Rates& asked = table_.throttled_units;
    std::string text = fmt::format(
        "The server throttled {} requests of the recording. They asked for {} read and {} write "
        "units, by the size of their items (a retry asks again); busiest seconds, busiest "
        "minutes and capacity in this report count them.",
        NumberText(static_cast<double>(table_.throttled)), NumberText(asked.read),
        NumberText(asked.write));
    if (table_.throttled_unknown > 0) {
      text += fmt::format(" Of {} it is not known.",
                          NumberText(static_cast<double>(table_.throttled_unknown)));
    }
    Finding& finding = Add("throttled", Finding::Level::kProblem, "", std::move(text));
    finding.evidence = {{"requests", static_cast<double>(table_.throttled)},
                        {"read_units", asked.read},
                        {"write_units", asked.write}};
  }
  const ReplaySummary& replay = table_.replay;
  if (replay.throttled == 0) return;
  std::string text =
      fmt::format("On the throughput model {} of {} requests would have been throttled, {}.",
                  NumberText(static_cast<double>(replay.throttled)),
                  NumberText(static_cast<double>(replay.requests)), ReasonsText(replay));
  if (replay.worst) {
    const throughput::Explanation& worst = *replay.worst;
    text += fmt::format(" {} ({}).{}", worst.cause, FormatTime(worst.at_micros), ToldText(worst));
  }
  Finding& finding =
      Add("model-throttles", Finding::Level::kProblem,
          replay.worst && replay.worst->index ? replay.worst->resource : "", std::move(text));
  finding.evidence = {{"requests", static_cast<double>(replay.requests)},
                      {"throttled", static_cast<double>(replay.throttled)},
                      {"partitions", static_cast<double>(replay.partitions)}};
}

std::string FindingCollector::ReasonsText(const ReplaySummary& replay) {
  std::string out;
  for (const auto& [reason, count] : replay.reasons) {
    out += fmt::format("{}{} by {}", out.empty() ? "" : ", ",
                       NumberText(static_cast<double>(count)), reason);
  }
  return out;
}

void FindingCollector::Billing() {
  MonthlyCost all;
  for (const ResourceReport& resource : table_.resources) {
    const MonthlyCost cost = CostOf(prices_, resource, 0);
    all.on_demand += cost.on_demand;
    all.scaled += cost.scaled;
    all.fixed += cost.fixed;
  }
  Capacity();
  if (all.on_demand <= 0 || all.scaled <= 0 || recording_.seconds() < kMonthNeeds) return;
  const bool on_demand = table_.definition.on_demand;
  const double now = on_demand ? all.on_demand : all.scaled,
               other = on_demand ? all.scaled : all.on_demand;
  if (now - other < kWorthSaving * now) return;
  Finding& finding = Add(
      "billing-mode", Finding::Level::kSaving, "",
      on_demand
          ? fmt::format(
                "On demand this load costs {:.2f} a month, provisioned with auto scaling {:.2f}.",
                now, other)
          : fmt::format(
                "Provisioned with auto scaling this load costs {:.2f} a month, on demand {:.2f}.",
                now, other));
  if (recording_.seconds() < 86400) {
    finding.text +=
        fmt::format(" That takes {} for a month: record a day at least before deciding.",
                    SpanText(recording_.seconds()));
  }
  finding.evidence = {{"on_demand_month", all.on_demand}, {"auto_scaled_month", all.scaled}};
  finding.saves_month = now - other;
}

void FindingCollector::Capacity() {
  const request_log::TableDefinition& d = table_.definition;
  // Capacity that refused requests is not spare, however little was served.
  if (d.on_demand || !table_.defined || table_.throttled > 0 || table_.replay.throttled > 0) return;
  for (const ResourceReport& resource : table_.resources) {
    throughput::Rates now{d.read_units, d.write_units};
    for (const request_log::IndexDefinition& index : d.indexes) {
      if (resource.is_index && index.name == resource.name)
        now = {index.read_units, index.write_units};
    }
    const CostSummary& cost = resource.cost;
    const throughput::Rates spare{now.read - cost.fixed.read, now.write - cost.fixed.write};
    const double paid = throughput::ProvisionedMonth(prices_, now.read, now.write);
    const double scaled =
        throughput::ProvisionedMonth(prices_, cost.scaled.read, cost.scaled.write);
    if (std::max(spare.read, spare.write) < kFewUnits || paid - scaled < kWorthSaving * paid)
      continue;
    Finding& finding = Add(
        "capacity", Finding::Level::kSaving, resource.is_index ? resource.name : "",
        fmt::format("Provisioned are {} RCU and {} WCU; the busiest minute asks for {} and {} per "
                    "second, the busiest second for {} and {}. {} RCU and {} WCU hold "
                    "both, the minute at 70%, and auto scaling would provide {} and {} on "
                    "average.",
                    NumberText(now.read), NumberText(now.write),
                    NumberText(cost.busiest_minute.read), NumberText(cost.busiest_minute.write),
                    NumberText(cost.busiest_second.read), NumberText(cost.busiest_second.write),
                    NumberText(cost.fixed.read), NumberText(cost.fixed.write),
                    NumberText(cost.scaled.read), NumberText(cost.scaled.write)));
    finding.evidence = {{"provisioned_read", now.read},
                        {"provisioned_write", now.write},
                        {"suggested_read", cost.fixed.read},
                        {"suggested_write", cost.fixed.write}};
    finding.saves_month = paid - scaled;
  }
}

}  // namespace stator::advise
