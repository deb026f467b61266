#include "throughput/capacity_changes.h"

#include <fmt/format.h>

#include <string>
#include <string_view>

namespace stator::throughput {
namespace {

constexpr int64_t kDayMicros = 86400LL * 1'000'000;

// "40,000"
std::string Grouped(double units) {
  std::string digits = fmt::format("{:.0f}", units);
  for (size_t at = digits.size(); at > 3;) digits.insert(at -= 3, 1, ',');
  return digits;
}

Error BeyondQuota(double quota, std::string_view of) {
  return ValidationError("Cannot increase provisioned throughput to more than " + Grouped(quota) +
                         " units per " + std::string(of));
}

}  // namespace

bool MayDecrease(const ModelSettings& s, const DecreaseHistory& history, int64_t now_micros) {
  const int64_t today = history.day == now_micros / kDayMicros ? history.today : 0;
  return today < s.decreases_per_day || now_micros >= NextDecreaseMicros(s, history);
}

void CountDecrease(DecreaseHistory* history, int64_t now_micros) {
  const int64_t day = now_micros / kDayMicros;
  history->today = history->day == day ? history->today + 1 : 1;
  history->day = day;
  history->last_micros = now_micros;
}

Status CheckTableQuota(const ModelSettings& s, const Rates& units, bool is_index) {
  const std::string_view of = is_index ? "global secondary index" : "table";
  if (units.read > s.table_quota_read_units) return BeyondQuota(s.table_quota_read_units, of);
  if (units.write > s.table_quota_write_units) return BeyondQuota(s.table_quota_write_units, of);
  return OkStatus();
}

Status CheckAccountQuota(const ModelSettings& s, const Rates& units, const Rates& others) {
  if (units.read > 0 && units.read + others.read > s.account_quota_read_units)
    return BeyondQuota(s.account_quota_read_units, "account");
  if (units.write > 0 && units.write + others.write > s.account_quota_write_units)
    return BeyondQuota(s.account_quota_write_units, "account");
  return OkStatus();
}

}  // namespace stator::throughput
