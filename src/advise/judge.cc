#include "advise/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "advise/finding_collector.h"
#include "base/printable.h"
#include "throughput/model_settings.h"

namespace stator::advise {

using throughput::Access;

double MostOf(Access access) {
  const throughput::ModelSettings model;
  return access == Access::kRead ? model.partition_read_units : model.partition_write_units;
}

std::string Percent(double part) {
  return part > 0 && part < 0.01 ? fmt::format("{:.2f}%", 100 * part)
                                 : fmt::format("{:.0f}%", 100 * part);
}

std::string NamesText(const std::set<std::string>& names) {
  std::string out = fmt::format("{}", fmt::join(names, ", "));
  if (names.size() >= kMostAttributes) out += " and more";
  return out;
}

std::vector<Finding> FindingCollector::Take() {
  for (const ResourceReport& resource : table_.resources) {
    for (const Access access : {Access::kRead, Access::kWrite}) Keys(resource, access);
    Consistency(resource);
    Suffixes(resource);
  }
  Throttled();
  Items();
  Sizes();
  Reads();
  Deletes();
  Indexes();
  Scans();
  Billing();
  TimeToLive();
  Amplification();
  // An index that is not read in a recording may be read on the last day of a month.
  const auto last = [](const Finding& finding) { return finding.id == "unused-index"; };
  std::stable_sort(found_.begin(), found_.end(), [&](const Finding& a, const Finding& b) {
    if (last(a) != last(b)) return last(b);
    if (a.level != b.level) return a.level < b.level;
    return a.saves_month.value_or(0) > b.saves_month.value_or(0);
  });
  if (recording_.seconds() < kMonthNeeds) {
    for (Finding& finding : found_) finding.saves_month.reset();
  }
  return std::move(found_);
}

Finding& FindingCollector::Add(std::string id, Finding::Level level, const std::string& index,
                               std::string text) {
  Finding& finding = found_.emplace_back();
  finding.id = std::move(id);
  finding.level = level;
  finding.table = table_.definition.name;
  finding.index = index;
  finding.text = std::move(text);
  return finding;
}

std::string FindingCollector::Name(std::string_view key) {
  return fmt::format("\"{}\"", KeyForPeople(key));
}

double FindingCollector::MonthOf(double read_units, double write_units) const {
  const double reads = read_units / recording_.seconds(),
               writes = write_units / recording_.seconds();
  if (table_.definition.on_demand) return throughput::OnDemandMonth(prices_, reads, writes);
  const double target = throughput::AutoScalingSettings{}.target;
  return throughput::ProvisionedMonth(prices_, reads / target, writes / target);
}

double FindingCollector::ServedWrites(const ResourceReport& resource) {
  return resource.cost.average.write * resource.cost.seconds;
}

const request_log::IndexDefinition* FindingCollector::IndexOf(
    const ResourceReport& resource) const {
  if (!resource.is_index) return nullptr;
  for (const auto* list : {&table_.definition.indexes, &table_.deleted_indexes}) {
    for (const request_log::IndexDefinition& index : *list) {
      if (index.name == resource.name) return &index;
    }
  }
  return nullptr;
}

bool FindingCollector::HasLocal() const {
  return std::any_of(table_.definition.indexes.begin(), table_.definition.indexes.end(),
                     [](const auto& index) { return !index.global; });
}

std::string FindingCollector::ToldText(const throughput::Explanation& told) {
  std::string text = told.no_help.empty() ? "" : " " + told.no_help;
  for (const std::string& sentence : told.advice) text += " " + sentence;
  for (const std::string& sentence : told.notes) text += " " + sentence;
  return text;
}

std::string_view GradeText(Grade grade) {
  static constexpr std::string_view kTexts[] = {"good", "fair", "poor", "unknown"};
  return kTexts[static_cast<size_t>(grade)];
}

Grade GradeOf(const KeyLoadSummary& keys) {
  if (keys.hottest.empty()) return Grade::kUnknown;
  const double share = keys.hottest[0].share;
  if (share >= kPoorTopShare || keys.effective < kPoorEffectiveKeys) return Grade::kPoor;
  if (share >= kFairTopShare || keys.effective < kFairEffectiveKeys) return Grade::kFair;
  return Grade::kGood;
}

MonthlyCost CostOf(const throughput::UnitPrices& prices, const ResourceReport& resource,
                   int64_t bytes) {
  const CostSummary& cost = resource.cost;
  MonthlyCost out;
  out.on_demand = throughput::OnDemandMonth(prices, cost.average.read, cost.average.write);
  out.scaled = throughput::ProvisionedMonth(prices, cost.scaled.read, cost.scaled.write);
  out.fixed = throughput::ProvisionedMonth(prices, cost.fixed.read, cost.fixed.write);
  out.storage = throughput::StorageMonth(prices, static_cast<double>(bytes));
  return out;
}

std::vector<Finding> Judge(const Recording& recording, const TableReport& table,
                           const throughput::UnitPrices& prices) {
  return FindingCollector(recording, table, prices).Take();
}

std::vector<std::string> LimitsOf(const Recording& recording) {
  std::vector<std::string> limits;
  const auto number = [](int64_t count) { return NumberText(static_cast<double>(count)); };
  limits.push_back(
      recording.seconds() < kMonthNeeds
          ? fmt::format("It covers {}: too little for the cost of a month, which an hour at least "
                        "is needed for.",
                        SpanText(recording.seconds()))
          : fmt::format("It covers {}; months are that span, repeated.",
                        SpanText(recording.seconds())));
  if (recording.lost > 0) {
    limits.push_back(
        fmt::format("{} requests were not recorded because the disk was too slow ({} of all): "
                    "rates are higher than they look.",
                    number(recording.lost),
                    Percent(static_cast<double>(recording.lost) /
                            static_cast<double>(recording.lost + recording.requests))));
  }
  if (recording.damaged > 0)
    limits.push_back(
        fmt::format("{} lines are damaged and were passed over.", number(recording.damaged)));
  if (recording.not_analysed > 0) {
    limits.push_back(fmt::format("{} requests are on more tables and indexes than are looked at.",
                                 number(recording.not_analysed)));
  }
  if (recording.hashed)
    limits.push_back(
        "Keys are hashed: whether keys rise with time can be seen of partition keys only, by who "
        "follows whom.");
  if (recording.secrets > 1)
    limits.push_back("The recordings hide keys in different ways, so a key counts once for each.");
  if (recording.full) limits.push_back("A recording ended at --record-max-mb.");
  if (recording.cut_off)
    limits.push_back(
        "A recording has no end: its server runs still, or was killed; sizes of tables may be "
        "old.");
  if (recording.out_of_order > 0)
    limits.push_back(fmt::format("{} requests are older than those before them and count as later.",
                                 number(recording.out_of_order)));
  return limits;
}

std::string KeyForPeople(std::string_view key) {
  std::string out;
  while (!key.empty()) {
    const size_t end = std::min(key.find('\x1f'), key.size());
    std::string_view value = key.substr(0, end);
    if (value.size() > 1 && value[1] == ':') value.remove_prefix(2);
    if (!out.empty()) out += " / ";
    AppendPrintable(&out, value);
    key.remove_prefix(std::min(end + 1, key.size()));
  }
  return out;
}

std::string SpanText(double seconds) {
  const int64_t whole = std::llround(seconds);
  if (whole >= 2 * 86400) return fmt::format("{}d {}h", whole / 86400, whole % 86400 / 3600);
  if (whole >= 3600) return fmt::format("{}h {}m", whole / 3600, whole % 3600 / 60);
  if (whole >= 60) return fmt::format("{}m {}s", whole / 60, whole % 60);
  return fmt::format("{}s", whole);
}

std::string NumberText(double number) {
  if (std::abs(number) < 100 && number != std::floor(number)) return fmt::format("{:.3g}", number);
  std::string digits = fmt::format("{:.0f}", number);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > (number < 0 ? 1 : 0); at -= 3) {
    digits.insert(static_cast<size_t>(at), 1, ',');
  }
  return digits;
}

}  // namespace stator::advise
