#include "server/throttling_control.h"

#include <simdjson.h>

#include "base/log.h"
#include "server/report_json.h"
#include "throughput/meter.h"

namespace stator::server {
namespace {

using throughput::Throttling;

constexpr std::string_view kSettings = "throttling/";  // and the table
constexpr std::string_view kAll = "*";
constexpr std::string_view kAsOthers = "as-others";

Result<Throttling> ModeIn(std::string_view text) {
  if (const std::optional<Throttling> mode = throughput::ThrottlingOf(text)) return *mode;
  return ValidationError("mode must be off, observe or enforce, not " + std::string(text));
}

Result<Throttling> ReadMode(std::string_view body) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  std::string_view text;
  if (parser.parse(simdjson::padded_string(body)).get(object) != simdjson::SUCCESS ||
      object.size() != 1 || object["mode"].get(text) != simdjson::SUCCESS) {
    return ValidationError(
        R"(Expected {"mode": "off"}, {"mode": "observe"} or {"mode": "enforce"})");
  }
  return ModeIn(text);
}

}  // namespace

void ThrottlingControl::Share(fleet::SharedSettings& settings, ops::ThrottlingModes own) {
  shared_ = &settings;
  own_ = std::move(own);
  settings.Follow(std::string(kSettings),
                  [this](const std::string& name, const std::optional<std::string>& text) {
                    FollowTable(name.substr(kSettings.size()), text);
                  });
}

void ThrottlingControl::FollowTable(const std::string& table,
                                    const std::optional<std::string>& text) {
  std::optional<Throttling> mode;
  if (text) {
    mode = throughput::ThrottlingOf(*text);  // none if it is kAsOthers
  } else if (const auto own = own_.tables.find(table); own != own_.tables.end()) {
    mode = own->second;
  }
  if (table == kAll) {
    admission_.SetModeOfAll(mode.value_or(own_.all));
  } else {
    admission_.SetMode(table, mode);
  }
}

Status ThrottlingControl::Set(const std::optional<std::string>& table,
                              std::optional<Throttling> mode) {
  if (shared_ != nullptr) {
    return shared_->Change(kSettings, [&](fleet::SharedSettings::Texts* texts) {
      const std::string name = std::string(kSettings).append(table ? *table : kAll);
      if (mode) {
        (*texts)[name] = throughput::ThrottlingText(*mode);
      } else if (own_.tables.contains(*table)) {
        (*texts)[name] = kAsOthers;
      } else {
        texts->erase(name);
      }
      return OkStatus();
    });
  }
  if (table) {
    admission_.SetMode(*table, mode);
  } else {
    admission_.SetModeOfAll(*mode);
  }
  return OkStatus();
}

std::string ThrottlingControl::Render(const std::optional<std::string>& table) const {
  const auto mode = [](Throttling of) {
    return "{\"mode\":" + Quoted(throughput::ThrottlingText(of));
  };
  if (table) return mode(admission_.ModeOf(*table)) + "}";
  const ops::ThrottlingModes modes = admission_.modes();
  std::string tables;
  for (const auto& [name, of_table] : modes.tables) {
    if (!tables.empty()) tables.push_back(',');
    tables += Quoted(name) + ":" + Quoted(throughput::ThrottlingText(of_table));
  }
  return mode(modes.all) + ",\"tables\":{" + tables + "}}";
}

Result<std::string> ThrottlingControl::Handle(const std::optional<std::string>& table,
                                              std::string_view method, std::string_view body) {
  if (table) {
    TRY(ops::CheckFaultTable(*table));
    if (*table == "*") return ValidationError("all tables together are /_stator/throttling");
  }
  if (method == "PUT") {
    ASSIGN_OR_RETURN(const Throttling mode, ReadMode(body));
    TRY(Set(table, mode));
  } else if (method == "DELETE") {
    if (!table) return ValidationError("the server always has a mode: set another one");
    TRY(Set(table, std::nullopt));
  }
  if (method != "GET") {
    LogInfo("throttling set",
            {{"table", table ? *table : "all"},
             {"mode", throughput::ThrottlingText(table ? admission_.ModeOf(*table)
                                                       : admission_.modes().all)}});
  }
  return Render(table);
}

Status AddThrottling(const std::vector<ops::FaultSetting>& settings, ops::ThrottlingModes* modes) {
  std::optional<std::string> table;
  std::optional<Throttling> mode;
  for (const ops::FaultSetting& setting : settings) {
    if (setting.values.size() != 1 || (setting.name != "table" && setting.name != "mode"))
      return ValidationError("each has table and mode, not " + setting.name);
    if (setting.name == "table") {
      table = setting.values.front();
    } else {
      ASSIGN_OR_RETURN(mode, ModeIn(setting.values.front()));
    }
  }
  if (!table || !mode) return ValidationError("each needs table and mode");
  TRY(ops::CheckFaultTable(*table));
  if (*table == "*") return ValidationError("the mode of all tables is throttling under [serve]");
  if (!modes->tables.emplace(*table, *mode).second)
    return ValidationError("the table " + *table + " has two");
  return OkStatus();
}

}  // namespace stator::server
