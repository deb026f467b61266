// Findings on indexes.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "advise/finding_collector.h"

namespace stator::advise {

void FindingCollector::Indexes() {
  int64_t requests = 0;
  for (const ResourceReport& resource : table_.resources)
    requests += resource.requests[0] + resource.requests[1];
  for (const request_log::IndexDefinition& index : table_.definition.indexes) {
    const auto found = table_.indexes.find(index.name);
    const IndexUse use = found == table_.indexes.end() ? IndexUse() : found->second;
    if (use.reads == 0) {
      if (requests < kFewRequests) continue;
      std::string text = fmt::format("No request read index {} in all {} of this recording.",
                                     index.name, SpanText(recording_.seconds()));
      if (use.write_units > 0) {
        text +=
            fmt::format(" Keeping it up to date cost {} write units.", NumberText(use.write_units));
      }
      text +=
          " Record a whole month, its end included. If nothing reads the index then either, "
          "delete it.";
      Finding& finding = Add("unused-index", Finding::Level::kSaving, index.name, std::move(text));
      finding.evidence = {{"reads", 0},
                          {"write_units", use.write_units},
                          {"bytes", static_cast<double>(index.bytes)}};
      finding.saves_month = MonthOf(0, use.write_units) +
                            throughput::StorageMonth(prices_, static_cast<double>(index.bytes));
      continue;
    }
    Projection(index, use);
  }
}

void FindingCollector::Projection(const request_log::IndexDefinition& index, const IndexUse& use) {
  if (index.projection == request_log::Projection::kKeysOnly || use.everything ||
      use.reads < kFewRequests || use.attributes.size() >= kMostAttributes) {
    return;
  }
  const double saved = use.read_units - use.units_apart;
  if (saved < kWorthSaving * use.read_units) return;
  // Keys are projected anyway.
  std::set<std::string> keys;
  for (const auto* names :
       {&index.partition, &index.sort, &table_.definition.partition, &table_.definition.sort}) {
    for (const std::string& name : *names) keys.insert(name.substr(0, name.rfind(':')));
  }
  std::set<std::string> include;
  std::set_difference(use.attributes.begin(), use.attributes.end(), keys.begin(), keys.end(),
                      std::inserter(include, include.end()));
  Finding& finding =
      Add("wide-projection", Finding::Level::kSaving, index.name,
          fmt::format(
              "All {} reads of index {} name the attributes they want. Projection {} would do; it "
              "would save up to {} "
              "of {} read units, besides storage and the writes that change other attributes only.",
              NumberText(static_cast<double>(use.reads)), index.name,
              include.empty() ? std::string("KEYS_ONLY")
                              : fmt::format("INCLUDE ({})", NamesText(include)),
              NumberText(saved), NumberText(use.read_units)));
  finding.evidence = {{"reads", static_cast<double>(use.reads)},
                      {"read_units", use.read_units},
                      {"units_apart", use.units_apart}};
  finding.saves_month = MonthOf(saved, 0);
}

void FindingCollector::Amplification() {
  double units = 0;
  std::string names;
  for (const auto& [name, use] : table_.indexes) {
    if (use.write_units <= 0) continue;
    units += use.write_units;
    names += fmt::format("{}{} {}", names.empty() ? "" : ", ", name, NumberText(use.write_units));
  }
  // Served ones, as those of the indexes are.
  const double own = table_.resources.empty() ? 0 : ServedWrites(table_.resources[0]);
  if (own < static_cast<double>(kFewRequests) || units < kAmplified * own) return;
  Finding& finding = Add(
      "index-amplification", Finding::Level::kHint, "",
      fmt::format("Each write unit of the table costs {} more in its indexes ({}). Project less, "
                  "leave out of an index what it is not asked for (a sparse index), or serve two "
                  "access patterns with one index.",
                  NumberText(units / own), names));
  finding.evidence = {{"table_write_units", own}, {"index_write_units", units}};
}

void FindingCollector::Scans() {
  double reads = 0;
  for (const ResourceReport& resource : table_.resources)
    reads += resource.cost.average.read * recording_.seconds();
  for (const Pattern& pattern : table_.patterns) {
    if (pattern.filter.empty() || pattern.units < kWorthLooking * reads || pattern.scanned < 1000)
      continue;
    const double ratio = static_cast<double>(pattern.scanned) /
                         static_cast<double>(std::max<int64_t>(1, pattern.returned));
    if (ratio < kWideScan) continue;
    const double needed =
        std::max(pattern.units / ratio, 0.5 * static_cast<double>(pattern.requests));
    if (pattern.operation == "Query") {
      Finding& finding = Add(
          "sort-key-prefix", Finding::Level::kSaving, pattern.index,
          fmt::format("{} Queries with a filter on {} read {} items to return {}. Begin the sort "
                      "key with {}, so that begins_with or a range reads the wanted items alone; "
                      "if another order is needed, too, in an index. That costs about {} units "
                      "instead of {}.",
                      NumberText(static_cast<double>(pattern.requests)),
                      fmt::format("{}", fmt::join(pattern.filter, ", ")),
                      NumberText(static_cast<double>(pattern.scanned)),
                      NumberText(static_cast<double>(pattern.returned)),
                      fmt::format("{}", fmt::join(pattern.filter, " and ")), NumberText(needed),
                      NumberText(pattern.units)));
      finding.evidence = {{"requests", static_cast<double>(pattern.requests)},
                          {"scanned", static_cast<double>(pattern.scanned)},
                          {"returned", static_cast<double>(pattern.returned)},
                          {"read_units", pattern.units}};
      finding.saves_month = MonthOf(pattern.units - needed, 0);
      continue;
    }
    Finding& finding =
        Add("sparse-index", Finding::Level::kSaving, pattern.index,
            fmt::format("{} {} with a filter on {} read {} items to return {}. A sparse global "
                        "index whose key is an attribute "
                        "that only the wanted items have ({}) would be read for about {} units "
                        "instead of {}.",
                        NumberText(static_cast<double>(pattern.requests)),
                        pattern.operation == "Scan" ? "Scans" : "Queries",
                        fmt::format("{}", fmt::join(pattern.filter, ", ")),
                        NumberText(static_cast<double>(pattern.scanned)),
                        NumberText(static_cast<double>(pattern.returned)),
                        fmt::format("made of {}", fmt::join(pattern.filter, " and ")),
                        NumberText(needed), NumberText(pattern.units)));
    finding.evidence = {{"requests", static_cast<double>(pattern.requests)},
                        {"scanned", static_cast<double>(pattern.scanned)},
                        {"returned", static_cast<double>(pattern.returned)},
                        {"read_units", pattern.units}};
    finding.saves_month = MonthOf(pattern.units - needed, 0);
  }
}

}  // namespace stator::advise
