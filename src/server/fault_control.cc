#include "server/fault_control.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/attribute_json.h"
#include "base/log.h"
#include "base/random.h"
#include "simdjson.h"

namespace stator::server {
namespace {

constexpr std::string_view kPath = "/_stator/faults";
constexpr std::string_view kSettings = "faults/";  // and the table

// What is a number or a truth value in JSON.
bool Unquoted(std::string_view setting) {
  constexpr std::string_view kNames[] = {"probability", "count", "seed", "random", "share"};
  return std::find(std::begin(kNames), std::end(kNames), setting) != std::end(kNames);
}

// What a reply says of a rule and a request need not.
bool IsCounted(std::string_view setting) { return setting == "asked" || setting == "struck"; }

Status ReadValue(simdjson::dom::element json, std::string_view name,
                 std::vector<std::string>* out) {
  if (std::string_view text; json.get(text) == simdjson::SUCCESS) {
    out->emplace_back(text);
  } else if (json.is_number() || json.is_bool()) {
    out->push_back(simdjson::to_string(json));
  } else {
    return ValidationError(std::string(name) + " has a value of a wrong JSON type");
  }
  return OkStatus();
}

Result<ops::FaultRule> ReadRule(simdjson::dom::element json,
                                const std::optional<std::string>& seed) {
  simdjson::dom::object members;
  if (json.get(members) != simdjson::SUCCESS)
    return ValidationError("each of faults must be an object");
  std::vector<ops::FaultSetting> settings;
  bool seeded = false;
  for (const simdjson::dom::key_value_pair member : members) {
    if (IsCounted(member.key)) continue;
    ops::FaultSetting& setting = settings.emplace_back();
    setting.name = member.key;
    seeded |= setting.name == "seed";
    if (simdjson::dom::array values; member.value.get(values) == simdjson::SUCCESS) {
      for (const simdjson::dom::element value : values)
        TRY(ReadValue(value, member.key, &setting.values));
    } else {
      TRY(ReadValue(member.value, member.key, &setting.values));
    }
  }
  if (seed && !seeded) settings.push_back({"seed", {*seed}});
  return ops::MakeFaultRule(settings);
}

// {"faults":[...],"seed":1}
Result<ops::FaultDial::Rules> ReadRules(simdjson::dom::element json) {
  simdjson::dom::object members;
  if (json.get(members) != simdjson::SUCCESS)
    return ValidationError(R"(expected {"faults": [...]})");
  std::optional<simdjson::dom::array> faults;
  std::optional<std::string> seed;
  for (const simdjson::dom::key_value_pair member : members) {
    simdjson::dom::array list;
    if (member.key == "seed" && member.value.is_uint64()) {
      seed = simdjson::to_string(member.value);
    } else if (member.key == "faults" && member.value.get(list) == simdjson::SUCCESS) {
      faults = list;
    } else {
      return ValidationError("expected faults, a list, and perhaps seed, a whole number, not " +
                             std::string(member.key));
    }
  }
  if (!faults) return ValidationError(R"(expected {"faults": [...]})");
  ops::FaultDial::Rules rules;
  for (const simdjson::dom::element rule : *faults) {
    ASSIGN_OR_RETURN(rules.emplace_back(), ReadRule(rule, seed));
  }
  return rules;
}

Result<ops::FaultDial::Tables> ReadTables(simdjson::dom::element json) {
  simdjson::dom::object members;
  if (json.get(members) != simdjson::SUCCESS)
    return ValidationError(R"(expected {"TABLE": {"faults": [...]}, ...})");
  ops::FaultDial::Tables tables;
  for (const simdjson::dom::key_value_pair member : members) {
    TRY(ops::CheckFaultTable(member.key));
    ASSIGN_OR_RETURN(tables[std::string(member.key)], ReadRules(member.value));
  }
  return tables;
}

// The table in a path behind kPath; nullopt: none.
std::optional<std::string> TableIn(std::string_view path) {
  path.remove_prefix(std::min(kPath.size() + 1, path.size()));
  if (path.empty()) return std::nullopt;
  if (path == "%2A" || path == "%2a") return "*";
  return std::string(path);
}

// The members of a rule, each with a comma behind it.
void AppendSettings(const ops::FaultRule& rule, std::string* out) {
  for (const ops::FaultSetting& setting : ops::SettingsOf(rule)) {
    const bool list = setting.name == "operations";
    api::AppendJsonString(out, setting.name);
    out->append(list ? ":[" : ":");
    for (size_t i = 0; i < setting.values.size(); ++i) {
      if (i > 0) out->push_back(',');
      if (Unquoted(setting.name)) {
        out->append(setting.values[i]);
      } else {
        api::AppendJsonString(out, setting.values[i]);
      }
    }
    out->append(list ? "]," : ",");
  }
}

void AppendRule(const ops::FaultDial::State& state, std::string* out) {
  out->push_back('{');
  AppendSettings(state.rule, out);
  out->append("\"asked\":").append(std::to_string(state.asked));
  out->append(",\"struck\":").append(std::to_string(state.struck)).append("}");
}

// What a table's rules are among the shared settings: a number, so that the same rules set again
// are a change and start anew, and what a PUT would send.
std::string TextOf(const ops::FaultDial::Rules& rules) {
  std::string text = fmt::format("{:016x} ", SystemSeed()) + R"({"faults":[)";
  for (const ops::FaultRule& rule : rules) {
    text.push_back('{');
    AppendSettings(rule, &text);
    text.back() = '}';
    text.push_back(',');
  }
  if (!rules.empty()) text.pop_back();
  return text + "]}";
}

Result<ops::FaultDial::Rules> RulesIn(std::string_view text) {
  simdjson::dom::parser parser;
  simdjson::dom::element json;
  const simdjson::padded_string padded(text.substr(std::min(text.find('{'), text.size())));
  if (parser.parse(padded).get(json) != simdjson::SUCCESS) return ValidationError("no JSON");
  return ReadRules(json);
}

}  // namespace

void FaultControl::Share(fleet::SharedSettings& settings, ops::FaultDial::Tables own) {
  shared_ = &settings;
  own_ = std::move(own);
  settings.Follow(std::string(kSettings),
                  [this](const std::string& name, const std::optional<std::string>& text) {
                    FollowTable(name.substr(kSettings.size()), text);
                  });
}

void FaultControl::FollowTable(const std::string& table, const std::optional<std::string>& text) {
  ops::FaultDial::Rules rules;
  if (text) {
    Result<ops::FaultDial::Rules> read = RulesIn(*text);
    if (!read.ok()) {
      LogWarn("faults_not_understood", {{"table", table}, {"error", read.error().message()}});
      return;
    }
    rules = *std::move(read);
  } else if (const auto own = own_.find(table); own != own_.end()) {
    rules = own->second;
  }
  ops::SetFaults(env_, table, std::move(rules));
}

Status FaultControl::Set(const std::string& table, ops::FaultDial::Rules rules) {
  if (shared_ == nullptr) {
    ops::SetFaults(env_, table, std::move(rules));
    return OkStatus();
  }
  return shared_->Change(kSettings, [&](fleet::SharedSettings::Texts* texts) {
    const std::string name = std::string(kSettings) + table;
    if (rules.empty() && !own_.contains(table)) {
      texts->erase(name);
    } else {
      (*texts)[name] = TextOf(rules);
    }
    return OkStatus();
  });
}

Status FaultControl::SetAll(ops::FaultDial::Tables tables) {
  if (shared_ == nullptr) {
    ops::SetAllFaults(env_, std::move(tables));
    return OkStatus();
  }
  return shared_->Change(kSettings, [&](fleet::SharedSettings::Texts* texts) {
    texts->clear();
    for (const auto& [table, rules] : own_) (*texts)[std::string(kSettings) + table] = TextOf({});
    for (const auto& [table, rules] : tables)
      (*texts)[std::string(kSettings) + table] = TextOf(rules);
    return OkStatus();
  });
}

bool FaultControl::Owns(std::string_view path, std::string_view method) {
  if (method != "GET" && method != "PUT" && method != "DELETE") return false;
  return path == kPath || (path.starts_with(kPath) && path[kPath.size()] == '/');
}

std::string FaultControl::Render(const std::string* table) const {
  const auto append = [](const std::vector<ops::FaultDial::State>& rules, std::string* out) {
    out->append("{\"faults\":[");
    for (size_t i = 0; i < rules.size(); ++i) {
      if (i > 0) out->push_back(',');
      AppendRule(rules[i], out);
    }
    out->append("]}");
  };
  std::string out;
  auto all = env_.faults.Get();
  if (table != nullptr) {
    append(all[*table], &out);
    return out;
  }
  out.push_back('{');
  for (const auto& [name, rules] : all) {
    if (out.size() > 1) out.push_back(',');
    api::AppendJsonString(&out, name);
    out.push_back(':');
    append(rules, &out);
  }
  out.push_back('}');
  return out;
}

Result<std::string> FaultControl::Handle(std::string_view path, std::string_view method,
                                         std::string_view body) {
  const std::optional<std::string> table = TableIn(path);
  if (table) TRY(ops::CheckFaultTable(*table));
  if (method == "PUT") {
    simdjson::dom::parser parser;
    simdjson::dom::element json;
    const simdjson::padded_string padded(body);
    if (parser.parse(padded).get(json) != simdjson::SUCCESS)
      return ValidationError("the body is no JSON");
    if (table) {
      ASSIGN_OR_RETURN(ops::FaultDial::Rules rules, ReadRules(json));
      TRY(Set(*table, std::move(rules)));
    } else {
      ASSIGN_OR_RETURN(ops::FaultDial::Tables tables, ReadTables(json));
      TRY(SetAll(std::move(tables)));
    }
  } else if (method == "DELETE") {
    TRY(table ? Set(*table, {}) : SetAll({}));
  }
  if (method != "GET")
    LogInfo("faults set", {{"table", table ? *table : "all"}, {"active", env_.faults.active()}});
  return Render(table ? &*table : nullptr);
}

Status AddFault(std::vector<ops::FaultSetting> settings, ops::FaultDial::Tables* tables) {
  const auto table = std::find_if(settings.begin(), settings.end(),
                                  [](const auto& s) { return s.name == "table"; });
  if (table == settings.end() || table->values.size() != 1) {
    return ValidationError("each needs table, the name of one table or *");
  }
  const std::string name = table->values.front();
  TRY(ops::CheckFaultTable(name));
  settings.erase(table);
  ASSIGN_OR_RETURN(ops::FaultRule rule, ops::MakeFaultRule(settings));
  (*tables)[name].push_back(std::move(rule));
  return OkStatus();
}

}  // namespace stator::server
