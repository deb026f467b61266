// Findings on hot keys and partitions.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "advise/finding_collector.h"
#include "base/time_text.h"
#include "throughput/key_text.h"
#include "throughput/model_settings.h"
#include "throughput/spread.h"

namespace stator::advise {
namespace {

constexpr std::string_view kWords[] = {"read", "write"};
constexpr int64_t kUploadKeys = 5;  // in turn: an upload by key

bool LooksLikeDate(std::string_view key) { return throughput::LooksLikeDate(KeyForPeople(key)); }

}  // namespace

void FindingCollector::Keys(const ResourceReport& resource, Access access) {
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
      text +=
          resource.strong_units > 0 ? ", or read it eventually consistent: that costs half." : ".";
    } else {
      text += NarrowerText(resource) +
              SpreadText(keys.peak_key, keys.peak_key_per_second, access, plan);
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
          fmt::format("Writes go to one key after the other ({} in turn, such as {}): one "
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
      text += keys.peak_per_second < kIdlePart * most
                  ? fmt::format("harmless until about {} times as much; then add a suffix.",
                                NumberText(std::floor(most / keys.peak_per_second)))
                  : "add a suffix." +
                        (resource.told[a]
                             ? ToldText(*resource.told[a])
                             : SpreadText(keys.peak_key, keys.peak_key_per_second, access, plan));
      Finding& finding =
          Add("moving-key",
              keys.peak_per_second > most ? Finding::Level::kProblem : Finding::Level::kHint, index,
              std::move(text));
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
    finding.evidence = {
        {"share", top.share}, {"effective_keys", keys.effective}, {"distinct_keys", keys.distinct}};
  }
}

bool FindingCollector::MovesOn(const KeyLoadSummary& keys, Access access) {
  if (access != Access::kWrite || keys.leaders == 0 || keys.hottest.empty()) return false;
  const bool matters =
      keys.hottest[0].share > kFairTopShare || keys.peak_per_second >= kIdlePart * MostOf(access);
  return matters && (LooksLikeDate(keys.hottest[0].key) || keys.MovesOn());
}

std::string FindingCollector::NarrowerText(const ResourceReport& resource) const {
  const request_log::IndexDefinition* index = IndexOf(resource);
  if (index == nullptr || index->projection == request_log::Projection::kKeysOnly) return "";
  const double entry = ServedWrites(resource) / static_cast<double>(resource.requests[1]);
  if (entry < 2) return "";
  return fmt::format(
      " Project less: an entry of the index costs about {} units, of at most 1 KB it costs 1, "
      "and this key then takes {} (lesson slim-index).",
      NumberText(entry), NumberText(resource.keys[1].peak_key_per_second / entry));
}

std::string FindingCollector::SpreadText(std::string_view key, double units, Access access,
                                         const throughput::SpreadPlan& plan) const {
  if (plan.values < 2) return "";
  return " " + throughput::SpreadText(plan, KeyForPeople(key), units, access,
                                      table_.definition.on_demand, "Spread it over", "suffixes",
                                      ", random or computed");
}

void FindingCollector::Suffixes(const ResourceReport& resource) {
  const SuffixUse& use = resource.keys[1].suffixes;
  if (use.suffixes < 3 || use.units < kFairTopShare * resource.keys[1].units ||
      resource.requests[1] < kFewRequests || use.hottest_share < kUnevenSuffix ||
      use.hottest_share < 3 / static_cast<double>(use.suffixes)) {
    return;
  }
  Finding& finding =
      Add("uneven-suffixes", Finding::Level::kProblem, resource.is_index ? resource.name : "",
          fmt::format("Of the write units of {}, {} go to its suffix \"{}\", of {} suffixes that "
                      "were seen. A product of characters modulo the number of suffixes does that: "
                      "compute the suffix from a hash (MD5 modulo N), or draw it at random.",
                      Name(use.key), Percent(use.hottest_share), use.hottest, use.suffixes));
  finding.evidence = {{"suffixes", static_cast<double>(use.suffixes)},
                      {"hottest_share", use.hottest_share}};
}

}  // namespace stator::advise
