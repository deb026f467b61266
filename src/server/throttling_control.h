// Whether requests beyond the throughput of their table are refused, from outside
// (docs/throughput.md):
//
//   GET    /_stator/throttling               {"mode":"observe","tables":{"votes":"enforce"}}
//   PUT    /_stator/throttling               {"mode":"enforce"}: all tables without a mode of their
//                                            own
//   GET    /_stator/tables/NAME/throttling   {"mode":"enforce"}
//   PUT    /_stator/tables/NAME/throttling   {"mode":"enforce"}; the table need not exist yet
//   DELETE /_stator/tables/NAME/throttling   as all others
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fleet/shared_settings.h"
#include "ops/admission.h"
#include "ops/fault_rule.h"

namespace stator::server {

// Thread-safe, but for Share.
class ThrottlingControl {
 public:
  explicit ThrottlingControl(ops::Admission& admission) : admission_(admission) {}
  // Makes the modes common to all processes of the store. `own`: the modes of this process's
  // settings, which hold where no common mode is set. `settings` must outlive this object's calls.
  void Share(fleet::SharedSettings& settings, ops::ThrottlingModes own);

  static bool Takes(std::string_view method) {
    return method == "GET" || method == "PUT" || method == "DELETE";
  }
  // Does what the call asks for and answers what holds then, as JSON. No table: the call is about
  // all. kValidation says what is wrong. Waits for the engine if modes are shared.
  Result<std::string> Handle(const std::optional<std::string>& table, std::string_view method,
                             std::string_view body);

 private:
  std::string Render(const std::optional<std::string>& table) const;
  // No table: all; no mode: as all others.
  Status Set(const std::optional<std::string>& table, std::optional<throughput::Throttling> mode);
  void FollowTable(const std::string& table, const std::optional<std::string>& text);

  ops::Admission& admission_;
  fleet::SharedSettings* shared_ = nullptr;
  ops::ThrottlingModes own_;
};

// One [[throttling]] of stator.toml: `table` and `mode`. kValidation.
Status AddThrottling(const std::vector<ops::FaultSetting>& settings, ops::ThrottlingModes* modes);

}  // namespace stator::server
