#include "advise/cost.h"

#include <algorithm>
#include <cmath>

namespace stator::advise {
namespace {

using throughput::Access;
using throughput::Rates;

constexpr int64_t kSecond = 1'000'000;
constexpr int64_t kMinute = 60 * kSecond;
// Idle minutes that are played one by one; after a week nothing changes any more.
constexpr int64_t kMostIdleMinutes = 7 * 24 * 60;

double& Of(Rates* rates, Access access) {
  return access == Access::kRead ? rates->read : rates->write;
}

double Wanted(double units, const throughput::AutoScalingSettings& settings) {
  return std::clamp(std::ceil(units / settings.target - 1e-6), settings.min_units,
                    settings.max_units);
}

}  // namespace

double SecondsOf(int64_t from_micros, int64_t to_micros) {
  return static_cast<double>(std::max<int64_t>(0, to_micros - from_micros) / kSecond + 1);
}

int64_t CostMeter::MinuteOf(int64_t at_micros) const {
  return (at_micros - *origin_micros_) / kMinute;
}

void CostMeter::CloseSecond() {
  busiest_second_ = {std::max(busiest_second_.read, second_units_.read),
                     std::max(busiest_second_.write, second_units_.write)};
  second_units_ = {};
}

void CostMeter::Add(int64_t at_micros, Access access, double units, bool refused) {
  if (!origin_micros_) origin_micros_ = at_micros;
  const int64_t minute = MinuteOf(at_micros);
  if (second_ != at_micros / kSecond) CloseSecond();
  second_ = at_micros / kSecond;
  Of(&second_units_, access) += units;
  if (!minute_) minute_ = minute;
  PassTo(minute);
  Of(&now_, access) += units;
  Of(&asked_, access) += units;
  if (!refused) Of(&served_, access) += units;
}

void CostMeter::PassTo(int64_t minute) {
  int64_t idle = 0;
  while (*minute_ < minute) {
    CloseMinute(60);
    ++*minute_;
    if (++idle < kMostIdleMinutes || *minute_ >= minute) continue;
    const double seconds = static_cast<double>(minute - *minute_) * 60;
    capacity_seconds_.read += capacity_->read * seconds;
    capacity_seconds_.write += capacity_->write * seconds;
    seconds_ += seconds;
    *minute_ = minute;
  }
}

void CostMeter::CloseMinute(double seconds) {
  const Rates used{now_.read / seconds, now_.write / seconds};
  now_ = {};
  busiest_ = {std::max(busiest_.read, used.read), std::max(busiest_.write, used.write)};
  if (quietest_) {
    quietest_ = {std::min(quietest_->read, used.read), std::min(quietest_->write, used.write)};
  } else {
    quietest_ = used;
  }
  // It begins with what the first minute needs.
  if (!capacity_) {
    capacity_ = {Wanted(used.read, policies_[0].settings()),
                 Wanted(used.write, policies_[1].settings())};
  }
  capacity_seconds_.read += std::max(capacity_->read, used.read) * seconds;
  capacity_seconds_.write += std::max(capacity_->write, used.write) * seconds;
  seconds_ += seconds;
  const int64_t end = *origin_micros_ + (*minute_ + 1) * kMinute;
  Rates next = *capacity_;
  for (const Access access : {Access::kRead, Access::kWrite}) {
    const auto changed = policies_[static_cast<size_t>(access)].OnMinute(
        end, used.Of(access), capacity_->Of(access), decreases_);
    if (changed) Of(&next, access) = *changed;
  }
  if (throughput::IsDecrease(*capacity_, next)) throughput::CountDecrease(&decreases_, end);
  capacity_ = next;
}

CostSummary CostMeter::Finish(int64_t start_micros, int64_t end_micros) {
  CostSummary out;
  out.seconds = SecondsOf(start_micros, end_micros);
  if (!minute_) return out;
  PassTo(MinuteOf(end_micros));
  // The last minute is incomplete, and so is the only one of a short recording.
  const double rest = SecondsOf(*origin_micros_ + *minute_ * kMinute, end_micros);
  if (rest >= 30 || !capacity_) CloseMinute(std::clamp(rest, 1.0, 60.0));
  out.average = {served_.read / out.seconds, served_.write / out.seconds};
  CloseSecond();
  // A short recording has no complete minute, and its last second is incomplete. So its average may
  // exceed its busiest second, which no minute's average does: limit it.
  const Rates asked{asked_.read / out.seconds, asked_.write / out.seconds};
  busiest_ = {std::min(busiest_second_.read, std::max(busiest_.read, asked.read)),
              std::min(busiest_second_.write, std::max(busiest_.write, asked.write))};
  out.busiest_minute = busiest_;
  out.busiest_second = busiest_second_;
  out.quietest_minute = quietest_.value_or(Rates{});
  out.scaled = {capacity_seconds_.read / seconds_, capacity_seconds_.write / seconds_};
  out.fixed = {
      std::max(Wanted(busiest_.read, policies_[0].settings()), std::ceil(busiest_second_.read)),
      std::max(Wanted(busiest_.write, policies_[1].settings()), std::ceil(busiest_second_.write))};
  return out;
}

}  // namespace stator::advise
