#include "server/auto_scaling_control.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>
#include <optional>

#include "base/pump.h"
#include "base/time_text.h"
#include "server/report_json.h"
#include "simdjson.h"
#include "table/store.h"

namespace stator::server {
namespace {

using table::AutoScalingRules;
using throughput::AutoScalingSettings;

std::optional<double> NumberOf(const std::string& text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !std::isfinite(value))
    return std::nullopt;
  return value;
}

// Sets one member, named as in a scenario of `stator simulate`.
Status SetMember(const std::string& name, const std::string& text, AutoScalingSettings* settings) {
  const auto wrong = [&](std::string_view wanted) {
    return ValidationError(fmt::format("{} must be {}, not {}", name, wanted, text));
  };
  if (name == "min" || name == "max") {
    const std::optional<double> units = NumberOf(text);
    if (!units || *units != std::floor(*units) || *units < 1 || *units > 1e12)
      return wrong("a whole number of units");
    (name == "min" ? settings->min_units : settings->max_units) = *units;
  } else if (name == "target" || name == "lower_margin") {
    const std::optional<double> part = NumberOf(text);
    if (!part || *part < 0 || *part > 1) return wrong("a number from 0 to 1");
    (name == "target" ? settings->target : settings->lower_margin) = *part;
  } else if (name == "raise_cooldown" || name == "lower_cooldown") {
    const std::optional<int64_t> micros = ParseDuration(text);
    if (!micros) return wrong("a duration such as 60 or \"5m\"");
    (name == "raise_cooldown" ? settings->raise_cooldown_seconds
                              : settings->lower_cooldown_seconds) =
        static_cast<double>(*micros) / 1e6;
  } else if (name == "lower_when_idle") {
    if (text != "true" && text != "false") return wrong("true or false");
    settings->lower_when_idle = text == "true";
  } else {
    return ValidationError(name +
                           " is none of min, max, target, raise_cooldown, lower_cooldown, "
                           "lower_margin and lower_when_idle");
  }
  return OkStatus();
}

Result<AutoScalingSettings> ReadSettings(std::string_view access, simdjson::dom::element json) {
  simdjson::dom::object members;
  if (json.get(members) != simdjson::SUCCESS)
    return ValidationError(std::string(access) + " must be an object");
  AutoScalingSettings settings;
  for (const auto& [name, value] : members) {
    std::string_view text;
    std::string rendered;
    if (value.get(text) == simdjson::SUCCESS) {
      rendered = text;
    } else {
      rendered = simdjson::to_string(value);
    }
    TRY(SetMember(std::string(name), rendered, &settings));
  }
  TRY(throughput::AutoScalingPolicy::Check(settings));
  return settings;
}

// {"read":{...},"write":{...}}, and what else `other` takes.
template <typename Other>
Result<AutoScalingRules> ReadRules(simdjson::dom::element json, Other other) {
  simdjson::dom::object members;
  if (json.get(members) != simdjson::SUCCESS)
    return ValidationError(R"(expected {"read": {...}, "write": {...}})");
  AutoScalingRules rules;
  for (const auto& [name, value] : members) {
    if (name == "read") {
      ASSIGN_OR_RETURN(rules.read, ReadSettings(name, value));
    } else if (name == "write") {
      ASSIGN_OR_RETURN(rules.write, ReadSettings(name, value));
    } else {
      TRY(other(name, value));
    }
  }
  return rules;
}

struct TableRules {
  AutoScalingRules table;
  std::vector<std::pair<std::string, AutoScalingRules>> indexes;
};

Result<TableRules> ParseRules(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  const simdjson::padded_string padded(body);
  if (parser.parse(padded).get(json) != simdjson::SUCCESS)
    return ValidationError("the body is no JSON");
  TableRules rules;
  const auto unknown = [](std::string_view name, simdjson::dom::element) -> Status {
    return ValidationError("expected read or write, not " + std::string(name));
  };
  ASSIGN_OR_RETURN(
      rules.table,
      ReadRules(json, [&](std::string_view name, simdjson::dom::element value) -> Status {
        simdjson::dom::object indexes;
        if (name != "indexes" || value.get(indexes) != simdjson::SUCCESS)
          return ValidationError("expected read, write and indexes, an object, not " +
                                 std::string(name));
        for (const auto& [index, of_index] : indexes) {
          ASSIGN_OR_RETURN(AutoScalingRules each, ReadRules(of_index, unknown));
          rules.indexes.emplace_back(index, std::move(each));
        }
        return OkStatus();
      }));
  return rules;
}

Status SetRules(const TableRules& rules, table::TableDescriptor* descriptor) {
  descriptor->auto_scaling = rules.table;
  for (table::IndexDescriptor& index : descriptor->indexes) index.auto_scaling = {};
  for (const auto& [name, of_index] : rules.indexes) {
    const auto index = std::find_if(
        descriptor->indexes.begin(), descriptor->indexes.end(),
        [&wanted = name](const auto& each) { return each.is_global() && each.name == wanted; });
    if (index == descriptor->indexes.end())
      return ValidationError("the table has no global secondary index " + name);
    index->auto_scaling = of_index;
  }
  return OkStatus();
}

Status Store(ops::Environment& env, const std::string& table, TableRules rules) {
  Pump pump;
  std::optional<Status> outcome;
  env.store.Alter(
      table,
      [rules = std::move(rules)](table::TableDescriptor* descriptor) {
        return SetRules(rules, descriptor);
      },
      [&](Result<table::TablePtr> altered) {
        // Posted, because `outcome` belongs to this thread.
        pump.Post([&outcome, altered = std::move(altered)]() mutable {
          outcome = altered.ok() ? OkStatus() : Status(std::move(altered).error());
        });
      });
  pump.RunUntil([&outcome] { return outcome.has_value(); });
  return std::move(*outcome);
}

std::string Render(const AutoScalingSettings& s, bool own) {
  return fmt::format(
      R"({{"min":{:.0f},"max":{:.0f},"target":{},"raise_cooldown":{},"lower_cooldown":{},"lower_margin":{},"lower_when_idle":{},"from":"{}"}})",
      s.min_units, s.max_units, s.target, s.raise_cooldown_seconds, s.lower_cooldown_seconds,
      s.lower_margin, s.lower_when_idle, own ? "table" : "settings");
}

// Members without braces; empty if there are no rules.
std::string Render(const AutoScalingRules& own, const AutoScalingRules& rules) {
  std::string out;
  if (rules.read) out += R"("read":)" + Render(*rules.read, own.read.has_value());
  if (rules.write)
    out += (out.empty() ? R"("write":)" : R"(,"write":)") +
           Render(*rules.write, own.write.has_value());
  return out;
}

std::string Render(const ops::ScalingActivity& a) {
  std::string out = fmt::format(R"({{"at":"{}",)", FormatTime(a.at_micros));
  if (!a.index.empty()) out += fmt::format(R"("index":{},)", Quoted(a.index));
  out += fmt::format(R"("access":"{}","from":{},"to":{})",
                     a.access == throughput::Access::kRead ? "read" : "write", a.from_units,
                     a.to_units);
  if (!a.refusal.empty()) out += fmt::format(R"(,"refusal":{})", Quoted(a.refusal));
  return out + "}";
}

std::string RenderTable(const ops::Environment& env, const table::TableDescriptor& table) {
  std::string out = Render(table.auto_scaling, env.auto_scaler.RulesOf(table, nullptr));
  std::string indexes;
  for (const table::IndexDescriptor& index : table.indexes) {
    if (!index.is_global()) continue;
    const std::string rules = Render(index.auto_scaling, env.auto_scaler.RulesOf(table, &index));
    if (rules.empty()) continue;
    indexes += fmt::format(R"({}{}:{{{}}})", indexes.empty() ? "" : ",", Quoted(index.name), rules);
  }
  std::string activities;
  for (const ops::ScalingActivity& activity : env.auto_scaler.ActivitiesOf(table.name))
    activities += (activities.empty() ? "" : ",") + Render(activity);
  return fmt::format(R"({{{}{}"indexes":{{{}}},"activities":[{}]}})", out, out.empty() ? "" : ",",
                     indexes, activities);
}

}  // namespace

Result<std::string> HandleAutoScaling(ops::Environment& env, const std::string& name,
                                      std::string_view method, std::string_view body) {
  if (method == "PUT") {
    ASSIGN_OR_RETURN(TableRules rules, ParseRules(body));
    TRY(Store(env, name, std::move(rules)));
  } else if (method == "DELETE") {
    TRY(Store(env, name, {}));
  }
  const table::TablePtr table = env.store.Find(name);
  if (table == nullptr) return Error(ErrorCode::kResourceNotFound, "there is no table " + name);
  return RenderTable(env, table->descriptor);
}

Status AddAutoScaling(const std::vector<ops::FaultSetting>& settings,
                      ops::AutoScaler::Defaults* defaults) {
  std::string table;
  std::string index;
  std::string access;
  AutoScalingSettings rule;
  for (const auto& [name, values] : settings) {
    if (values.size() != 1) return ValidationError(name + " must be one value");
    const std::string& text = values.front();
    if (name == "table") {
      table = text;
    } else if (name == "index") {
      index = text;
    } else if (name == "access") {
      access = text;
    } else {
      TRY(SetMember(name, text, &rule));
    }
  }
  if (table.empty()) return ValidationError("each needs table, the name of one table or *");
  if (access != "read" && access != "write")
    return ValidationError("each needs access, read or write");
  TRY(throughput::AutoScalingPolicy::Check(rule));
  AutoScalingRules& rules = (*defaults)[{table, index}];
  std::optional<AutoScalingSettings>& one = access == "read" ? rules.read : rules.write;
  if (one) return ValidationError("two of them have the same table, index and access");
  one = rule;
  return OkStatus();
}

}  // namespace stator::server
