#include "throughput/capacity_changes.h"

#include <fmt/format.h>

namespace stator::throughput {
namespace {

constexpr int64_t kDayMicros = 86400LL * 1'000'000;

}  // namespace

bool MayDecrease(const DecreaseHistory& history, int64_t now_micros) {
  const int64_t today = history.day == now_micros / kDayMicros ? history.today : 0;
  return today < kDecreasesPerDay || now_micros - history.last_micros >= kDecreasePauseMicros;
}

void CountDecrease(DecreaseHistory* history, int64_t now_micros) {
  const int64_t day = now_micros / kDayMicros;
  history->today = history->day == day ? history->today + 1 : 1;
  history->day = day;
  history->last_micros = now_micros;
}

Status CheckQuotas(const ModelSettings& s, const Rates& units, const Rates& others) {
  if (units.read > s.table_quota_read_units || units.write > s.table_quota_write_units) {
    return Error(ErrorCode::kLimitExceeded,
                 fmt::format("a table or index may have {:.0f} read and {:.0f} write units",
                             s.table_quota_read_units, s.table_quota_write_units));
  }
  if (units.read + others.read > s.account_quota_read_units ||
      units.write + others.write > s.account_quota_write_units) {
    return Error(
        ErrorCode::kLimitExceeded,
        fmt::format(
            "all tables and indexes of an account may have {:.0f} read and {:.0f} write units",
            s.account_quota_read_units, s.account_quota_write_units));
  }
  return OkStatus();
}

}  // namespace stator::throughput
