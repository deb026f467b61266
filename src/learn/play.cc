#include "learn/play.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "simulate/report.h"
#include "simulate/run.h"
#include "simulate/scenario_reader.h"
#include "throughput/throttle.h"

namespace stator::learn {
namespace {

using simulate::ResourceOutcome;
using simulate::TrafficOutcome;
using simulate::Variant;

constexpr size_t kWidth = 90;

void Wrap(std::string* out, std::string_view head, std::string_view text) {
  std::string line(head);
  const std::string indent(head.size(), ' ');
  while (!text.empty()) {
    const size_t end = std::min(text.find(' '), text.size());
    if (line.size() + end > kWidth && line.size() > head.size()) {
      *out += line + "\n";
      line = indent;
    }
    if (line.size() > head.size()) line += ' ';
    line += text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  *out += line + "\n";
}

// Tells the outcome of each stream, if there are several and requests of one were refused.
std::string StreamsText(const std::vector<Variant>& variants) {
  bool refused = false;
  for (const Variant& v : variants) {
    for (const TrafficOutcome& t : v.outcome.traffic)
      refused |= v.outcome.traffic.size() > 1 && t.throttled_total() > 0;
  }
  if (!refused) return "";
  std::string out;
  for (const Variant& v : variants) {
    if (v.outcome.traffic.size() < 2) continue;
    out += fmt::format("\n{}\n", v.name);
    for (const TrafficOutcome& t : v.outcome.traffic) {
      out += fmt::format("  {}: {} of {} served\n", t.name,
                         throughput::UnitsText(static_cast<double>(t.served)),
                         throughput::UnitsText(static_cast<double>(t.requests)));
    }
  }
  return out;
}

}  // namespace

Result<std::vector<Variant>> Play(const Lesson& lesson) {
  std::vector<Variant> variants;
  for (const auto& [name, text] : lesson.scenarios) {
    ASSIGN_OR_RETURN(simulate::Scenario scenario,
                     simulate::ParseScenario(text, fmt::format("{}/{}.toml", lesson.name, name)));
    Variant variant{name, std::move(scenario), {}};
    variant.outcome = simulate::Run(variant.scenario);
    variants.push_back(std::move(variant));
  }
  return variants;
}

std::vector<std::string> Broken(const Lesson& lesson, const std::vector<Variant>& variants) {
  std::vector<std::string> broken;
  for (const Expectation& e : lesson.expectations) {
    const auto found = std::find_if(variants.begin(), variants.end(),
                                    [&](const Variant& v) { return v.name == e.scenario; });
    if (found == variants.end()) {
      broken.push_back(fmt::format("{}: there is no such scenario", e.scenario));
      continue;
    }
    int64_t requests = 0, served = 0, throttled = 0, reads = 0;
    for (const TrafficOutcome& t : found->outcome.traffic) {
      if (e.traffic && t.name != *e.traffic) continue;
      requests += t.requests;
      served += t.served;
      throttled += t.throttled_total();
      if (t.access == throughput::Access::kRead) reads += t.requests;
    }
    if (requests == 0) {
      broken.push_back(
          fmt::format("{}: there is no traffic {}", e.scenario, e.traffic.value_or("")));
      continue;
    }
    double read_units = 0, write_units = 0;
    bool hottest = false;
    for (const ResourceOutcome& r : found->outcome.resources) {
      read_units += r.consumed.read;
      write_units += r.consumed.write;
      hottest |= e.hottest && !r.hottest.empty() && r.hottest[0].name == *e.hottest;
    }
    const auto check = [&](bool holds, std::string_view what, double is) {
      if (!holds) broken.push_back(fmt::format("{}: {} is {}", e.scenario, what, is));
    };
    const ResourceOutcome& table = found->outcome.resources.front();
    const auto partitions = static_cast<int64_t>(table.partitions_before);
    check(!e.partitions || *e.partitions == partitions, "partitions",
          static_cast<double>(partitions));
    const auto after = static_cast<int64_t>(table.partitions_after);
    check(!e.partitions_after || *e.partitions_after == after, "partitions after it",
          static_cast<double>(after));
    check(!e.served || *e.served == served, "served", static_cast<double>(served));
    check(!e.throttled || *e.throttled == throttled, "throttled", static_cast<double>(throttled));
    const double part = static_cast<double>(throttled) / static_cast<double>(requests);
    check(!e.throttled_at_least || part >= *e.throttled_at_least, "the part throttled", part);
    check(!e.reads || *e.reads == reads, "reads", static_cast<double>(reads));
    check(!e.read_units || std::abs(*e.read_units - read_units) < 0.5, "read_units", read_units);
    check(!e.write_units || std::abs(*e.write_units - write_units) < 0.5, "write_units",
          write_units);
    int64_t suffixes = 0;
    for (const ResourceOutcome& r : found->outcome.resources) {
      if (suffixes == 0 && !r.troubles.empty())
        suffixes = r.troubles.front().explanation.spread.values;
    }
    check(!e.suffixes || *e.suffixes == suffixes, "suffixes", static_cast<double>(suffixes));
    if (e.hottest && !hottest) {
      broken.push_back(fmt::format("{}: the hottest key is \"{}\"", e.scenario,
                                   table.hottest.empty() ? "" : table.hottest[0].name));
    }
  }
  return broken;
}

std::string LessonText(const Lesson& lesson, const std::vector<Variant>& variants) {
  std::string out = lesson.title + "\n\n";
  for (const Variant& v : variants)
    Wrap(&out, fmt::format("  {:<20} ", v.name), v.scenario.description);
  out += "\n" + simulate::ComparisonText(variants) + StreamsText(variants);
  for (const Variant& v : variants) {
    for (const ResourceOutcome& r : v.outcome.resources) {
      if (r.troubles.empty()) continue;
      const throughput::Explanation& e = r.troubles.front().explanation;
      out += fmt::format("\n{}\n", v.name);
      // Where partitions split meanwhile, their number is that of the worst second.
      const bool splits = r.partitions_before != r.partitions_after;
      Wrap(&out, "  ",
           splits ? fmt::format("{} (first this high at {}).", e.cause,
                                simulate::DurationText(r.troubles.front().at_seconds))
                  : e.cause + ".");
      if (!e.no_help.empty()) Wrap(&out, "  ", e.no_help);
      for (const std::string& advice : e.advice) Wrap(&out, "  fix: ", advice);
      for (const std::string& note : e.notes) Wrap(&out, "  note: ", note);
    }
  }
  out += "\nWhat it shows\n";
  for (const std::string& sentence : lesson.says) Wrap(&out, "  - ", sentence);
  out += "\nWhat Amazon says\n";
  Wrap(&out, "  ", lesson.amazon);
  out += fmt::format(
      "\nChange a number in examples/lessons/{0} and play it with stator "
      "simulate;\nexamples/lessons/{0}/live.mjs shows the same on a server.\n",
      lesson.name);
  const std::vector<std::string_view> names = LessonNames();
  const auto at = std::find(names.begin(), names.end(), lesson.name);
  if (at != names.end() && at + 1 != names.end())
    out += fmt::format("Next: stator learn {}\n", *(at + 1));
  return out;
}

}  // namespace stator::learn
