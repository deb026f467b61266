#include "advise/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/time_text.h"
#include "throughput/model_settings.h"

namespace stator::advise {
namespace {

using throughput::Access;

constexpr std::string_view kWords[] = {"read", "write"};

double MostOf(Access access) {
  const throughput::ModelSettings model;
  return access == Access::kRead ? model.partition_read_units : model.partition_write_units;
}

std::string Percent(double part) {
  return part > 0 && part < 0.01 ? fmt::format("{:.2f}%", 100 * part)
                                 : fmt::format("{:.0f}%", 100 * part);
}

bool LooksLikeDate(std::string_view key) {
  const std::string text = KeyForPeople(key);
  // "2026-11-21" or "20261121" anywhere in it.
  for (size_t i = 0; i + 8 <= text.size(); ++i) {
    std::string digits;
    size_t at = i;
    for (; at < text.size() && digits.size() < 8; ++at) {
      if (text[at] >= '0' && text[at] <= '9') {
        digits += text[at];
      } else if (!((text[at] == '-' || text[at] == '/') &&
                   (digits.size() == 4 || digits.size() == 6))) {
        break;
      }
    }
    const bool ends = at == text.size() || text[at] < '0' || text[at] > '9';
    const bool begins = i == 0 || text[i - 1] < '0' || text[i - 1] > '9';
    if (digits.size() == 8 && begins && ends && digits >= "19700101" && digits <= "21001231" &&
        digits.substr(4, 2) >= "01" && digits.substr(4, 2) <= "12" && digits.substr(6) >= "01" &&
        digits.substr(6) <= "31") {
      return true;
    }
  }
  return false;
}

std::string NamesText(const std::set<std::string>& names) {
  std::string out = fmt::format("{}", fmt::join(names, ", "));
  if (names.size() >= kMostAttributes) out += " and more";
  return out;
}

class Bench {
 public:
  Bench(const Recording& recording, const TableReport& table, const throughput::UnitPrices& prices)
      : recording_(recording), table_(table), prices_(prices) {}

  std::vector<Finding> Take() {
    for (const ResourceReport& resource : table_.resources) {
      for (const Access access : {Access::kRead, Access::kWrite}) Keys(resource, access);
      Consistency(resource);
    }
    Throttled();
    Items();
    Indexes();
    Scans();
    Billing();
    std::stable_sort(found_.begin(), found_.end(), [](const Finding& a, const Finding& b) {
      if (a.level != b.level) return a.level < b.level;
      return a.saves_month.value_or(0) > b.saves_month.value_or(0);
    });
    return std::move(found_);
  }

 private:
  Finding& Add(std::string id, Finding::Level level, const std::string& index, std::string text) {
    Finding& finding = found_.emplace_back();
    finding.id = std::move(id);
    finding.level = level;
    finding.table = table_.definition.name;
    finding.index = index;
    finding.text = std::move(text);
    return finding;
  }

  // So many units less, in all of the recording, a month.
  double MonthOf(double read_units, double write_units) const {
    const double reads = read_units / recording_.seconds(),
                 writes = write_units / recording_.seconds();
    if (table_.definition.on_demand) return throughput::OnDemandMonth(prices_, reads, writes);
    const double target = throughput::AutoScalingSettings{}.target;
    return throughput::ProvisionedMonth(prices_, reads / target, writes / target);
  }

  void Keys(const ResourceReport& resource, Access access) {
    const size_t a = static_cast<size_t>(access);
    const KeyLoadSummary& keys = resource.keys[a];
    const std::string_view word = kWords[a];
    const double most = MostOf(access);
    const std::string index = resource.is_index ? resource.name : "";
    if (resource.requests[a] < kFewRequests || keys.hottest.empty()) return;
    const KeyLoadSummary::Key& top = keys.hottest[0];
    const bool hot = keys.peak_key_per_second >= kHotPart * most;
    const int64_t shards = throughput::ShardsNeeded(keys.peak_key_per_second, access);
    if (hot) {
      const bool over = keys.peak_key_per_second > most;
      std::string text = fmt::format(
          "Key {} takes {} {} units in its busiest second ({}); one partition serves {}.",
          KeyForPeople(keys.peak_key), NumberText(keys.peak_key_per_second), word,
          FormatTime(keys.peak_key_micros), NumberText(most));
      text += shards < 2 ? " Spread" : fmt::format(" It would need {} partitions: spread", shards);
      text += fmt::format(" it over {} values (a suffix, random or computed of another attribute).",
                          std::max<int64_t>(2, shards));
      if (access == Access::kRead && resource.strong_units > 0)
        text += " Eventually consistent reads cost half of that.";
      if (access == Access::kRead) text += " A cache in front of it does the same for reads.";
      if (top.sort_rises)
        text +=
            " Its new sort keys rise with time, so a partition split for heat would leave the heat "
            "on one side.";
      Finding& finding = Add("hot-key", over ? Finding::Level::kProblem : Finding::Level::kHint,
                             index, std::move(text));
      finding.evidence = {{"peak_units_per_second", keys.peak_key_per_second},
                          {"partition_units_per_second", most},
                          {"shards", static_cast<double>(std::max<int64_t>(2, shards))},
                          {"share", top.share}};
    }
    if (access == Access::kWrite && (keys.MovesOn() || keys.rises || LooksLikeDate(top.key)) &&
        (keys.leaders > 0 && top.share > kFairTopShare)) {
      // Of a date it is known what tomorrow brings; of other keys it must be seen.
      const bool dated = LooksLikeDate(top.key);
      if (dated || keys.MovesOn()) {
        std::string text = fmt::format(
            "At any time nearly all writes go to one key, such as {}, and it moves on with "
            "time{}: ",
            KeyForPeople(top.key),
            keys.leaders > 1 ? fmt::format(" ({} keys in turn)", keys.leaders) : "");
        text += fmt::format(
            "however many partitions there are, one of them works. At {} write units per second at "
            "most, ",
            NumberText(keys.peak_per_second));
        const int64_t needed =
            std::max<int64_t>(2, throughput::ShardsNeeded(keys.peak_per_second, access));
        text += keys.peak_per_second < kIdlePart * most
                    ? fmt::format("harmless until about {} times as much; then add a suffix.",
                                  NumberText(std::floor(most / keys.peak_per_second)))
                    : fmt::format(
                          "add a suffix of at least {} values to it, and read them side by side.",
                          needed);
        Finding& finding =
            Add("moving-key",
                keys.peak_per_second > most ? Finding::Level::kProblem : Finding::Level::kHint,
                index, std::move(text));
        finding.evidence = {{"keys_in_turn", static_cast<double>(keys.leaders)},
                            {"share", top.share},
                            {"peak_units_per_second", keys.peak_per_second},
                            {"shards", static_cast<double>(needed)}};
      }
    }
    if (!hot && GradeOf(keys) == Grade::kPoor && keys.peak_per_second >= kIdlePart * most) {
      Finding& finding = Add(
          "poor-distribution", Finding::Level::kHint, index,
          fmt::format(
              "{} of the {} units go to key {}; {} keys share them as {} equal ones would. While "
              "that is so the "
              "{} serves at most {} {} units per second, whatever its capacity; {} were asked for.",
              Percent(top.share), word, KeyForPeople(top.key),
              NumberText(std::round(keys.distinct)), NumberText(std::round(keys.effective)),
              resource.is_index ? "index" : "table", NumberText(std::floor(most / top.share)), word,
              NumberText(keys.peak_per_second)));
      finding.evidence = {{"share", top.share},
                          {"effective_keys", keys.effective},
                          {"distinct_keys", keys.distinct}};
    }
  }

  void Consistency(const ResourceReport& resource) {
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

  void Throttled() {
    if (table_.throttled > 0) {
      Finding& finding = Add("throttled", Finding::Level::kProblem, "",
                             fmt::format("The server throttled {} requests of the recording. What "
                                         "they would have cost is not in it: "
                                         "loads told here are those that were served.",
                                         NumberText(static_cast<double>(table_.throttled))));
      finding.evidence = {{"requests", static_cast<double>(table_.throttled)}};
    }
    const ReplaySummary& replay = table_.replay;
    if (replay.throttled == 0) return;
    std::string text =
        fmt::format("On the throughput model {} of {} requests would have been throttled, {}.",
                    NumberText(static_cast<double>(replay.throttled)),
                    NumberText(static_cast<double>(replay.requests)), ReasonsText(replay));
    if (replay.worst) {
      const throughput::Explanation& worst = *replay.worst;
      text += fmt::format(" Worst at {} units per second of {}.", NumberText(worst.demand),
                          NumberText(worst.limit));
      for (const std::string& advice : worst.advice) text += " " + advice;
    }
    Finding& finding =
        Add("model-throttles", Finding::Level::kProblem,
            replay.worst && replay.worst->index ? replay.worst->resource : "", std::move(text));
    finding.evidence = {{"requests", static_cast<double>(replay.requests)},
                        {"throttled", static_cast<double>(replay.throttled)},
                        {"partitions", static_cast<double>(replay.partitions)}};
  }

  static std::string ReasonsText(const ReplaySummary& replay) {
    std::string out;
    for (const auto& [reason, count] : replay.reasons) {
      out += fmt::format("{}{} by {}", out.empty() ? "" : ", ",
                         NumberText(static_cast<double>(count)), reason);
    }
    return out;
  }

  void Items() {
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

  static std::string Average(int64_t bytes, int64_t count) {
    const double average =
        static_cast<double>(bytes) / static_cast<double>(std::max<int64_t>(1, count));
    return average >= 1024 ? fmt::format("{:.1f} KB", average / 1024)
                           : fmt::format("{:.0f} bytes", average);
  }

  void Indexes() {
    int64_t requests = 0;
    for (const ResourceReport& resource : table_.resources)
      requests += resource.requests[0] + resource.requests[1];
    for (const request_log::IndexDefinition& index : table_.definition.indexes) {
      const auto found = table_.indexes.find(index.name);
      const IndexUse use = found == table_.indexes.end() ? IndexUse() : found->second;
      if (use.reads == 0) {
        if (requests < kFewRequests) continue;
        std::string text = fmt::format("Index {} was never read in {} of recording", index.name,
                                       SpanText(recording_.seconds()));
        text += use.write_units > 0 ? fmt::format("; writes of the table paid {} units for it.",
                                                  NumberText(use.write_units))
                                    : std::string(".");
        text += " If nothing else needs it, remove it.";
        Finding& finding =
            Add("unused-index", Finding::Level::kSaving, index.name, std::move(text));
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

  void Projection(const request_log::IndexDefinition& index, const IndexUse& use) {
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
    Finding& finding = Add(
        "wide-projection", Finding::Level::kSaving, index.name,
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

  void Scans() {
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

  void Billing() {
    MonthlyCost all;
    for (const ResourceReport& resource : table_.resources) {
      const MonthlyCost cost = CostOf(prices_, resource, 0);
      all.on_demand += cost.on_demand;
      all.scaled += cost.scaled;
      all.fixed += cost.fixed;
    }
    Capacity();
    if (all.on_demand <= 0 || all.scaled <= 0) return;
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

  // What is provisioned against what is used.
  void Capacity() {
    const request_log::TableDefinition& d = table_.definition;
    // Capacity that refused requests is not spare, however little was served.
    if (d.on_demand || !table_.defined || table_.throttled > 0) return;
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
          fmt::format("Provisioned are {} RCU and {} WCU; the busiest minute uses {} and {} per "
                      "second. {} RCU and {} WCU hold "
                      "it at 70%, and auto scaling would provide {} and {} on average. Single "
                      "large reads and short peaks live on "
                      "unused capacity of the last 300 seconds.",
                      NumberText(now.read), NumberText(now.write),
                      NumberText(cost.busiest_minute.read), NumberText(cost.busiest_minute.write),
                      NumberText(cost.fixed.read), NumberText(cost.fixed.write),
                      NumberText(cost.scaled.read), NumberText(cost.scaled.write)));
      finding.evidence = {{"provisioned_read", now.read},
                          {"provisioned_write", now.write},
                          {"suggested_read", cost.fixed.read},
                          {"suggested_write", cost.fixed.write}};
      finding.saves_month = paid - scaled;
    }
  }

  const Recording& recording_;
  const TableReport& table_;
  const throughput::UnitPrices& prices_;
  std::vector<Finding> found_;
};

}  // namespace

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
  return Bench(recording, table, prices).Take();
}

std::vector<std::string> LimitsOf(const Recording& recording) {
  std::vector<std::string> limits;
  const auto number = [](int64_t count) { return NumberText(static_cast<double>(count)); };
  limits.push_back(
      fmt::format("It covers {}; months are that span, repeated.", SpanText(recording.seconds())));
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
    // The text goes to a terminal.
    for (const char c : value) out += static_cast<unsigned char>(c) < 0x20 || c == 0x7f ? '?' : c;
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
