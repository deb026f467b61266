#include "advise/judge.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "base/printable.h"
#include "base/time_text.h"
#include "throughput/key_text.h"
#include "throughput/model_settings.h"
#include "throughput/spread.h"

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

bool LooksLikeDate(std::string_view key) { return throughput::LooksLikeDate(KeyForPeople(key)); }

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

 private:
  static constexpr int64_t kUploadKeys = 5;  // in turn: an upload by key

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

  static double ServedWrites(const ResourceReport& resource) {
    return resource.cost.average.write * resource.cost.seconds;
  }

  // A sentence on the entries of an index that are large because of its projection, or nothing.
  std::string NarrowerText(const ResourceReport& resource) const {
    const request_log::IndexDefinition* index = IndexOf(resource);
    if (index == nullptr || index->projection == request_log::Projection::kKeysOnly) return "";
    const double entry = ServedWrites(resource) / static_cast<double>(resource.requests[1]);
    if (entry < 2) return "";
    return fmt::format(
        " Project less: an entry of the index costs about {} units, of at most 1 KB it costs 1, "
        "and this key then takes {} (lesson slim-index).",
        NumberText(entry), NumberText(resource.keys[1].peak_key_per_second / entry));
  }

  // As it is, or as it was when it was deleted; null for a table.
  const request_log::IndexDefinition* IndexOf(const ResourceReport& resource) const {
    if (!resource.is_index) return nullptr;
    for (const auto* list : {&table_.definition.indexes, &table_.deleted_indexes}) {
      for (const request_log::IndexDefinition& index : *list) {
        if (index.name == resource.name) return &index;
      }
    }
    return nullptr;
  }

  // A server's words on the hottest key: the cures, cheapest first, and before them a thing that
  // does not help.
  static std::string ToldText(const throughput::Explanation& told) {
    std::string text = told.no_help.empty() ? "" : " " + told.no_help;
    for (const std::string& sentence : told.advice) text += " " + sentence;
    return text;
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
    const throughput::SpreadPlan& plan = resource.spread[a];
    // One load is told of once: by where it moves to, or else by how hot it is.
    const bool moving = MovesOn(keys, access);
    if (hot && !moving) {
      const bool over = keys.peak_key_per_second > most;
      std::string text = fmt::format(
          "Key {} takes {} {} units in its busiest second ({}); one partition serves {}.",
          Name(keys.peak_key), NumberText(keys.peak_key_per_second), word,
          FormatTime(resource.told[a] ? resource.told[a]->at_micros : keys.peak_key_micros),
          NumberText(most));
      const std::optional<throughput::Explanation>& told = resource.told[a];
      // A plan without suffixes is of a second in which the key alone did not fill its partition.
      if (told && told->spread.values != 1) {
        text += ToldText(*told);
      } else if (access == Access::kRead) {
        text += " Cache it in front of the table";
        text += resource.strong_units > 0 ? ", or read it eventually consistent: that costs half."
                                          : ".";
      } else {
        text += NarrowerText(resource) + SpreadText(keys.peak_key, access, plan);
      }
      if (top.sort_rises && !(told && told->order == throughput::KeyOrder::kMoves))
        text +=
            " Its new sort keys rise with time, so a partition split for heat would leave the heat "
            "on one side.";
      Finding& finding = Add("hot-key", over ? Finding::Level::kProblem : Finding::Level::kHint,
                             index, std::move(text));
      finding.evidence = {{"peak_units_per_second", keys.peak_key_per_second},
                          {"partition_units_per_second", most},
                          {"suffixes", static_cast<double>(plan.values)},
                          {"share", top.share}};
    }
    if (moving) {
      // An upload that writes one key's items after the other's, on the way to the next key.
      const bool dated = LooksLikeDate(top.key);
      if (!dated && !keys.rises && keys.leaders >= kUploadKeys) {
        Finding& finding = Add(
            "upload-order",
            keys.peak_per_second > most ? Finding::Level::kProblem : Finding::Level::kHint, index,
            fmt::format(
                "Writes go to one key after the other ({} in turn, such as {}): one "
                "partition works at a time. Write in another order, one item of each key in "
                "turn; a suffix is not needed.",
                keys.leaders, Name(top.key)));
        finding.evidence = {{"keys_in_turn", static_cast<double>(keys.leaders)},
                            {"peak_units_per_second", keys.peak_per_second}};
      } else {
        std::string text = fmt::format(
            "At any time nearly all writes go to one key, such as {}, and it moves on with "
            "time{}: ",
            Name(top.key), keys.leaders > 1 ? fmt::format(" ({} keys in turn)", keys.leaders) : "");
        text += fmt::format(
            "however many partitions there are, one of them works. At {} write units per second at "
            "most, ",
            NumberText(keys.peak_per_second));
        text +=
            keys.peak_per_second < kIdlePart * most
                ? fmt::format("harmless until about {} times as much; then add a suffix.",
                              NumberText(std::floor(most / keys.peak_per_second)))
                : "add a suffix." + (resource.told[a] ? ToldText(*resource.told[a])
                                                      : SpreadText(keys.peak_key, access, plan));
        Finding& finding =
            Add("moving-key",
                keys.peak_per_second > most ? Finding::Level::kProblem : Finding::Level::kHint,
                index, std::move(text));
        finding.evidence = {{"keys_in_turn", static_cast<double>(keys.leaders)},
                            {"share", top.share},
                            {"peak_units_per_second", keys.peak_per_second},
                            {"suffixes", static_cast<double>(plan.values)}};
      }
    }
    if (!hot && !moving && GradeOf(keys) == Grade::kPoor &&
        keys.peak_per_second >= kIdlePart * most) {
      std::string text = fmt::format(
          "{} of the {} units go to key {}; {} keys share them{}.", Percent(top.share), word,
          Name(top.key), NumberText(std::round(keys.distinct)),
          std::round(keys.effective) < 2
              ? " very unevenly"
              : fmt::format(" as {} equal ones would", NumberText(std::round(keys.effective))));
      // A collection whose items are read all over is split along its sort key: then nothing caps
      // it.
      const bool splits = !top.sort_rises && !table_.definition.sort.empty() && !HasLocal();
      if (!splits) {
        text += fmt::format(
            " While that is so the {} serves at most {} {} units per second, whatever its "
            "capacity; "
            "{} were asked for.",
            resource.is_index ? "index" : "table", NumberText(std::floor(most / top.share)), word,
            NumberText(keys.peak_per_second));
      }
      Finding& finding = Add("poor-distribution", Finding::Level::kHint, index, std::move(text));
      finding.evidence = {{"share", top.share},
                          {"effective_keys", keys.effective},
                          {"distinct_keys", keys.distinct}};
    }
  }

  // Whether nearly all writes go to one key at a time, and to another one later. Of a date it is
  // known what tomorrow brings; of other keys it must be seen.
  static bool MovesOn(const KeyLoadSummary& keys, Access access) {
    if (access != Access::kWrite || keys.leaders == 0 || keys.hottest.empty()) return false;
    const bool matters =
        keys.hottest[0].share > kFairTopShare || keys.peak_per_second >= kIdlePart * MostOf(access);
    return matters && (LooksLikeDate(keys.hottest[0].key) || keys.MovesOn());
  }

  bool HasLocal() const {
    return std::any_of(table_.definition.indexes.begin(), table_.definition.indexes.end(),
                       [](const auto& index) { return !index.global; });
  }

  void Suffixes(const ResourceReport& resource) {
    const SuffixUse& use = resource.keys[1].suffixes;
    if (use.suffixes < 3 || use.units < kFairTopShare * resource.keys[1].units ||
        resource.requests[1] < kFewRequests || use.hottest_share < kUnevenSuffix ||
        use.hottest_share < 3 / static_cast<double>(use.suffixes)) {
      return;
    }
    Finding& finding = Add(
        "uneven-suffixes", Finding::Level::kProblem, resource.is_index ? resource.name : "",
        fmt::format("Of the write units of {}, {} go to its suffix \"{}\", of {} suffixes that "
                    "were seen. A product of characters modulo the number of suffixes does that: "
                    "compute the suffix from a hash (MD5 modulo N), or draw it at random.",
                    Name(use.key), Percent(use.hottest_share), use.hottest, use.suffixes));
    finding.evidence = {{"suffixes", static_cast<double>(use.suffixes)},
                        {"hottest_share", use.hottest_share}};
  }

  // A sentence on the plan of throughput/suffixes.h; empty where the key needs no suffix.
  std::string SpreadText(std::string_view key, Access access,
                         const throughput::SpreadPlan& plan) const {
    if (plan.values < 2) return "";
    return " " + throughput::SpreadText(plan, KeyForPeople(key), access,
                                        table_.definition.on_demand, "Spread it over", "suffixes",
                                        ", random or computed");
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
      const throughput::Rates& asked = table_.throttled_units;
      std::string text = fmt::format(
          "The server throttled {} requests of the recording. They asked for {} read and {} write "
          "units, by the size of their items (a retry asks again); busiest seconds and capacity "
          "below count them.",
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

  // Reads that could be fewer, or of less.
  void Reads() {
    const CollectionReads& gets = table_.collection_reads;
    if (gets.requests >= kFewRequests &&
        gets.units - gets.units_together >= kWorthSaving * gets.units) {
      Finding& finding =
          Add("query-collection", Finding::Level::kSaving, "",
              fmt::format(
                  "{} GetItems read {} or more items of one collection in one second. One Query "
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
    if (wide.requests >= kFewRequests &&
        wide.units - wide.units_apart >= kWorthSaving * wide.units) {
      Finding& finding = Add(
          "slim-index", Finding::Level::kSaving, "",
          fmt::format("{} Queries read {} on average and answer {} of it ({}). A global index with "
                      "the same keys that projects only those attributes would cost {} read units "
                      "instead of {}.",
                      NumberText(static_cast<double>(wide.requests)),
                      Average(wide.stored_bytes, wide.requests),
                      Average(wide.asked_bytes, wide.requests), NamesText(wide.attributes),
                      NumberText(wide.units_apart), NumberText(wide.units)));
      finding.evidence = {{"queries", static_cast<double>(wide.requests)},
                          {"units", wide.units},
                          {"units_apart", wide.units_apart}};
      finding.saves_month = MonthOf(wide.units - wide.units_apart, 0);
    }
  }

  void Deletes() {
    const double all = table_.resources.empty() ? 0 : table_.resources[0].keys[1].units;
    if (table_.deletes < kFewRequests || table_.delete_units < kDeleteChurn * all) return;
    Finding& finding = Add(
        "delete-churn", Finding::Level::kSaving, "",
        fmt::format("{} deletes took {} write units, {} of all. Let time to live delete, which is "
                    "free, or begin a new table each month and delete the old one whole.",
                    NumberText(static_cast<double>(table_.deletes)),
                    NumberText(table_.delete_units), Percent(table_.delete_units / all)));
    finding.evidence = {{"deletes", static_cast<double>(table_.deletes)},
                        {"write_units", table_.delete_units}};
    finding.saves_month = MonthOf(0, table_.delete_units);
  }

  void TimeToLive() {
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

  // Units that writes of the table pay in its global indexes.
  void Amplification() {
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

  // Items and item collections near their largest size.
  void Sizes() {
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

  // A key as every finding has it.
  static std::string Name(std::string_view key) { return fmt::format("\"{}\"", KeyForPeople(key)); }

  void Indexes() {
    int64_t requests = 0;
    for (const ResourceReport& resource : table_.resources)
      requests += resource.requests[0] + resource.requests[1];
    for (const request_log::IndexDefinition& index : table_.definition.indexes) {
      const auto found = table_.indexes.find(index.name);
      const IndexUse use = found == table_.indexes.end() ? IndexUse() : found->second;
      if (use.reads == 0) {
        if (requests < kFewRequests) continue;
        std::string text = fmt::format("Index {} was not queried in this recording of {}",
                                       index.name, SpanText(recording_.seconds()));
        text += use.write_units > 0 ? fmt::format("; writes of the table paid {} units for it.",
                                                  NumberText(use.write_units))
                                    : std::string(".");
        text +=
            " It may be needed at other times: record longer first, a month's end included, and "
            "remove it only if it is not queried then either.";
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

  void Billing() {
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

  // What is provisioned against what is used.
  void Capacity() {
    const request_log::TableDefinition& d = table_.definition;
    // Capacity that refused requests is not spare, however little was served.
    if (d.on_demand || !table_.defined || table_.throttled > 0 || table_.replay.throttled > 0)
      return;
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
      Finding& finding =
          Add("capacity", Finding::Level::kSaving, resource.is_index ? resource.name : "",
              fmt::format(
                  "Provisioned are {} RCU and {} WCU; the busiest minute asks for {} and {} per "
                  "second, the busiest second for {} and {}. {} RCU and {} WCU hold "
                  "both, the minute at 70%, and auto scaling would provide {} and {} on "
                  "average.",
                  NumberText(now.read), NumberText(now.write), NumberText(cost.busiest_minute.read),
                  NumberText(cost.busiest_minute.write), NumberText(cost.busiest_second.read),
                  NumberText(cost.busiest_second.write), NumberText(cost.fixed.read),
                  NumberText(cost.fixed.write), NumberText(cost.scaled.read),
                  NumberText(cost.scaled.write)));
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
