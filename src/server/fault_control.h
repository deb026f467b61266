// The fault dial from outside (docs/faults.md):
//
//   GET    /_stator/faults          what is set for which table, and how often it struck
//   GET    /_stator/faults/TABLE    the same of one table; `*` is what is set for all
//   PUT    /_stator/faults          sets everything: {"TABLE":{"faults":[...],"seed":1},...}
//   PUT    /_stator/faults/TABLE    sets one table: {"faults":[...],"seed":1}
//   DELETE /_stator/faults, /_stator/faults/TABLE
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ops/faults.h"

namespace stator::server {

// Thread-safe.
class FaultControl {
 public:
  // The environment outlives this object.
  explicit FaultControl(ops::Environment& env) : env_(env) {}

  static bool Owns(std::string_view path, std::string_view method);
  // Does what the call asks for and answers what is set then, as JSON. kValidation says what is
  // wrong with the body.
  Result<std::string> Handle(std::string_view path, std::string_view method, std::string_view body);

 private:
  std::string Render(const std::string* table) const;

  ops::Environment& env_;
};

// One [[faults]] of stator.toml: the settings of a rule, and `table`. Adds it to *tables.
// kValidation.
Status AddFault(std::vector<ops::FaultSetting> settings, ops::FaultDial::Tables* tables);

}  // namespace stator::server
