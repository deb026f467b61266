// Judges one table and collects the findings, by subject: keys in judge_keys.cc, items and reads in
// judge_items.cc, indexes in judge_indexes.cc, refusals and capacity in judge_capacity.cc. Internal
// to the room: judge.h is what others see.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "advise/judge.h"

namespace stator::advise {

// "40%", "0.25%".
std::string Percent(double part);
std::string NamesText(const std::set<std::string>& names);
// Returns the units per second that one partition can do.
double MostOf(throughput::Access access);

// All three outlive it.
class FindingCollector {
 public:
  FindingCollector(const Recording& recording, const TableReport& table,
                   const throughput::UnitPrices& prices)
      : recording_(recording), table_(table), prices_(prices) {}

  // Judges everything and returns the findings. Must be called once only.
  std::vector<Finding> Take();

 private:
  using Access = throughput::Access;

  Finding& Add(std::string id, Finding::Level level, const std::string& index, std::string text);
  // A key as every finding has it.
  static std::string Name(std::string_view key);
  // Returns what a month costs less without `read_units` and `write_units` of the recording.
  double MonthOf(double read_units, double write_units) const;
  static double ServedWrites(const ResourceReport& resource);
  // As it is, or as it was when it was deleted; null for a table.
  const request_log::IndexDefinition* IndexOf(const ResourceReport& resource) const;
  bool HasLocal() const;
  // A server's words on the hottest key: the cures, cheapest first, and before them a thing that
  // does not help.
  static std::string ToldText(const throughput::Explanation& told);

  // --- Keys
  void Keys(const ResourceReport& resource, Access access);
  // Whether nearly all writes go to one key at a time, and to another one later. Of a date it is
  // known what tomorrow brings; of other keys it must be seen.
  static bool MovesOn(const KeyLoadSummary& keys, Access access);
  // A sentence on the entries of an index that are large because of its projection, or nothing.
  std::string NarrowerText(const ResourceReport& resource) const;
  // Returns a sentence on the plan (throughput/suffixes.h) for a key that takes `units`; empty if
  // it needs no suffixes.
  std::string SpreadText(std::string_view key, double units, Access access,
                         const throughput::SpreadPlan& plan) const;
  void Suffixes(const ResourceReport& resource);

  // --- Items and reads
  void Items();
  static std::string Average(int64_t bytes, int64_t count);
  // Reads that could be fewer, or of less.
  void Reads();
  void Consistency(const ResourceReport& resource);
  void Deletes();
  void TimeToLive();
  // Items and item collections near their largest size.
  void Sizes();

  // --- Indexes
  void Indexes();
  void Projection(const request_log::IndexDefinition& index, const IndexUse& use);
  // Units that writes of the table pay in its global indexes.
  void Amplification();
  void Scans();

  // --- Refusals and capacity
  void Throttled();
  static std::string ReasonsText(const ReplaySummary& replay);
  void Billing();
  // Compares provisioned capacity with its use.
  void Capacity();

  const Recording& recording_;
  const TableReport& table_;
  const throughput::UnitPrices& prices_;
  std::vector<Finding> found_;
};

}  // namespace stator::advise
