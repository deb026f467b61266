#include "simulate/scenario_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <set>
#include <sstream>

#include "simulate/toml_section.h"

namespace stator::simulate {
namespace {

using throughput::Access;
using throughput::Adaptive;
using throughput::Billing;
using throughput::Consistency;

constexpr double kMostSteps = 2e6;  // a month in steps of two seconds
constexpr size_t kMostNames = 10'000;
constexpr int64_t kMostSuffixes = 10'000;

std::map<std::string, double> NumbersOf(Section* section, std::string_view key) {
  std::map<std::string, double> numbers;
  const toml::node* node = section->Node(key);
  if (node == nullptr) return numbers;
  const toml::table* table = node->as_table();
  if (table == nullptr) {
    section->Fail(key, "must be a table of numbers");
    return numbers;
  }
  for (const auto& [name, value] : *table) {
    const auto number = value.value<double>();
    if (!value.is_number() || !number || *number < 0) {
      section->errors()->Add(value.source(),
                             fmt::format("{}.{}.{}", section->path(), key, name.str()),
                             "must be a number of at least 0");
      continue;
    }
    numbers[std::string(name.str())] = *number;
  }
  return numbers;
}

// "ORD-%06d": one number, padded with zeros.
bool IsIdFormat(const std::string& ids) {
  const size_t percent = ids.find('%');
  if (percent == std::string::npos || ids.size() > 100) return false;
  const size_t end = ids.find_first_not_of("0123456789", percent + 1);
  return end != std::string::npos && ids[end] == 'd' && end - percent <= 3 &&
         std::atoi(ids.c_str() + percent + 1) <= 18 && ids.find('%', end) == std::string::npos;
}

KeySpace ReadKeys(Section section) {
  KeySpace keys;
  section.Enum("type", {"uniform", "zipf", "single", "weighted", "date", "upload"}, &keys.kind);
  section.Enum("sort", {"none", "uniform", "increasing"}, &keys.sort);
  section.Whole("suffixes", &keys.suffixes, 1, kMostSuffixes);
  if (const toml::node* node = section.Node("suffix"); node != nullptr && node->is_table()) {
    if (auto computed = section.Sub("suffix")) {
      size_t function = 1;
      computed->Choice("function", {"product", "hash"}, &function);
      keys.suffix = function == 0 ? KeySpace::Suffix::kProduct : KeySpace::Suffix::kHash;
      computed->Text("ids", &keys.ids);
      if (!IsIdFormat(keys.ids))
        computed->Fail("ids", "must have one number such as %06d, of at most 18 digits");
      computed->Finish();
    }
  } else {
    section.Enum("suffix", {"random", "computed"}, &keys.suffix);
  }
  switch (keys.kind) {
    case KeySpace::Kind::kUniform: section.Whole("count", &keys.count, 1); break;
    case KeySpace::Kind::kZipf:
      section.Whole("count", &keys.count, 1);
      section.Number("exponent", &keys.exponent, 0, 10);
      break;
    case KeySpace::Kind::kSingle: {
      std::string name = "hot";
      section.Text("key", &name);
      keys.names = {name};
      keys.weights = {1};
      break;
    }
    case KeySpace::Kind::kWeighted: {
      double sum = 0;
      for (const auto& [name, weight] : NumbersOf(&section, "weights")) {
        keys.names.push_back(name);
        keys.weights.push_back(weight);
        sum += weight;
      }
      if (sum <= 0 || keys.names.size() > kMostNames) {
        section.Fail("weights", fmt::format("must have 1 to {} keys with a weight", kMostNames));
      }
      break;
    }
    case KeySpace::Kind::kDate:
      section.Seconds("every", &keys.period_seconds);
      if (keys.period_seconds < 1) section.Fail("every", "must be at least one second");
      break;
    case KeySpace::Kind::kUpload: {
      keys.count = 1000;
      keys.items_per_user = 1000;
      section.Whole("users", &keys.count, 1, 1'000'000'000);
      section.Whole("items_per_user", &keys.items_per_user, 1, 1'000'000'000);
      size_t order = 0;
      section.Choice("order", {"by-user", "interleaved"}, &order);
      keys.interleaved = order == 1;
      if (keys.suffixes != 1) section.Fail("suffixes", "not with uploads");
      break;
    }
  }
  section.Finish();
  return keys;
}

AutoScaling ReadAutoScaling(Section section) {
  AutoScaling scaling;
  const auto read = [&](std::string_view key, std::optional<throughput::AutoScalingSettings>* out) {
    std::optional<Section> policy = section.Sub(key);
    if (!policy) return;
    throughput::AutoScalingSettings s;
    policy->Number("min", &s.min_units, 1);
    policy->Number("max", &s.max_units, 1);
    policy->Number("target", &s.target, 0, 1);
    policy->Seconds("raise_cooldown", &s.raise_cooldown_seconds);
    policy->Seconds("lower_cooldown", &s.lower_cooldown_seconds);
    policy->Number("lower_margin", &s.lower_margin, 0, 1);
    policy->Flag("lower_when_idle", &s.lower_when_idle);
    const Status status = throughput::AutoScalingPolicy::Check(s);
    if (!status.ok()) policy->Fail("", status.error().message());
    policy->Finish();
    *out = s;
  };
  read("read", &scaling.read);
  read("write", &scaling.write);
  section.Finish();
  return scaling;
}

void ReadOptional(Section* section, std::string_view key, std::optional<double>* out) {
  if (!section->Has(key)) return;
  double value = 1;
  section->Number(key, &value, 1);
  *out = value;
}

std::optional<throughput::Rates> ReadWarm(Section* section) {
  std::optional<double> read, write;
  ReadOptional(section, "warm_read", &read);
  ReadOptional(section, "warm_write", &write);
  if (!read && !write) return std::nullopt;
  return throughput::Rates{read.value_or(1), write.value_or(1)};
}

std::vector<CapacityChange> ReadChanges(Section* section) {
  std::vector<CapacityChange> changes;
  for (Section& entry : section->List("capacity")) {
    CapacityChange change;
    if (!entry.Has("at")) entry.Fail("", "at is missing");
    entry.Seconds("at", &change.at_seconds);
    ReadOptional(&entry, "read", &change.read);
    ReadOptional(&entry, "write", &change.write);
    if (entry.Has("billing")) {
      Billing billing = Billing::kProvisioned;
      entry.Enum("billing", {"provisioned", "on-demand"}, &billing);
      change.billing = billing;
    }
    change.warm = ReadWarm(&entry);
    entry.Finish();
    if (!changes.empty() && change.at_seconds < changes.back().at_seconds) {
      entry.Fail("at", "must not be before the change above it");
    }
    changes.push_back(change);
  }
  return changes;
}

// What tables and indexes have in common.
void ReadResource(Section* section, throughput::ResourceDefinition* d) {
  section->Text("name", &d->name);
  if (d->name.empty()) section->Fail("", "name is missing");
  d->provisioned = {1, 1};
  section->Number("read", &d->provisioned.read, 1);
  section->Number("write", &d->provisioned.write, 1);
  ReadOptional(section, "max_read", &d->max_read);
  ReadOptional(section, "max_write", &d->max_write);
  d->warm = ReadWarm(section);
  section->Bytes("size", &d->bytes);
  if (section->Has("partitions")) {
    int64_t partitions = 1;
    section->Whole("partitions", &partitions, 1, 4096);
    d->partitions = throughput::PartitionMap::Even(partitions);
  }
}

TableScenario ReadTable(Section section) {
  TableScenario table;
  throughput::ResourceDefinition& d = table.definition;
  section.Enum("billing", {"provisioned", "on-demand"}, &d.billing);
  ReadResource(&section, &d);
  section.Flag("local_indexes", &d.has_local_indexes);
  section.Flag("stream", &d.has_stream);
  table.changes = ReadChanges(&section);
  if (auto scaling = section.Sub("auto_scaling")) table.auto_scaling = ReadAutoScaling(*scaling);
  for (Section& entry : section.List("index")) {
    IndexScenario index;
    index.definition.is_index = true;
    index.definition.billing = d.billing;
    ReadResource(&entry, &index.definition);
    entry.Bytes("entry_bytes", &index.entry_bytes);
    entry.Number("fraction", &index.fraction, 0, 1);
    index.changes = ReadChanges(&entry);
    if (auto keys = entry.Sub("keys")) index.keys = ReadKeys(*keys);
    if (index.keys.kind == KeySpace::Kind::kUpload)
      entry.Fail("keys", "an index has no upload of its own");
    if (auto scaling = entry.Sub("auto_scaling")) index.auto_scaling = ReadAutoScaling(*scaling);
    entry.Finish();
    table.indexes.push_back(std::move(index));
  }
  section.Finish();
  return table;
}

std::vector<std::pair<double, double>> ReadRate(Section* section) {
  std::vector<std::pair<double, double>> rate;
  const toml::node* node = section->Node("rate");
  if (node == nullptr) {
    section->Fail("", "rate is missing");
    return rate;
  }
  constexpr std::string_view kForm =
      "must be requests per second, or a list of [time, requests per second]";
  const auto number = [&](const toml::node& n) -> std::optional<double> {
    const auto value = n.value<double>();
    return n.is_number() && value && *value >= 0 && *value <= 1e9 ? value : std::nullopt;
  };
  if (const auto constant = number(*node)) return {{0, *constant}};
  const toml::array* points = node->as_array();
  if (points == nullptr || points->empty()) {
    section->Fail("rate", kForm);
    return rate;
  }
  for (const toml::node& element : *points) {
    const toml::array* point = element.as_array();
    const bool pair = point != nullptr && point->size() == 2;
    const auto at = pair ? SecondsOf((*point)[0]) : std::nullopt;
    const auto value = pair ? number((*point)[1]) : std::nullopt;
    if (!at || !value || (!rate.empty() && *at < rate.back().first)) {
      section->errors()->Add(element.source(), section->path() + ".rate",
                             fmt::format("{}, in the order of time", kForm));
      return rate;
    }
    rate.emplace_back(*at, *value);
  }
  return rate;
}

Traffic ReadTraffic(Section section, const Scenario& scenario) {
  Traffic t;
  std::string table;
  section.Text("table", &table);
  const auto named = [](const std::string& name) {
    return [&name](const auto& candidate) { return candidate.definition.name == name; };
  };
  const auto found = std::find_if(scenario.tables.begin(), scenario.tables.end(), named(table));
  if (found == scenario.tables.end()) {
    section.Fail(section.Has("table") ? "table" : "",
                 fmt::format("there is no table \"{}\"", table));
    return t;
  }
  t.table = static_cast<size_t>(found - scenario.tables.begin());
  size_t operation = 0;
  section.Choice("operation", {"read", "write", "delete"}, &operation);
  t.access = operation == 0 ? Access::kRead : Access::kWrite;
  t.deletes = operation == 2;
  if (std::string index; section.Has("index")) {
    section.Text("index", &index);
    const auto at = std::find_if(found->indexes.begin(), found->indexes.end(), named(index));
    if (at == found->indexes.end()) {
      section.Fail("index", fmt::format("table \"{}\" has no index \"{}\"", table, index));
      return t;
    }
    if (t.access == Access::kWrite) section.Fail("index", "writes go to the table");
    t.index = static_cast<size_t>(at - found->indexes.begin());
    t.keys = at->keys;
  }
  t.name = fmt::format("{} {}", table, t.access == Access::kRead ? "reads" : "writes");
  section.Text("name", &t.name);
  if (t.access == Access::kRead) {
    section.Enum("consistency", {"eventual", "strong", "transactional"}, &t.consistency);
    if (t.index && t.consistency != Consistency::kEventual) {
      section.Fail("consistency", "reads of a global index are eventual");
    }
    size_t lookup = 0;
    section.Choice("lookup", {"item", "collection"}, &lookup);
    t.whole_collection = lookup == 1;
    if (auto cache = section.Sub("cache")) {
      if (!cache->Has("items")) cache->Fail("", "items is missing");
      cache->Whole("items", &t.cache_items, 1);
      cache->Finish();
    }
  } else {
    section.Flag("transactional", &t.transactional);
    section.Flag("new_items", &t.new_items);
    if (t.deletes && t.new_items) section.Fail("new_items", "a delete adds none");
    section.Seconds("ttl", &t.ttl_seconds);
    section.Seconds("ttl_delay", &t.ttl_delay_seconds, 0, 48 * 3600);
    if (t.ttl_seconds > 0 && !t.new_items) section.Fail("ttl", "is of new items: new_items = true");
  }
  section.Bytes("item_bytes", &t.item_bytes);
  t.rate = ReadRate(&section);
  section.Flag("linear", &t.linear);
  t.until_seconds = scenario.duration_seconds;
  section.Seconds("from", &t.from_seconds);
  section.Seconds("until", &t.until_seconds);
  if (auto keys = section.Sub("keys")) t.keys = ReadKeys(*keys);
  if (t.access == Access::kRead && t.keys.kind == KeySpace::Kind::kUpload) {
    section.Fail("keys", "an upload is made of writes");
  }
  section.Finish();
  return t;
}

void ReadModel(Section section, throughput::ModelSettings* m) {
  section.Enum("adaptive", {"off", "instant", "delayed"}, &m->adaptive);
  section.Seconds("adaptive_delay", &m->adaptive_delay_seconds);
  section.Seconds("burst", &m->burst_seconds);
  section.Seconds("initial_burst", &m->initial_burst_seconds);
  section.Seconds("partition_burst", &m->partition_burst_seconds);
  section.Seconds("maximum_burst", &m->maximum_burst_seconds);
  section.Number("partition_read_units", &m->partition_read_units, 1);
  section.Number("partition_write_units", &m->partition_write_units, 1);
  m->eventual_partition_read_units = m->partition_read_units;
  section.Number("eventual_partition_read_units", &m->eventual_partition_read_units, 1);
  int64_t bytes = static_cast<int64_t>(m->partition_bytes);
  section.Bytes("partition_bytes", &bytes);
  if (bytes < 1 << 20) section.Fail("partition_bytes", "must be at least 1MB");
  m->partition_bytes = static_cast<double>(bytes);
  section.Number("on_demand_read_units", &m->on_demand_read_units, 1);
  section.Number("on_demand_write_units", &m->on_demand_write_units, 1);
  section.Number("growth_factor", &m->growth_factor, 1, 100);
  section.Seconds("growth_time", &m->growth_seconds);
  section.Number("table_quota_read_units", &m->table_quota_read_units, 1);
  section.Number("table_quota_write_units", &m->table_quota_write_units, 1);
  section.Number("account_quota_read_units", &m->account_quota_read_units, 1);
  section.Number("account_quota_write_units", &m->account_quota_write_units, 1);
  section.Whole("decreases_per_day", &m->decreases_per_day, 1);
  section.Seconds("decrease_pause", &m->decrease_pause_seconds);
  section.Whole("on_demand_switches", &m->on_demand_switches, 1);
  section.Whole("most_partitions", &m->most_partitions, 1, m->most_partitions);
  section.Seconds("window", &m->window_seconds, 1, 3600);
  section.Flag("split_for_heat", &m->split_for_heat);
  section.Number("heat_threshold", &m->heat_threshold, 0.01, 1);
  int64_t windows = m->heat_windows;
  section.Whole("heat_windows", &windows, 1, 10'000);
  m->heat_windows = static_cast<int>(windows);
  section.Number("heat_min_side", &m->heat_min_side, 0.01, 0.5);
  section.Number("isolation_share", &m->isolation_share, 0.01, 1);
  section.Finish();
}

void ReadPrices(Section section, throughput::UnitPrices* p) {
  section.Number("write_unit_month", &p->write_unit, 0);
  section.Number("read_unit_month", &p->read_unit, 0);
  section.Number("gigabyte_month", &p->gigabyte, 0);
  section.Number("reserved_discount", &p->reserved_discount, 0, 1);
  section.Number("million_writes", &p->million_writes, 0);
  section.Number("million_reads", &p->million_reads, 0);
  section.Finish();
}

}  // namespace

namespace {

Result<std::string> ReadText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  if (in) text << in.rdbuf();
  if (!in || text.fail()) return ValidationError(path + ": cannot be read");
  return text.str();
}

// `name` alone, of a document that may have anything else.
template <typename T>
Result<T> ParseOneSection(std::string_view text, const std::string& file, std::string_view name,
                          void (*read)(Section, T*)) {
  const toml::parse_result parsed = toml::parse(text);
  Errors errors(file);
  T settings;
  if (!parsed) {
    errors.Add(parsed.error().source(), "", parsed.error().description());
    TRY(errors.status());
  }
  Section root(parsed.table(), "", &errors);
  if (auto section = root.Sub(name)) {
    read(*section, &settings);
  } else {
    root.Fail(name, fmt::format("there is no [{}]", name));
  }
  TRY(errors.status());
  return settings;
}

}  // namespace

Result<Scenario> ParseScenario(std::string_view text, const std::string& file) {
  const toml::parse_result parsed = toml::parse(text);
  Errors errors(file);
  if (!parsed) {
    errors.Add(parsed.error().source(), "", parsed.error().description());
    return errors.status().error();
  }
  Scenario s;
  s.name = std::filesystem::path(file).stem().string();
  Section root(parsed.table(), "", &errors);
  root.Text("name", &s.name);
  if (s.name.empty() || s.name.find_first_of("/\\") != std::string::npos) {
    root.Fail("name", "must be a name without slashes: files are called so");
  }
  root.Text("description", &s.description);
  root.Seconds("duration", &s.duration_seconds);
  root.Seconds("step", &s.step_seconds);
  if (s.step_seconds < 0.1) root.Fail("step", "must be at least 100ms");
  if (s.duration_seconds < s.step_seconds) root.Fail("duration", "must be at least one step");
  if (s.duration_seconds / std::max(s.step_seconds, 0.1) > kMostSteps) {
    root.Fail("duration",
              fmt::format("is more than {:.0f} steps: make the step longer", kMostSteps));
  }
  int64_t seed = 1;
  root.Whole("seed", &seed, 0, INT64_MAX);
  s.seed = static_cast<uint64_t>(seed);
  if (const toml::node* start = root.Node("start")) {
    const toml::value<toml::date>* date = start->as_date();
    if (date == nullptr) {
      root.Fail("start", "must be a date such as 2026-01-31, without quotes");
    } else {
      const std::chrono::year_month_day ymd{std::chrono::year(date->get().year),
                                            std::chrono::month(date->get().month),
                                            std::chrono::day(date->get().day)};
      s.start_micros = std::chrono::sys_days(ymd).time_since_epoch().count() * 86'400'000'000LL;
    }
  }
  if (auto model = root.Sub("model")) ReadModel(*model, &s.model);
  if (auto prices = root.Sub("prices")) {
    ReadPrices(*prices, &s.prices);
    s.has_prices = true;
  }
  std::set<std::string> names;
  for (Section& section : root.List("table")) {
    s.tables.push_back(ReadTable(section));
    const std::string& name = s.tables.back().definition.name;
    if (!name.empty() && !names.insert(name).second)
      section.Fail("name", "there is a table of this name already");
  }
  if (s.tables.empty()) root.Fail("", "there is no [[table]]");
  for (TableScenario& table : s.tables) table.definition.has_sort_key = false;
  for (Section& section : root.List("traffic")) {
    s.traffic.push_back(ReadTraffic(section, s));
    const Traffic& traffic = s.traffic.back();
    if (traffic.table < s.tables.size() && traffic.keys.sort != KeySpace::Sort::kNone)
      s.tables[traffic.table].definition.has_sort_key = true;
  }
  if (s.traffic.empty()) root.Fail("", "there is no [[traffic]]");
  root.Finish();
  TRY(errors.status());
  return s;
}

Result<Scenario> ReadScenario(const std::string& path,
                              const std::vector<std::pair<std::string, std::string>>& model) {
  ASSIGN_OR_RETURN(std::string text, ReadText(path));
  if (model.empty()) return ParseScenario(text, path);
  toml::parse_result parsed = toml::parse(text);
  // Errors of the file itself have the lines of the file.
  if (const Result<Scenario> as_it_is = ParseScenario(text, path); !as_it_is.ok()) return as_it_is;
  toml::table& root = parsed.table();
  if (!root.contains("model")) root.insert("model", toml::table());
  for (const auto& [key, value] : model) {
    // The value is TOML, or else a text.
    const toml::parse_result typed = toml::parse("value = " + value);
    toml::table& section = *root["model"].as_table();
    if (typed && typed.table().size() == 1) {
      section.insert_or_assign(key, *typed.table().get("value"));
    } else {
      section.insert_or_assign(key, value);
    }
  }
  std::ostringstream changed;
  changed << root;
  return ParseScenario(changed.str(), path);
}

Result<throughput::UnitPrices> ReadPriceFile(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadText(path));
  return ParseOneSection<throughput::UnitPrices>(text, path, "prices", ReadPrices);
}

Result<throughput::ModelSettings> ParseModel(std::string_view text, const std::string& file) {
  return ParseOneSection<throughput::ModelSettings>(text, file, "model", ReadModel);
}

}  // namespace stator::simulate
