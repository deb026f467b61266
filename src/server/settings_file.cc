#include "server/settings_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <optional>
#include <sstream>
#include <string_view>
#include <utility>

#include "server/auto_scaling_control.h"
#include "server/fault_control.h"
#include "server/throttling_control.h"
#include "simulate/scenario_reader.h"
#include "triggers/runner.h"

#define TOML_EXCEPTIONS 0
#include <toml++/toml.h>

namespace stator::server {
namespace {

constexpr std::array<std::string_view, 9> kSections = {"serve",      "model",        "faults",
                                                       "throttling", "auto-scaling", "accounts",
                                                       "users",      "functions",    "triggers"};

[[noreturn]] void Fail(const std::string& message) {
  throw CLI::ConfigError(message, CLI::ExitCodes::ConfigError);
}

[[noreturn]] void FailAt(const std::string& file, const toml::source_region& where,
                         std::string_view what) {
  Fail(fmt::format("{}:{}: {}", file, where.begin.line, what));
}

// Returns a value as it would stand on the command line; nullopt for a table or an array.
std::optional<std::string> TextOf(const toml::node& node) {
  if (const auto* text = node.as_string()) return text->get();
  if (const auto* number = node.as_integer()) return fmt::format("{}", number->get());
  if (const auto* number = node.as_floating_point()) return fmt::format("{}", number->get());
  if (const auto* flag = node.as_boolean()) return flag->get() ? "true" : "false";
  if (node.is_table() || node.is_array()) return std::nullopt;
  std::ostringstream out;  // dates and times
  if (const auto* date = node.as_date()) out << date->get();
  if (const auto* time = node.as_time()) out << time->get();
  if (const auto* moment = node.as_date_time()) out << moment->get();
  return out.str();
}

// One value, or those of an array.
std::vector<std::string> TextsOf(const std::string& file, const std::string& key,
                                 const toml::node& node) {
  std::vector<std::string> texts;
  const auto add = [&](const toml::node& one) {
    std::optional<std::string> text = TextOf(one);
    if (!text) FailAt(file, one.source(), key + ": must be a value, or an array of values");
    texts.push_back(*std::move(text));
  };
  if (const toml::array* array = node.as_array()) {
    for (const toml::node& one : *array) add(one);
  } else {
    add(node);
  }
  return texts;
}

const toml::table& TableOf(const std::string& file, const std::string& key,
                           const toml::node& node) {
  const toml::table* table = node.as_table();
  if (table == nullptr) FailAt(file, node.source(), key + ": must be a section");
  return *table;
}

// Hands `take` the settings of each [[section]].
template <typename Take>
void TakeEach(const std::string& file, const toml::table& root, const std::string& section,
              Take take) {
  const toml::node* node = root.get(section);
  if (node == nullptr) return;
  const toml::array* array = node->as_array();
  if (array == nullptr)
    FailAt(file, node->source(), fmt::format("{0}: must be written [[{0}]]", section));
  for (const toml::node& one : *array) {
    std::vector<ops::FaultSetting> settings;
    for (const auto& [key, value] : TableOf(file, section, one)) {
      const std::string name(key.str());
      settings.push_back({name, TextsOf(file, section + "." + name, value)});
    }
    const Status taken = take(std::move(settings));
    if (!taken.ok())
      FailAt(file, one.source(), fmt::format("[[{}]]: {}", section, taken.error().message()));
  }
}

std::vector<triggers::Setting> ToTriggers(const std::vector<ops::FaultSetting>& settings) {
  std::vector<triggers::Setting> out;
  for (const ops::FaultSetting& setting : settings) out.push_back({setting.name, setting.values});
  return out;
}

bool SetByEnvironment(const CLI::Option& option) {
  if (option.get_envname().empty()) return false;
  const char* value = std::getenv(option.get_envname().c_str());
  return value != nullptr && *value != '\0';
}

}  // namespace

std::string SettingsFile::FileName() const {
  return serve_.get_parent()->get_config_ptr()->as<std::string>();
}

std::vector<CLI::ConfigItem> SettingsFile::from_config(std::istream& input) const {
  const std::string text{std::istreambuf_iterator<char>(input), {}};
  const std::string file = FileName();
  const toml::parse_result parsed = toml::parse(text);
  if (!parsed) FailAt(file, parsed.error().source(), parsed.error().description());
  const toml::table& root = parsed.table();
  for (const auto& [key, node] : root) {
    if (std::find(kSections.begin(), kSections.end(), key.str()) != kSections.end()) continue;
    FailAt(file, node.source(),
           fmt::format("{}: there is no such section; the options of serve stand under [serve]",
                       key.str()));
  }
  if (root.contains("model")) {
    // By who reads it in scenarios.
    Result<throughput::ModelSettings> model = simulate::ParseModel(text, file);
    if (!model.ok()) Fail(model.error().message());
    settings_.model = *model;
  }
  TakeEach(file, root, "faults", [this](std::vector<ops::FaultSetting> rule) {
    return AddFault(std::move(rule), &settings_.faults);
  });
  TakeEach(file, root, "throttling", [this](const std::vector<ops::FaultSetting>& setting) {
    return AddThrottling(setting, &settings_.throttling);
  });
  TakeEach(file, root, "auto-scaling", [this](const std::vector<ops::FaultSetting>& rule) {
    return AddAutoScaling(rule, &settings_.auto_scaling);
  });

  const std::string directory = std::filesystem::path(file).parent_path().string();
  TakeEach(file, root, "accounts", [&](const std::vector<ops::FaultSetting>& account) {
    return AddAccount(account, directory, &settings_.access.accounts);
  });
  TakeEach(file, root, "users", [&](const std::vector<ops::FaultSetting>& user) {
    return AddUser(user, directory, &settings_.access.users);
  });

  TakeEach(file, root, "functions", [&](const std::vector<ops::FaultSetting>& function) {
    return triggers::AddFunction(ToTriggers(function), directory, &settings_.functions);
  });
  TakeEach(file, root, "triggers", [this](const std::vector<ops::FaultSetting>& trigger) {
    return triggers::AddTrigger(ToTriggers(trigger), &settings_.triggers);
  });

  std::vector<CLI::ConfigItem> items;
  const toml::node* serve = root.get("serve");
  if (serve == nullptr) return items;
  const std::vector<std::string> parents = {"serve"};
  items.push_back({parents, "++", {}});  // how CLI11 is told that a section begins
  for (const auto& [key, node] : TableOf(file, "serve", *serve)) {
    const std::string name(key.str());
    const CLI::Option* option = serve_.get_option_no_throw("--" + name);
    if (option == nullptr)
      FailAt(file, node.source(), fmt::format("serve.{}: there is no such setting", name));
    std::vector<std::string> texts = TextsOf(file, "serve." + name, node);
    if (!SetByEnvironment(*option)) items.push_back({parents, name, std::move(texts)});
  }
  items.push_back({parents, "--", {}});
  return items;
}

}  // namespace stator::server
