#include "throughput/auto_scaling.h"

#include <algorithm>
#include <cmath>

namespace stator::throughput {
namespace {

bool Pausing(const std::optional<int64_t>& changed, int64_t now_micros, double cooldown_seconds) {
  return changed && static_cast<double>(now_micros - *changed) / 1e6 < cooldown_seconds;
}

}  // namespace

Status AutoScalingPolicy::Check(const AutoScalingSettings& s) {
  if (s.min_units < 1 || s.min_units > s.max_units)
    return ValidationError("min must be at least 1 and at most max");
  if (s.target < 0.2 || s.target > 0.9)
    return ValidationError("target must be between 0.2 and 0.9");
  return OkStatus();
}

std::optional<double> AutoScalingPolicy::OnMinute(int64_t now_micros, double consumed,
                                                  double provisioned,
                                                  const DecreaseHistory& decreases,
                                                  const ModelSettings& quotas) {
  const double used = provisioned > 0 ? consumed / provisioned : 1;
  if (used > settings_.target) {
    highest_above_ = above_ == 0 ? consumed : std::max(highest_above_, consumed);
    ++above_;
    below_ = 0;
  } else if (consumed > 0 || settings_.lower_when_idle) {
    above_ = 0;
    if (used < std::max(0.0, settings_.target - settings_.lower_margin)) {
      highest_below_ = below_ == 0 ? consumed : std::max(highest_below_, consumed);
      ++below_;
    } else {
      below_ = 0;
    }
  }

  const auto wanted = [this](double load) {
    // The small subtraction keeps a quotient that is whole but for rounding from costing a unit.
    return std::clamp(std::ceil(load / settings_.target - 1e-6), settings_.min_units,
                      settings_.max_units);
  };
  if (provisioned < settings_.min_units) return settings_.min_units;
  if (provisioned > settings_.max_units && MayDecrease(quotas, decreases, now_micros))
    return settings_.max_units;
  if (above_ >= settings_.raise_after_points &&
      !Pausing(raised_micros_, now_micros, settings_.raise_cooldown_seconds)) {
    const double units = wanted(highest_above_);
    if (units <= provisioned) return std::nullopt;
    above_ = 0;
    raised_micros_ = now_micros;
    return units;
  }
  if (below_ >= settings_.lower_after_points &&
      !Pausing(lowered_micros_, now_micros, settings_.lower_cooldown_seconds)) {
    const double units = wanted(highest_below_);
    if (units >= provisioned || !MayDecrease(quotas, decreases, now_micros)) return std::nullopt;
    below_ = 0;
    lowered_micros_ = now_micros;
    return units;
  }
  return std::nullopt;
}

}  // namespace stator::throughput
