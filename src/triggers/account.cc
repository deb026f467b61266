#include "triggers/account.h"

#include <algorithm>

namespace stator::triggers {
namespace {

constexpr int64_t kPruneMicros = 20'000;

}  // namespace

Account::Share::~Share() {
  MutexLock lock(account_.mutex_);
  account_.Unwait(this);
  account_.Return(this, held_);
}

bool Account::Share::Take(size_t bytes, Need need) {
  MutexLock lock(account_.mutex_);
  if (!account_.May(this, bytes, need)) return false;
  account_.Unwait(this);
  held_ += bytes;
  account_.held_ += bytes;
  account_.peak_ = std::max(account_.peak_, account_.held_);
  if (account_.held_ > account_.most_) account_.beyond_ = this;
  return true;
}

void Account::Share::Keep(size_t bytes) {
  MutexLock lock(account_.mutex_);
  account_.Return(this, held_ - bytes);
}

void Account::Share::MoveTo(Share* to, size_t bytes) {
  MutexLock lock(account_.mutex_);
  held_ -= bytes;
  to->held_ += bytes;
  if (account_.beyond_ == this && bytes > 0) account_.beyond_ = to;
  account_.Return(this, 0);
}

void Account::Share::Leave() {
  MutexLock lock(account_.mutex_);
  account_.Unwait(this);
  place_ = -1;
}

size_t Account::Share::held() const {
  MutexLock lock(account_.mutex_);
  return held_;
}

bool Account::May(Share* share, size_t bytes, Need need) {
  Prune();
  const bool fits = held_ + bytes <= most_;
  if (held_ + bytes <= most_ / 2) return true;
  const int64_t now = machine_.TicksMicros() / kPeersMicros;
  const bool first = share->held_ > 0 || line_.empty() ||
                     (share->place_ < 0 ? now : share->place_) <= line_.begin()->first;
  if (need == Need::kMore) return fits && line_.empty();
  const bool beyond = need == Need::kMust && (beyond_ == nullptr || beyond_ == share);
  if (first && (fits || beyond)) return true;
  Wait(share);
  return false;
}

void Account::Wait(Share* share) {
  share->asked_ticks_ = machine_.TicksMicros();
  if (share->waits_) return;
  if (share->place_ < 0) share->place_ = share->asked_ticks_ / kPeersMicros;
  share->waits_ = true;
  line_.emplace(share->place_, share);
  any_waits_ = true;
}

void Account::Unwait(Share* share) {
  if (!share->waits_) return;
  share->waits_ = false;
  line_.erase({share->place_, share});
  any_waits_ = !line_.empty();
}

void Account::Prune() {
  const int64_t now = machine_.TicksMicros();
  if (now < next_prune_ticks_) return;
  next_prune_ticks_ = now + kPruneMicros;
  const int64_t since = now - kPatienceMicros;
  // Each of those that came first is looked at: the line has an order of places, not of questions.
  for (auto at = line_.begin(); at != line_.end() && at->first == line_.begin()->first;) {
    Share* const share = (at++)->second;
    if (share->asked_ticks_ < since) Unwait(share);
  }
}

void Account::Return(Share* share, size_t bytes) {
  share->held_ -= bytes;
  held_ -= bytes;
  // It has been served: the next time it stands behind those that wait now.
  if (share->held_ == 0 && !share->waits_) share->place_ = -1;
  if (beyond_ != nullptr && (held_ <= most_ || beyond_->held_ == 0)) beyond_ = nullptr;
}

bool Account::IsPressed() {
  if (!any_waits_.load(std::memory_order_relaxed)) return false;
  MutexLock lock(mutex_);
  Prune();
  return !line_.empty();
}

Account::View Account::view() const {
  MutexLock lock(mutex_);
  return {most_, held_, peak_, line_.size()};
}

}  // namespace stator::triggers
