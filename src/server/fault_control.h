// The fault dial from outside (docs/faults.md):
//
//   GET    /_stator/faults          what is set for which table, and how often it struck
//   GET    /_stator/faults/TABLE    the same of one table; `*` is what is set for all
//   PUT    /_stator/faults          sets everything: {"TABLE":{"faults":[...],"seed":1},...}
//   PUT    /_stator/faults/TABLE    sets one table: {"faults":[...],"seed":1}
//   DELETE /_stator/faults, /_stator/faults/TABLE
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/shared_settings.h"
#include "ops/faults.h"

namespace stator::server {

// Thread-safe, but for Share.
class FaultControl {
 public:
  // The environment outlives this object.
  explicit FaultControl(ops::Environment& env) : env_(env) {}
  // Makes the dial common to all processes of the store. `own`: the rules of this process's
  // settings, which hold for tables without a common rule. `settings` must outlive this object's
  // calls. Each process has its own counts and seeds.
  void Share(fleet::SharedSettings& settings, ops::FaultDial::Tables own);

  static bool Owns(std::string_view path, std::string_view method);
  // Runs a call and returns the faults that are set afterwards, as JSON. kValidation with the fault
  // of the body. Waits for the engine if several processes share the faults.
  Result<std::string> Handle(std::string_view path, std::string_view method, std::string_view body);

 private:
  std::string Render(const std::string* table) const;
  Status Set(const std::string& table, ops::FaultDial::Rules rules);
  Status SetAll(ops::FaultDial::Tables tables);
  void FollowTable(const std::string& table, const std::optional<std::string>& text);

  ops::Environment& env_;
  fleet::SharedSettings* shared_ = nullptr;
  ops::FaultDial::Tables own_;
};

// Adds one [[faults]] section of stator.toml to *tables. `settings` are those of a rule, and
// `table`. kValidation if they are invalid.
Status AddFault(std::vector<ops::FaultSetting> settings, ops::FaultDial::Tables* tables);

}  // namespace stator::server
