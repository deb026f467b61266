// One fault that a user has set for a table: its kind, how often it strikes, and on which
// operations. Settings are names with values as text, the same in stator.toml and in the management
// calls (docs/faults.md).
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "throughput/throttle.h"

namespace stator::ops {

enum class Fault : uint8_t {
  kStaleRead,   // an eventually consistent read answers the state of a while ago
  kIndexDelay,  // a read of a global index answers the state of a while ago
  kConflict,    // another transaction is at the item
  kInProgress,  // the transaction with this token is still under way, where it is in fact done
  kThrottle,
  kError,        // InternalServerError, before or after the operation
  kUnprocessed,  // part of a batch is left undone
  kSlow,         // the reply takes longer
};
inline constexpr int kFaultKinds = 8;

struct FaultRule {
  Fault fault = Fault::kError;
  double probability = 1;               // of each request that the rule looks at, in (0, 1]
  std::vector<std::string> operations;  // empty: all that the fault can strike
  std::optional<int64_t> count;         // strikes after which the rule is spent
  uint64_t seed = 1;
  int64_t micros = 0;                      // kStaleRead: age; kIndexDelay, kSlow: delay
  bool random = false;                     // each time another one up to `micros`
  std::optional<throughput::Limit> cause;  // kThrottle; absent: what suits the table's billing mode
  std::string index;                       // kIndexDelay, kThrottle: this index only
  bool after = false;                      // kError: once the operation is done
  double share = 0.5;                      // kUnprocessed, in (0, 1]
};

struct FaultSetting {
  std::string name;
  std::vector<std::string> values;
};

// Builds a rule from its settings; one of them must be "fault". If a setting is wrong, returns
// kValidation with a message that says which one and why.
Result<FaultRule> MakeFaultRule(std::span<const FaultSetting> settings);
// Returns the settings that give this rule. Leaves out those with their default value, except
// `fault`, `seed`, `when` and `share`.
std::vector<FaultSetting> SettingsOf(const FaultRule& rule);

// Returns OK if `table` is "*" or a valid name of a table.
Status CheckFaultTable(std::string_view table);

// Returns true if this kind of fault can apply to the operation.
bool CanStrike(Fault fault, std::string_view operation);

}  // namespace stator::ops
