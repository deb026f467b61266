#include "simulate/compare.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "base/json_writer.h"
#include "simulate/report.h"
#include "simulate/scenario_reader.h"
#include "throughput/throttle.h"

namespace stator::simulate {
namespace {

using throughput::UnitsText;

// Totals over all streams and resources of a variant.
struct Sum {
  int64_t requests = 0;
  int64_t served = 0;
  int64_t throttled = 0;
  std::map<std::string, int64_t> reasons;
  throughput::Rates consumed;  // units per second
  size_t before = 0;
  size_t after = 0;
  double price = 0;
};

Sum SumOf(const Variant& v) {
  Sum sum;
  for (const TrafficOutcome& t : v.outcome.traffic) {
    sum.requests += t.requests;
    sum.served += t.served;
    sum.throttled += t.throttled_total();
    for (const auto& [reason, count] : t.throttled) sum.reasons[reason] += count;
  }
  for (const ResourceOutcome& r : v.outcome.resources) {
    sum.consumed.read += r.consumed.read / v.scenario.duration_seconds;
    sum.consumed.write += r.consumed.write / v.scenario.duration_seconds;
    sum.before += r.partitions_before;
    sum.after += r.partitions_after;
    const MonthlyPrice price = PriceOf(v.scenario, r);
    sum.price += price.capacity + price.storage;
  }
  return sum;
}

// Whether nothing was asked for in some of the time.
bool IdleAtTimes(const Variant& v) {
  size_t columns = 0;
  for (const ResourceOutcome& r : v.outcome.resources)
    columns = std::max(columns, r.columns.size());
  for (size_t i = 0; i < columns; ++i) {
    const bool idle = std::all_of(
        v.outcome.resources.begin(), v.outcome.resources.end(), [&](const ResourceOutcome& r) {
          if (i >= r.columns.size()) return true;
          const Column& c = r.columns[i];
          return c.consumed == throughput::Rates() && c.refused == throughput::Rates();
        });
    if (idle) return true;
  }
  return false;
}

Result<std::vector<Variant>> OfSettings(const std::string& setting, const std::string& path) {
  const size_t equal = setting.find('=');
  const std::string key = setting.substr(0, equal);
  std::vector<Variant> variants;
  for (size_t from = equal + 1; from <= setting.size();) {
    const size_t comma = std::min(setting.find(',', from), setting.size());
    const std::string value = setting.substr(from, comma - from);
    std::vector<std::pair<std::string, std::string>> model = {{key, value}};
    if (key == "rules") {
      if (value != "2014" && value != "today")
        return ValidationError(setting + ": rules are 2014 or today");
      model.clear();
      if (value == "2014") model = {{"adaptive", "off"}, {"split_for_heat", "false"}};
    }
    ASSIGN_OR_RETURN(Scenario scenario, ReadScenario(path, model));
    variants.push_back({key == "rules" ? value : key + "=" + value, std::move(scenario), {}});
    if (variants.size() > kMostVariants) break;
    from = comma + 1;
  }
  return variants;
}

}  // namespace

Result<std::vector<Variant>> ReadVariants(const std::vector<std::string>& what) {
  std::vector<std::string> files, settings;
  for (const std::string& word : what) {
    if (word.find(".toml,") != std::string::npos) {
      return ValidationError(
          fmt::format("{}: scenarios are separated by blanks, not by commas", word));
    }
  }
  for (const std::string& word : what)
    (word.find('=') == std::string::npos ? files : settings).push_back(word);
  std::vector<Variant> variants;
  if (!settings.empty()) {
    if (settings.size() > 1 || files.size() != 1)
      return ValidationError("--compare takes one KEY=VALUE,VALUE and one scenario, or scenarios");
    ASSIGN_OR_RETURN(variants, OfSettings(settings[0], files[0]));
  } else {
    for (const std::string& file : files) {
      ASSIGN_OR_RETURN(Scenario scenario, ReadScenario(file));
      std::string name = scenario.name;
      variants.push_back({std::move(name), std::move(scenario), {}});
    }
  }
  if (variants.size() < 2 || variants.size() > kMostVariants) {
    return ValidationError(
        fmt::format("--compare needs 2 to {} scenarios or values", kMostVariants));
  }
  return variants;
}

std::string ComparisonText(const std::vector<Variant>& variants) {
  size_t width = 8;
  for (const Variant& v : variants) width = std::max(width, v.name.size());
  const bool prices = std::any_of(variants.begin(), variants.end(),
                                  [](const Variant& v) { return v.scenario.has_prices; });
  std::string out =
      fmt::format("{:<{}} {:>14} {:>14} {:>14} {:>7} {:>9} {:>9} {:>11}", "compared", width,
                  "requests", "served", "throttled", "", "avg RCU", "avg WCU", "partitions");
  out += prices ? fmt::format(" {:>10}\n", "month") : "\n";
  for (const Variant& v : variants) {
    const Sum sum = SumOf(v);
    const auto number = [](int64_t n) { return UnitsText(static_cast<double>(n)); };
    out += fmt::format("{:<{}} {:>14} {:>14} {:>14} {:>6.1f}% {:>9} {:>9} {:>11}", v.name, width,
                       number(sum.requests), number(sum.served), number(sum.throttled),
                       sum.requests > 0 ? 100 * static_cast<double>(sum.throttled) /
                                              static_cast<double>(sum.requests)
                                        : 0,
                       UnitsText(sum.consumed.read), UnitsText(sum.consumed.write),
                       sum.before == sum.after ? fmt::format("{}", sum.after)
                                               : fmt::format("{} to {}", sum.before, sum.after));
    out += prices ? fmt::format(" {:>10.2f}\n", sum.price) : "\n";
    for (const auto& [reason, count] : sum.reasons)
      out += fmt::format("{:<{}}   {}: {}\n", "", width, reason, number(count));
  }
  const bool idle = std::any_of(variants.begin(), variants.end(), IdleAtTimes);
  const bool indexes = std::any_of(variants.begin(), variants.end(), [](const Variant& v) {
    return v.outcome.resources.size() > v.scenario.tables.size();
  });
  out += fmt::format(
      "avg: units a second that were served, on average over all of the time{}{}.\n",
      idle ? ", in which some was idle" : "",
      indexes ? "; a table's and its indexes' are added, and so are their partitions" : "");
  const Sum first = SumOf(variants.front()), last = SumOf(variants.back());
  // Numbers of different requests do not compare.
  if (first.served > 0 && variants.size() == 2 && first.requests == last.requests &&
      first.served != last.served) {
    const double more =
        100 * (static_cast<double>(last.served) / static_cast<double>(first.served) - 1);
    out += fmt::format("{} serves {:.1f}% {} requests than {}.\n", variants.back().name,
                       std::abs(more), more < 0 ? "fewer" : "more", variants.front().name);
  }
  return out;
}

std::string ComparisonJson(const std::vector<Variant>& variants) {
  JsonWriter json;
  json.Open('{').Key("variants").Open('[');
  for (const Variant& v : variants) {
    const Sum sum = SumOf(v);
    json.Open('{').Field("name", v.name).Key("requests").Whole(sum.requests);
    json.Key("served").Whole(sum.served).Key("throttled").Open('{');
    for (const auto& [reason, count] : sum.reasons) json.Key(reason).Whole(count);
    json.Close('}').Key("consumed").Open('{').Field("read", sum.consumed.read);
    json.Field("write", sum.consumed.write).Close('}');
    json.Key("partitions_before").Whole(static_cast<int64_t>(sum.before));
    json.Key("partitions_after").Whole(static_cast<int64_t>(sum.after)).Key("month");
    v.scenario.has_prices ? json.Number(sum.price) : json.Null();
    json.Close('}');
  }
  json.Close(']').Close('}');
  return json.Take();
}

std::string ComparisonMap(const std::vector<Variant>& variants) {
  HeatPicture picture;
  std::string names;
  for (const Variant& v : variants) {
    names += (names.empty() ? "" : " | ") + v.name;
    const Sum sum = SumOf(v);
    // Each scenario says what it is, once.
    std::string description = v.scenario.description;
    for (const ResourceOutcome& r : v.outcome.resources) {
      // The part that this table or index refused of all requests of the variant.
      int64_t refused = 0;
      for (const Trouble& trouble : r.troubles) refused += trouble.requests;
      const double throttled = 100 * static_cast<double>(refused) /
                               static_cast<double>(std::max<int64_t>(1, sum.requests));
      picture.panels.push_back({fmt::format("{}: {} {} ({:.1f}% throttled)", v.name,
                                            r.is_index ? "index" : "table", r.name, throttled),
                                r.columns, r.rows, r.marks, TimesOf(v.scenario.duration_seconds),
                                false, std::exchange(description, {})});
    }
  }
  picture.title = names;
  return HeatMap(picture);
}

}  // namespace stator::simulate
