// Findings on the size and the use of items.
#include <fmt/format.h>

#include <algorithm>

#include "advise/finding_collector.h"
#include "throughput/model_settings.h"

namespace stator::advise {

void FindingCollector::Items() {
  const NarrowUse& reads = table_.narrow_reads;
  if (reads.requests >= kFewRequests &&
      reads.units - reads.units_apart >= kWorthSaving * reads.units) {
    const double saved = reads.units - reads.units_apart;
    Finding& finding = Add(
        "split-items", Finding::Level::kSaving, "",
        fmt::format("{} reads ask for a part of the item ({}): {} of {} on average, and pay for "
                    "all of it. In an item of "
                    "their own those attributes would cost {} read units instead of {}, {} less.",
                    NumberText(static_cast<double>(reads.requests)), NamesText(reads.attributes),
                    Average(reads.asked_bytes, reads.requests),
                    Average(reads.stored_bytes, reads.requests), NumberText(reads.units_apart),
                    NumberText(reads.units), Percent(saved / reads.units)));
    finding.evidence = {{"reads", static_cast<double>(reads.requests)},
                        {"units", reads.units},
                        {"units_apart", reads.units_apart}};
    finding.saves_month = MonthOf(saved, 0);
  }
  const NarrowUse& updates = table_.narrow_updates;
  if (updates.requests >= kFewRequests &&
      updates.units - updates.units_apart >= kWorthSaving * updates.units) {
    const double saved = updates.units - updates.units_apart;
    Finding& finding = Add(
        "split-items-written", Finding::Level::kSaving, "",
        fmt::format(
            "{} updates give values of {} on average to items of {}, and pay for the whole item. "
            "With what changes "
            "often in an item of its own they would cost {} write units instead of {}, {} less.",
            NumberText(static_cast<double>(updates.requests)),
            Average(updates.asked_bytes, updates.requests),
            Average(updates.stored_bytes, updates.requests), NumberText(updates.units_apart),
            NumberText(updates.units), Percent(saved / updates.units)));
    finding.evidence = {{"updates", static_cast<double>(updates.requests)},
                        {"units", updates.units},
                        {"units_apart", updates.units_apart}};
    finding.saves_month = MonthOf(0, saved);
  }
}

std::string FindingCollector::Average(int64_t bytes, int64_t count) {
  const double average =
      static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, count));
  return average >= 1024 ? fmt::format("{:.1f} KB", average / 1024)
                         : fmt::format("{:.0f} bytes", average);
}

void FindingCollector::Reads() {
  const CollectionReads& gets = table_.collection_reads;
  if (gets.requests >= kFewRequests &&
      gets.units - gets.units_together >= kWorthSaving * gets.units) {
    Finding& finding = Add(
        "query-collection", Finding::Level::kSaving, "",
        fmt::format("{} GetItems read {} or more items of one collection in one second. One Query "
                    "rounds up once, not for each item: {} read units instead of {}, and one "
                    "request for each collection.",
                    NumberText(static_cast<double>(gets.requests)), kManyGets,
                    NumberText(gets.units_together), NumberText(gets.units)));
    finding.evidence = {{"reads", static_cast<double>(gets.requests)},
                        {"units", gets.units},
                        {"units_together", gets.units_together}};
    finding.saves_month = MonthOf(gets.units - gets.units_together, 0);
  }
  const NarrowUse& wide = table_.narrow_queries;
  if (wide.requests >= kFewRequests && wide.units - wide.units_apart >= kWorthSaving * wide.units) {
    Finding& finding =
        Add("slim-index", Finding::Level::kSaving, "",
            fmt::format(
                "{} Queries read {} on average and answer {} of it ({}). A global index with "
                "the same keys that projects only those attributes would cost {} read units "
                "instead of {}.",
                NumberText(static_cast<double>(wide.requests)),
                Average(wide.stored_bytes, wide.requests), Average(wide.asked_bytes, wide.requests),
                NamesText(wide.attributes), NumberText(wide.units_apart), NumberText(wide.units)));
    finding.evidence = {{"queries", static_cast<double>(wide.requests)},
                        {"units", wide.units},
                        {"units_apart", wide.units_apart}};
    finding.saves_month = MonthOf(wide.units - wide.units_apart, 0);
  }
}

void FindingCollector::Consistency(const ResourceReport& resource) {
  const double reads = resource.keys[0].units;
  const double strong = resource.strong_units;
  if (resource.requests[0] < kFewRequests ||
      strong < kWorthSaving * std::max(reads, strong + resource.eventual_units))
    return;
  Finding& finding = Add(
      "eventual-reads", Finding::Level::kSaving, "",
      fmt::format("{} of the read units are of strongly consistent reads. Where the latest write "
                  "need not be seen, "
                  "eventually consistent ones save up to {} units, {} of all reads.",
                  Percent(strong / (strong + resource.eventual_units)), NumberText(strong / 2),
                  Percent(strong / 2 / (strong + resource.eventual_units))));
  finding.evidence = {{"strong_units", strong}, {"saves_read_units", strong / 2}};
  finding.saves_month = MonthOf(strong / 2, 0);
}

void FindingCollector::Deletes() {
  const double all = table_.resources.empty() ? 0 : table_.resources[0].keys[1].units;
  if (table_.deletes < kFewRequests || table_.delete_units < kDeleteChurn * all) return;
  Finding& finding = Add(
      "delete-churn", Finding::Level::kSaving, "",
      fmt::format("{} deletes took {} write units, {} of all. Let time to live delete, which is "
                  "free, or begin a new table each month and delete the old one whole.",
                  NumberText(static_cast<double>(table_.deletes)), NumberText(table_.delete_units),
                  Percent(table_.delete_units / all)));
  finding.evidence = {{"deletes", static_cast<double>(table_.deletes)},
                      {"write_units", table_.delete_units}};
  finding.saves_month = MonthOf(0, table_.delete_units);
}

void FindingCollector::TimeToLive() {
  const int64_t wrong = table_.ttl_millis + table_.ttl_text;
  if (wrong == 0) return;
  Finding& finding =
      Add("ttl-form", Finding::Level::kProblem, "",
          fmt::format("{} items were written with a time to live {}: they never expire. The "
                      "attribute must be a number of seconds since 1970.",
                      NumberText(static_cast<double>(wrong)),
                      table_.ttl_text == 0     ? "in milliseconds"
                      : table_.ttl_millis == 0 ? "that is a text"
                                               : "in milliseconds or as a text"));
  finding.evidence = {{"millis", static_cast<double>(table_.ttl_millis)},
                      {"text", static_cast<double>(table_.ttl_text)}};
}

void FindingCollector::Sizes() {
  const int64_t largest = std::max(table_.sizes[0].largest, table_.sizes[1].largest);
  if (largest >= kLargeItem) {
    Finding& finding = Add(
        "large-item", Finding::Level::kProblem, "",
        fmt::format("The largest item has {:.0f} KB; an item has 400 KB at most, and writes that "
                    "exceed it fail. Divide it into several items of one collection, or keep the "
                    "large value in an object store and its address here.",
                    static_cast<double>(largest) / 1024));
    finding.evidence = {{"largest", static_cast<double>(largest)}};
  }
  if (!HasLocal() || table_.resources.empty() || table_.resources[0].keys[1].hottest.empty())
    return;
  // How large a collection is, is not recorded: its part of the writes is taken as its part of
  // the data.
  const KeyLoadSummary::Key& key = table_.resources[0].keys[1].hottest[0];
  int64_t bytes = table_.definition.bytes;
  for (const request_log::IndexDefinition& index : table_.definition.indexes)
    bytes += index.global ? 0 : index.bytes;
  const double collection = key.share * static_cast<double>(bytes);
  const throughput::ModelSettings model;
  if (collection < kLargeCollection * model.partition_bytes) return;
  Finding& finding = Add(
      "large-collection", Finding::Level::kProblem, "",
      fmt::format("The item collection {} has about {:.1f} GB by its part of the writes; with a "
                  "local index it has 10 GB at most, and writes that exceed it fail. Use global "
                  "indexes, or divide the collection with a suffix.",
                  Name(key.key), collection / (1 << 30)));
  finding.evidence = {{"bytes", collection}, {"share", key.share}};
}

}  // namespace stator::advise
