#include "ops/fault_rule.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <functional>

#include "base/time_text.h"

namespace stator::ops {
namespace {

constexpr std::string_view kFaultNames[kFaultKinds] = {"stale-read",  "index-delay", "conflict",
                                                       "in-progress", "throttle",    "error",
                                                       "unprocessed", "slow"};

constexpr uint32_t Bit(Fault fault) { return 1u << static_cast<int>(fault); }
constexpr uint32_t kAny = Bit(Fault::kThrottle) | Bit(Fault::kError) | Bit(Fault::kSlow);
constexpr uint32_t kPages = kAny | Bit(Fault::kStaleRead) | Bit(Fault::kIndexDelay);

struct Strikeable {
  std::string_view operation;
  uint32_t faults;
};
constexpr Strikeable kOperations[] = {
    {"GetItem", kAny | Bit(Fault::kStaleRead)},
    {"BatchGetItem", kAny | Bit(Fault::kStaleRead) | Bit(Fault::kUnprocessed)},
    {"Query", kPages},
    {"Scan", kPages},
    {"TransactGetItems", kAny | Bit(Fault::kConflict)},
    {"PutItem", kAny | Bit(Fault::kConflict)},
    {"UpdateItem", kAny | Bit(Fault::kConflict)},
    {"DeleteItem", kAny | Bit(Fault::kConflict)},
    {"BatchWriteItem", kAny | Bit(Fault::kUnprocessed)},
    {"TransactWriteItems", kAny | Bit(Fault::kConflict) | Bit(Fault::kInProgress)},
    {"ExecuteStatement", kPages | Bit(Fault::kConflict)},
    {"BatchExecuteStatement", kPages | Bit(Fault::kConflict)},
    {"ExecuteTransaction", kAny | Bit(Fault::kConflict) | Bit(Fault::kInProgress)},
};

using throughput::Limit;
constexpr std::pair<std::string_view, Limit> kCauses[] = {
    {"provisioned", Limit::kProvisioned},
    {"key-range", Limit::kKeyRange},
    {"on-demand-maximum", Limit::kMaxOnDemand},
    {"account", Limit::kAccount}};

constexpr int64_t kMaxAgeMicros = 86'400'000'000;
constexpr int64_t kMaxSlowMicros = 600'000'000;

std::string_view NameOf(Fault fault) { return kFaultNames[static_cast<int>(fault)]; }

uint32_t FaultsOf(std::string_view operation) {
  for (const Strikeable& known : kOperations) {
    if (known.operation == operation) return known.faults;
  }
  return 0;
}

std::string OperationsWith(uint32_t faults) {
  std::string names;
  for (const Strikeable& known : kOperations) {
    if ((known.faults & faults) != 0)
      names.append(names.empty() ? "" : ", ").append(known.operation);
  }
  return names;
}

template <typename T>
bool ParseWhole(std::string_view text, T* out) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *out);
  return error == std::errc() && end == text.data() + text.size();
}

std::string ShowDuration(int64_t micros) {
  constexpr std::pair<std::string_view, int64_t> kUnits[] = {
      {"h", 3'600'000'000}, {"m", 60'000'000}, {"s", 1'000'000}, {"ms", 1000}};
  for (const auto& [unit, length] : kUnits) {
    if (micros % length == 0) return fmt::format("{}{}", micros / length, unit);
  }
  return fmt::format("{}s", static_cast<double>(micros) * 1e-6);
}

// Reads the settings of one rule.
class RuleReader {
 public:
  explicit RuleReader(Fault fault) { rule_.fault = fault; }

  Status Take(const FaultSetting& setting) {
    const std::string& name = setting.name;
    if (name == "fault") return OkStatus();
    if (name == "operations") return TakeOperations(setting);
    if (setting.values.size() != 1) return Wrong(setting, "one value");
    const std::string& value = setting.values.front();
    if (name == "probability") return TakeFraction(setting, &rule_.probability);
    if (name == "count") {
      int64_t count = 0;
      if (!ParseWhole(value, &count) || count < 1) return Wrong(setting, "a whole number from 1");
      rule_.count = count;
      return OkStatus();
    }
    if (name == "seed")
      return ParseWhole(value, &rule_.seed) ? OkStatus() : Wrong(setting, "a whole number from 0");
    if (name == DurationName()) {
      const int64_t most = rule_.fault == Fault::kSlow ? kMaxSlowMicros : kMaxAgeMicros;
      rule_.micros = ParseDuration(value).value_or(0);
      if (rule_.micros < 1 || rule_.micros > most) {
        return Wrong(setting, "a duration such as 250ms, 2s or 1m, up to " + ShowDuration(most));
      }
      return OkStatus();
    }
    if (name == "random" && !DurationName().empty()) {
      rule_.random = value == "true";
      return rule_.random || value == "false" ? OkStatus() : Wrong(setting, "true or false");
    }
    if (name == "index" && (rule_.fault == Fault::kIndexDelay || rule_.fault == Fault::kThrottle)) {
      rule_.index = value;
      return value.empty() ? Wrong(setting, "the name of an index") : OkStatus();
    }
    if (name == "cause" && rule_.fault == Fault::kThrottle) return TakeCause(setting);
    if (name == "when" && rule_.fault == Fault::kError) {
      rule_.after = value == "after";
      return rule_.after || value == "before" ? OkStatus() : Wrong(setting, "before or after");
    }
    if (name == "share" && rule_.fault == Fault::kUnprocessed)
      return TakeFraction(setting, &rule_.share);
    return Error(ErrorCode::kValidation,
                 fmt::format("fault {} has no setting {}", NameOf(rule_.fault), name));
  }

  Result<FaultRule> Take() {
    if (!DurationName().empty() && rule_.micros == 0) {
      return ValidationError(
          fmt::format("fault {} needs {}, such as 2s", NameOf(rule_.fault), DurationName()));
    }
    return std::move(rule_);
  }

 private:
  std::string_view DurationName() const {
    switch (rule_.fault) {
      case Fault::kStaleRead: return "age";
      case Fault::kIndexDelay:
      case Fault::kSlow: return "delay";
      default: return "";
    }
  }

  Error Wrong(const FaultSetting& setting, std::string_view wanted) const {
    std::string given;
    for (const std::string& value : setting.values)
      given.append(given.empty() ? "" : ", ").append(value);
    return ValidationError(fmt::format("fault {}: {} must be {}, not \"{}\"", NameOf(rule_.fault),
                                       setting.name, wanted, given));
  }

  Status TakeFraction(const FaultSetting& setting, double* out) {
    if (ParseWhole(setting.values.front(), out) && *out > 0 && *out <= 1) return OkStatus();
    return Wrong(setting, "above 0 and at most 1");
  }

  Status TakeOperations(const FaultSetting& setting) {
    if (setting.values.empty()) return Wrong(setting, "at least one operation");
    for (const std::string& operation : setting.values) {
      if (!CanStrike(rule_.fault, operation)) {
        return ValidationError(fmt::format("fault {} cannot strike {}; it can strike {}",
                                           NameOf(rule_.fault), operation,
                                           OperationsWith(Bit(rule_.fault))));
      }
    }
    rule_.operations = setting.values;
    return OkStatus();
  }

  Status TakeCause(const FaultSetting& setting) {
    for (const auto& [name, cause] : kCauses) {
      if (setting.values.front() != name) continue;
      rule_.cause = cause;
      return OkStatus();
    }
    return Wrong(setting, "provisioned, key-range, on-demand-maximum or account");
  }

  FaultRule rule_;
};

}  // namespace

bool CanStrike(Fault fault, std::string_view operation) {
  return (FaultsOf(operation) & Bit(fault)) != 0;
}

Result<FaultRule> MakeFaultRule(std::span<const FaultSetting> settings) {
  const auto named = std::find_if(settings.begin(), settings.end(),
                                  [](const auto& s) { return s.name == "fault"; });
  if (named == settings.end() || named->values.size() != 1)
    return ValidationError("a rule needs fault, the name of one fault");
  const auto name =
      std::find(std::begin(kFaultNames), std::end(kFaultNames), named->values.front());
  if (name == std::end(kFaultNames)) {
    return ValidationError(
        fmt::format("there is no fault {}; there are {}", named->values.front(),
                    fmt::join(std::begin(kFaultNames), std::end(kFaultNames), ", ")));
  }
  RuleReader reader(static_cast<Fault>(name - std::begin(kFaultNames)));
  for (size_t i = 0; i < settings.size(); ++i) {
    for (size_t k = 0; k < i; ++k) {
      if (settings[k].name == settings[i].name)
        return ValidationError(fmt::format("{} is given twice", settings[i].name));
    }
    TRY(reader.Take(settings[i]));
  }
  return reader.Take();
}

std::vector<FaultSetting> SettingsOf(const FaultRule& rule) {
  const FaultRule defaults;
  std::vector<FaultSetting> out;
  const auto add = [&out](std::string_view name, std::string value) {
    out.push_back({std::string(name), {std::move(value)}});
  };
  add("fault", std::string(NameOf(rule.fault)));
  if (rule.probability != defaults.probability)
    add("probability", fmt::format("{}", rule.probability));
  if (!rule.operations.empty()) out.push_back({"operations", rule.operations});
  if (rule.count) add("count", fmt::format("{}", *rule.count));
  add("seed", fmt::format("{}", rule.seed));
  if (rule.micros != 0)
    add(rule.fault == Fault::kStaleRead ? "age" : "delay", ShowDuration(rule.micros));
  if (rule.random) add("random", "true");
  for (const auto& [name, cause] : kCauses) {
    if (rule.cause == cause) add("cause", std::string(name));
  }
  if (!rule.index.empty()) add("index", rule.index);
  if (rule.fault == Fault::kError) add("when", rule.after ? "after" : "before");
  if (rule.fault == Fault::kUnprocessed) add("share", fmt::format("{}", rule.share));
  return out;
}

Status CheckFaultTable(std::string_view table) {
  const bool named = table.size() >= 3 && table.size() <= 255 &&
                     std::all_of(table.begin(), table.end(), [](unsigned char c) {
                       return std::isalnum(c) != 0 || c == '_' || c == '-' || c == '.';
                     });
  if (named || table == "*") return OkStatus();
  return ValidationError(
      fmt::format("\"{}\" is no name of a table; * stands for all tables", table));
}

}  // namespace stator::ops
