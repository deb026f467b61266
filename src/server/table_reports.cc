#include "server/table_reports.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>
#include <vector>

#include "base/printable.h"
#include "base/time_text.h"
#include "ops/contributor_insights.h"
#include "server/report_json.h"
#include "server/table_path.h"
#include "simulate/report.h"

namespace stator::server {
namespace {

using throughput::HeatMap;
using throughput::HeatUnits;
using throughput::HeavyHitters;
using throughput::HeavyKey;
using throughput::Rates;
using Resource = ops::Admission::Resource;

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kLastMicros = 3 * 3600 * kMicros;
constexpr int64_t kColumns = 180;
constexpr int64_t kMostKeys = 100;

enum class Subject { kHeat, kHeatPicture, kInsights };

struct Target {
  std::string_view table;
  Subject subject = Subject::kHeat;
};
std::optional<Target> TargetOf(std::string_view path) {
  constexpr std::pair<std::string_view, Subject> kCalls[] = {
      {"/heat", Subject::kHeat},
      {"/heat.svg", Subject::kHeatPicture},
      {"/contributor-insights", Subject::kInsights},
  };
  for (const auto& [call, subject] : kCalls) {
    if (const auto table = TableIn(path, call)) return Target{*table, subject};
  }
  return std::nullopt;
}

// Bytes written as %3A; a + stays one, as in the zone of a time.
std::string Decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    uint8_t byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr ==
            text.data() + i + 3) {
      out.push_back(static_cast<char>(byte));
      i += 2;
    } else {
      out.push_back(text[i]);
    }
  }
  return out;
}

struct Query {
  std::optional<std::string> index;
  std::optional<int64_t> from, to, last, step;  // microseconds
  int64_t limit = 10;
};

Status SetParameter(std::string_view name, const std::string& value, Subject subject,
                    Query* query) {
  const auto bad = [&](std::string_view what) {
    return ValidationError(fmt::format("{} must be {}: {}", name, what, value));
  };
  if (name == "index") {
    query->index = value;
    return OkStatus();
  }
  if (subject == Subject::kInsights) {
    if (name != "limit") return ValidationError(fmt::format("There is no parameter {} here", name));
    const char* end = value.data() + value.size();
    const auto [stop, error] = std::from_chars(value.data(), end, query->limit);
    if (error != std::errc() || stop != end || query->limit < 1 || query->limit > kMostKeys)
      return bad(fmt::format("a number from 1 to {}", kMostKeys));
    return OkStatus();
  }
  if (name == "from" || name == "to") {
    std::optional<int64_t>& time = name == "from" ? query->from : query->to;
    time = ParseTime(value);
    return time ? OkStatus() : bad("a time such as 2026-11-21T12:30 or 1795264205");
  }
  if (name == "last" || name == "step") {
    std::optional<int64_t>& duration = name == "last" ? query->last : query->step;
    duration = ParseDuration(value);
    return duration && *duration > 0 ? OkStatus() : bad("a duration such as 90s or 12h");
  }
  return ValidationError(fmt::format("There is no parameter {} here", name));
}

Result<Query> ParseQuery(std::string_view text, Subject subject) {
  Query query;
  while (!text.empty()) {
    const std::string_view part = text.substr(0, text.find('&'));
    text.remove_prefix(std::min(text.size(), part.size() + 1));
    if (part.empty()) continue;
    const size_t cut = std::min(part.find('='), part.size());
    TRY(SetParameter(part.substr(0, cut), Decoded(part.substr(std::min(cut + 1, part.size()))),
                     subject, &query));
  }
  if (query.from && query.last) return ValidationError("from and last cannot be given together");
  return query;
}

Result<throughput::HeatHistory::Window> WindowOf(const Query& query, int64_t now) {
  throughput::HeatHistory::Window window;
  window.now_micros = now;
  window.to_micros = query.to.value_or(now);
  window.from_micros = query.from.value_or(
      std::max<int64_t>(0, window.to_micros - query.last.value_or(kLastMicros)));
  if (window.from_micros >= window.to_micros)
    return ValidationError("from must be before to: " + FormatTime(window.from_micros));
  const int64_t length = window.to_micros - window.from_micros;
  window.step_seconds = (query.step.value_or(length / kColumns) + kMicros - 1) / kMicros;
  return window;
}

// The resources of the table, or the one of the index.
Result<std::vector<Resource>> ResourcesOf(const ops::Environment& env, std::string_view table,
                                          const std::optional<std::string>& index) {
  std::vector<Resource> resources = env.admission.ResourcesOf(table);
  if (resources.empty())
    return Error(ErrorCode::kResourceNotFound, "There is no table " + std::string(table));
  if (!index) return resources;
  std::erase_if(resources, [&](const Resource& resource) {
    return resource.index == nullptr || resource.index->name != *index;
  });
  if (resources.empty()) {
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("The table {} has no global index {}", table, *index));
  }
  return resources;
}

// The larger part of its maxima that a partition consumed.
double HeatOf(const HeatMap::Cell& cell, const throughput::ModelSettings& settings) {
  return std::max(cell.read_load / settings.partition_read_units,
                  cell.write_load / settings.partition_write_units);
}

std::string HeatJson(const Resource& resource, const HeatMap& map) {
  const throughput::Resource& model = resource.meter->resource();
  std::string ranges;
  for (size_t row = 0; row < map.rows.size(); ++row) {
    ranges += fmt::format(R"({}{{{},{},"heat":{}}})", row > 0 ? "," : "",
                          Bounds(resource, map.rows[row]), HeatSeries(map, UnitsOf(map.cells[row])),
                          Array(map.cells[row], [&](const HeatMap::Cell& cell) {
                            return Number(HeatOf(cell, model.settings()));
                          }));
  }
  return fmt::format(
      R"({{"type":"{}","name":{},"from":"{}","columnSeconds":{},"columns":{},{},"ranges":[{}]}})",
      resource.index != nullptr ? "index" : "table", Quoted(model.name()),
      FormatTime(map.from_seconds * kMicros), map.column_seconds, map.columns(),
      HeatSeries(map, ColumnSums(map)), ranges);
}

// What a panel of the picture is made of, and owns.
struct Drawn {
  std::string heading;
  std::vector<simulate::Column> columns;
  std::vector<simulate::Row> rows;
};

Drawn Draw(const Resource& resource, const HeatMap& map) {
  const throughput::Resource& model = resource.meter->resource();
  const bool provisioned = model.billing() == throughput::Billing::kProvisioned;
  const Rates capacity = model.provisioned();
  Drawn drawn;
  drawn.heading = fmt::format(
      "{} {}: {} partitions, {}", resource.index != nullptr ? "Index" : "Table", model.name(),
      model.partition_count(),
      provisioned ? fmt::format("{:g} RCU and {:g} WCU now", capacity.read, capacity.write)
                  : "on demand");
  const std::vector<HeatUnits> sums = ColumnSums(map);
  for (size_t i = 0; i < map.columns(); ++i) {
    const double seconds = map.covered_seconds[i];
    drawn.columns.push_back(
        {capacity, ConsumedPerSecond(sums[i], seconds), RefusedPerSecond(sums[i], seconds), 0});
  }
  for (size_t row = 0; row < map.rows.size(); ++row) {
    simulate::Row line{0, map.rows[row], {}, {}};
    for (const HeatMap::Cell& cell : map.cells[row]) {
      const double asked = static_cast<double>(cell.units.consumed() + cell.units.refused());
      line.heat.push_back(static_cast<float>(HeatOf(cell, model.settings())));
      line.refused.push_back(
          asked > 0 ? static_cast<float>(static_cast<double>(cell.units.refused()) / asked) : 0);
    }
    drawn.rows.push_back(std::move(line));
  }
  return drawn;
}

// Whether items of this hash are in the range.
bool Holds(const throughput::KeyRange& range, uint64_t hash) {
  if (hash < range.from.hash) return false;
  return range.to_end || hash < range.to.hash || (hash == range.to.hash && !range.to.sort.empty());
}

// Names the leading key of each hot cell, by the first look after its beginning that found one.
void NameHotKeys(const std::vector<management::HotKeys::Leader>& leaders, const HeatMap& map,
                 Drawn* drawn) {
  using Leader = management::HotKeys::Leader;
  constexpr float kHot = 0.5F;
  const auto earlier = [](const Leader& leader, int64_t at) { return leader.at_micros < at; };
  for (simulate::Row& row : drawn->rows) {
    row.hottest.assign(map.columns(), "");
    for (size_t i = 0; i < map.columns(); ++i) {
      if (row.heat[i] < kHot && row.refused[i] <= 0) continue;
      const int64_t from =
          (map.from_seconds + static_cast<int64_t>(i) * map.column_seconds) * kMicros;
      const int64_t last = from + map.column_seconds * kMicros + management::HotKeys::kReachMicros;
      for (auto at = std::lower_bound(leaders.begin(), leaders.end(), from, earlier);
           at != leaders.end() && at->at_micros < last; ++at) {
        if (!Holds(row.range, at->hash)) continue;
        row.hottest[i] = Printable(at->key);
        break;
      }
    }
  }
}

// Formats a time for a picture: with the date if the picture is longer than a day, and with
// hundredths of a second if the time has them.
std::string ShortTime(int64_t micros, bool days) {
  micros = std::clamp<int64_t>(micros, 0, kLastTimeMicros);
  const std::string text = FormatTime(micros);
  if (days) return text.substr(5, 5) + " " + text.substr(11, 5);
  const int64_t hundredths = micros % kMicros / (kMicros / 100);
  return text.substr(11, 8) + (hundredths > 0 ? fmt::format(".{:02}", hundredths) : "");
}

std::string Picture(std::string_view table, const std::vector<Drawn>& drawn, const HeatMap& map) {
  simulate::HeatPicture picture;
  const int64_t from = map.from_seconds * kMicros;
  const int64_t length = static_cast<int64_t>(map.columns()) * map.column_seconds * kMicros;
  picture.title = std::string(table);
  picture.description =
      fmt::format("from {}, a column for {}", FormatTime(from),
                  simulate::DurationText(static_cast<double>(map.column_seconds)));
  for (const Drawn& one : drawn) {
    picture.panels.push_back({one.heading, one.columns, one.rows});
    picture.panels.back().names_short = true;
  }
  for (size_t i = 0; i < picture.times.size(); ++i) {
    picture.times[i] =
        ShortTime(from + length / 4 * static_cast<int64_t>(i), length > 86'400 * kMicros);
  }
  return simulate::HeatMap(picture);
}

std::string Contributors(const std::vector<HeavyKey>& keys, double all, bool sort_keys) {
  return Array(keys, [&](const HeavyKey& key) {
    return fmt::format(R"({{"partitionKey":{}{},"weight":{},"overestimate":{},"share":{}}})",
                       Quoted(key.partition), sort_keys ? ",\"sortKey\":" + Quoted(key.sort) : "",
                       Number(key.weight), Number(key.overestimate),
                       Number(all > 0 ? std::min(1.0, key.weight / all) : 0));
  });
}

Result<std::string> Insights(const ops::Environment& env, const Resource& resource, size_t limit) {
  const table::TableDescriptor& table = resource.table->descriptor;
  const bool is_index = resource.index != nullptr;
  const std::optional<table::ContributorInsights>& insights =
      is_index ? resource.index->insights : table.insights;
  const throughput::Resource& model = resource.meter->resource();
  if (!insights || !insights->enabled) {
    return Error(ErrorCode::kResourceNotFound,
                 fmt::format("Contributor Insights of the {} {} are disabled: "
                             "UpdateContributorInsights enables them",
                             is_index ? "index" : "table", model.name()));
  }
  const bool has_sort_key =
      is_index ? !resource.index->key.sort.empty() : table.key_schema.sort.has_value();
  const double all = model.ObservedWeight();
  const std::vector<ops::ContributorRule> rules = ops::RulesOf(table, *insights, has_sort_key);
  return fmt::format(R"({{"table":{},"index":{},"now":"{}","mode":"{}","weight":{},"rules":{}}})",
                     Quoted(table.name), is_index ? Quoted(resource.index->name) : "null",
                     FormatTime(env.clock.NowMicros()),
                     insights->mode == table::ContributorInsights::Mode::kThrottledKeys
                         ? "THROTTLED_KEYS"
                         : "ACCESSED_AND_THROTTLED_KEYS",
                     Number(all), Array(rules, [&](const ops::ContributorRule& rule) {
                       const HeavyHitters::Of of = rule.sort_keys ? HeavyHitters::Of::kItems
                                                                  : HeavyHitters::Of::kCollections;
                       return fmt::format(R"({{"name":{},"contributors":{}}})", Quoted(rule.name),
                                          Contributors(rule.throttled ? model.MostRefused(of, limit)
                                                                      : model.Hottest(of, limit),
                                                       all, rule.sort_keys));
                     }));
}

}  // namespace

bool TableReports::Owns(std::string_view path) { return TargetOf(path).has_value(); }

Result<TableReports::Report> TableReports::Render(std::string_view target,
                                                  std::string_view accept) const {
  const size_t cut = std::min(target.find('?'), target.size());
  const std::optional<Target> wanted = TargetOf(target.substr(0, cut));
  if (!wanted) return Error(ErrorCode::kResourceNotFound, "There is no such report");
  ASSIGN_OR_RETURN(const Query query,
                   ParseQuery(target.substr(std::min(cut + 1, target.size())), wanted->subject));
  ASSIGN_OR_RETURN(const std::vector<Resource> resources,
                   ResourcesOf(environment_, wanted->table, query.index));
  if (wanted->subject == Subject::kInsights) {
    ASSIGN_OR_RETURN(std::string body,
                     Insights(environment_, resources.front(), static_cast<size_t>(query.limit)));
    return Report{"application/json", std::move(body)};
  }
  const int64_t now = environment_.clock.NowMicros();
  ASSIGN_OR_RETURN(const throughput::HeatHistory::Window window, WindowOf(query, now));
  std::vector<HeatMap> maps;
  for (const Resource& resource : resources) {
    throughput::HeatHistory::Window of_resource = window;
    of_resource.born_micros = BornOf(resource);
    maps.push_back(heat_.Map(TabletOf(resource), of_resource));
  }
  if (wanted->subject == Subject::kHeatPicture ||
      accept.find("image/svg+xml") != std::string_view::npos) {
    std::vector<Drawn> drawn;
    for (size_t i = 0; i < maps.size(); ++i) {
      drawn.push_back(Draw(resources[i], maps[i]));
      // The caller of /heat may see heat, but no keys (management_access).
      if (wanted->subject == Subject::kHeatPicture && hot_keys_ != nullptr) {
        NameHotKeys(hot_keys_->Leaders(resources[i], window.from_micros, window.to_micros), maps[i],
                    &drawn.back());
      }
    }
    return Report{"image/svg+xml", Picture(wanted->table, drawn, maps.front())};
  }
  std::string body = fmt::format(R"({{"table":{},"now":"{}","resources":[)", Quoted(wanted->table),
                                 FormatTime(now));
  for (size_t i = 0; i < maps.size(); ++i) {
    if (i > 0) body.push_back(',');
    body += HeatJson(resources[i], maps[i]);
  }
  return Report{"application/json", body + "]}"};
}

}  // namespace stator::server
