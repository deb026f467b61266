// What UpdateTable may do to provisioned capacity: quotas per table and account, decreases per day.
// Pure; no state of its own.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "throughput/model_settings.h"
#include "throughput/resource.h"

namespace stator::throughput {

// The decreases of one table or one index; they count separately. Times are microseconds since the
// Unix epoch.
struct DecreaseHistory {
  int64_t last_micros = 0;  // 0: never
  int64_t day = 0;          // the UTC day that `today` belongs to: last_micros / 86,400 s
  int64_t today = 0;
};

bool MayDecrease(const ModelSettings& settings, const DecreaseHistory& history, int64_t now_micros);
// When MayDecrease allows another one on a day whose decreases are used up, if none comes between.
inline int64_t NextDecreaseMicros(const ModelSettings& settings, const DecreaseHistory& history) {
  return history.last_micros + static_cast<int64_t>(settings.decrease_pause_seconds * 1e6);
}
// Also counts a decrease that MayDecrease would have refused.
void CountDecrease(DecreaseHistory* history, int64_t now_micros);
// Whether going from `before` to `after` lowers reads or writes; one that raises the other counts
// as a decrease too.
inline bool IsDecrease(const Rates& before, const Rates& after) {
  return after.read < before.read || after.write < before.write;
}

// kValidation, with DynamoDB Local's texts, if `units` break the quota of one table or index, or
// with the provisioned units of all others that of the account.
Status CheckTableQuota(const ModelSettings& settings, const Rates& units, bool is_index);
Status CheckAccountQuota(const ModelSettings& settings, const Rates& units, const Rates& others);

}  // namespace stator::throughput
