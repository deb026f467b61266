// The settings file, stator.toml: what stands under [serve] becomes options, the other sections go
// into the settings themselves. Internal to the room.
#pragma once

#include <CLI/CLI.hpp>
#include <istream>
#include <string>
#include <vector>

#include "server/settings.h"

namespace stator::server {

// Reads TOML for CLI11, which has something simpler of its own, and lets the environment win over
// the file: what a variable sets is left out. Faults, auto scaling, the throttling of single tables
// and the constants of throughput are no options.
class SettingsFile final : public CLI::ConfigBase {
 public:
  // Both must outlive it.
  SettingsFile(const CLI::App& serve, ServeSettings& settings)
      : serve_(serve), settings_(settings) {}

  // Throws CLI::ConfigError with "file:line: key: what is wrong".
  std::vector<CLI::ConfigItem> from_config(std::istream& input) const override;

 private:
  std::string FileName() const;

  const CLI::App& serve_;
  ServeSettings& settings_;
};

}  // namespace stator::server
